// The listener: a session, messages, at most one job with --once, a clean end.
import { Connection } from './connection.mjs';
import { Dispatcher } from './dispatch.mjs';
import { rememberAddresses } from './home.mjs';
import { Session } from './session.mjs';
import { line, loadSettings } from './settings.mjs';
import { say, stamp } from './say.mjs';
import { stopSignals } from './signals.mjs';
import { speedOf } from './speed.mjs';
import { update } from './update.mjs';

const exit = { done: 0, terminated: 1, updating: 3, updatingOnce: 4 };
/** The server withdrew the login, or the agent was deleted: the listener exits without a message. */
const isWithdrawn = (error) => error.typeKey === 'TaskAgentAccessTokenExpiredException';

export async function listen({ once, ignored }) {
  const configured = loadSettings();
  if (configured === undefined) throw new Error('Not configured');
  const settings = { ...configured, speed: await speedOf(configured.serverUrl) };
  const stop = stopSignals(line(), ignored);
  try {
    return (await run({ settings, once, stop: stop.signal })) ?? stop.code();
  } catch (error) {
    if (stop.signal.aborted && error.name === 'AbortError') return stop.code();
    if (isWithdrawn(error)) return exit.done;
    throw error;
  }
}

/** Returns the exit code; undefined: stopped by a signal. */
async function run({ settings, once, stop }) {
  // Reads the server's feature flags. Here an unreachable server or a refused login ends the listener: no handler catches it.
  await new Connection(settings).discover(stop);
  await rememberAddresses('start', settings.speed, stop);
  await new Connection(settings).discover(stop);
  const session = new Session(settings);
  if (!(await session.open(stop))) return stop.aborted ? undefined : exit.terminated;
  const dispatcher = new Dispatcher(settings, once, stop);
  const keepAlive = new AbortController();
  try {
    // More feature flags; these calls may fail.
    for (let asked = 0; asked < 3; asked += 1)
      await new Connection(settings).discover(stop).catch(() => undefined);
    say('listening', stamp());
    void session.keepAlive(AbortSignal.any([stop, keepAlive.signal]));
    return await messages({ session, dispatcher, settings, once, stop });
  } finally {
    keepAlive.abort();
    await dispatcher.shutdown();
    // If the server fails, the listener ends with this error.
    await session.close();
  }
}

/** Runs until one job has ended (once), a signal, or an update. Returns the exit code; undefined: stopped by a signal. */
async function messages({ session, dispatcher, settings, once, stop }) {
  const ended = new AbortController();
  let updating;
  // A job that arrived during an update: it runs if the update fails.
  let held;
  const startUpdate = (version) => {
    updating = update(settings, version, () => dispatcher.idle(), stop).then(async (isReady) => {
      updating = undefined;
      if (isReady) return ended.abort('updated');
      if (held === undefined || dispatcher.hasTaken) return;
      dispatcher.run(held.body);
      await session.forget(held).catch(() => undefined);
    });
  };
  void dispatcher.onceDone.then(() => ended.abort('done'));
  const signal = AbortSignal.any([stop, ended.signal]);
  while (!signal.aborted) {
    const message = await session.next(signal);
    if (message === undefined) break;
    const { messageType, body } = message;
    if (messageType === 'AgentRefresh' && updating === undefined) startUpdate(body);
    if (messageType === 'PipelineAgentJobRequest') {
      // A job that this agent cannot take stays undeleted, so that the server gives it to another agent.
      if (updating !== undefined) held = message;
      if (updating !== undefined || dispatcher.hasTaken) continue;
      dispatcher.run(body);
    }
    if (messageType === 'JobCancellation' && !dispatcher.cancel(body) && dispatcher.hasTaken) continue;
    await session.forget(message);
  }
  if (stop.aborted) return undefined;
  if (ended.signal.reason === 'updated') return once ? exit.updatingOnce : exit.updating;
  return exit.done;
}
