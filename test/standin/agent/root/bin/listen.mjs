// The listener's life: a session, messages, at most one job with --once, a clean end.
import { constants, createDecipheriv, privateDecrypt } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { runJob } from './job.mjs';
import { connect } from './server.mjs';
import { loadSettings, systemCapabilities, version } from './settings.mjs';
import { complain, say } from './say.mjs';
import { speedOf } from './speed.mjs';

const stamp = () =>
  new Date()
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/u, 'Z');
const exit = { done: 0, terminated: 1, retry: 2, updating: 3, updatingOnce: 4 };

export async function listen({ once }) {
  const configured = loadSettings();
  if (configured === undefined) {
    complain('Not configured. Run config.(sh/cmd) to configure the agent.');
    return exit.terminated;
  }
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT']) process.on(name, () => stop.abort());
  const settings = { ...configured, speed: await speedOf(configured.serverUrl, stop.signal) };
  const server = connect(settings);
  say('Scanning for tool capabilities.');
  const capabilities = systemCapabilities(settings.agentName);
  say('Connecting to the server.');
  const session = await openSession(server, settings, capabilities, stop.signal);
  if (typeof session === 'number') return session;
  say(`${stamp()}: Listening for Jobs`);
  try {
    return await messages({ server, settings, session, once, stop: stop.signal });
  } finally {
    const path = `/_apis/distributedtask/pools/${settings.poolId}/sessions/${session.id}`;
    await server
      .send('DELETE', path, { attempts: 2, signal: AbortSignal.timeout(30_000) })
      .catch(() => undefined);
  }
}

const conflictRetryMs = 30_000;
const conflictGiveUpMs = 240_000;

/** The session, or the exit code when there can be none. */
async function openSession(server, settings, capabilities, signal) {
  let told = false;
  for (let waited = 0; ; waited += conflictRetryMs) {
    try {
      const answer = await server.send('POST', `/_apis/distributedtask/pools/${settings.poolId}/sessions`, {
        signal,
        body: {
          ownerName: process.env.HOSTNAME ?? hostname(),
          agent: {
            id: settings.agentId,
            name: settings.agentName,
            version: version(),
            osDescription: 'Linux',
          },
          systemCapabilities: capabilities,
        },
      });
      return { id: answer.sessionId, key: sessionKey(answer.encryptionKey, settings.privateKey) };
    } catch (error) {
      if (signal.aborted) return exit.done;
      if (error.typeKey === 'TaskAgentNotFoundException') {
        complain('The agent no longer exists on the server. Please reconfigure the agent.');
        return exit.terminated;
      }
      if (error.typeKey !== 'TaskAgentSessionConflictException') {
        complain(`Failed to create session. ${error.message}`);
        return exit.terminated;
      }
      if (!told) complain('A session for this agent already exists.');
      told = true;
      if (waited >= conflictGiveUpMs) {
        complain('Stop retry on SessionConflictException after retried for 240 seconds.');
        return exit.terminated;
      }
      const stopped = await delay(conflictRetryMs / settings.speed, false, { signal }).catch(() => true);
      if (stopped) return exit.done;
    }
  }
}

function sessionKey({ value }, privateKey) {
  const options = { key: privateKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' };
  return privateDecrypt(options, Buffer.from(value, 'base64'));
}

function decrypt(message, key) {
  const decipher = createDecipheriv('aes-256-cbc', key, Buffer.from(message.iv, 'base64'));
  const text = Buffer.concat([decipher.update(message.body, 'base64'), decipher.final()]).toString('utf8');
  return JSON.parse(text);
}

/** Until one job is done (once), a signal, an update, or the end of the login. Returns the exit code. */
async function messages({ server, settings, session, once, stop }) {
  const base = `/_apis/distributedtask/pools/${settings.poolId}/messages`;
  let last = 0;
  let job;
  const ended = new AbortController();
  for (;;) {
    if (stop.aborted || ended.signal.aborted) {
      await job?.finished;
      return exit.done;
    }
    const signal = AbortSignal.any([stop, ended.signal]);
    const query = `?sessionId=${session.id}&lastMessageId=${last}`;
    let message;
    try {
      message = await server.send('GET', base + query, { signal });
    } catch (error) {
      if (signal.aborted) continue;
      if (error.typeKey === 'TaskAgentAccessTokenExpiredException' || error.typeKey === 'invalid_client') {
        complain('Agent OAuth token has been revoked. Unable to pull message.');
        await job?.finished;
        return exit.done;
      }
      if (error.typeKey === 'TaskAgentSessionExpiredException' && settings.skipSessionRecover) {
        complain('The session of the agent has expired and is not recovered.');
        await job?.finished;
        return exit.terminated;
      }
      if (error.status !== undefined && error.status < 500) throw error;
      complain(`${stamp()}: Agent connect error: ${error.message}. Retrying until reconnected.`);
      continue;
    }
    if (message === undefined) continue;
    last = message.messageId;
    const body = decrypt(message, session.key);
    if (message.messageType === 'AgentRefresh') {
      say('Agent update in progress, do not shutdown agent.');
      return once ? exit.updatingOnce : exit.updating;
    }
    if (message.messageType === 'JobCancellation') job?.cancel();
    if (message.messageType === 'PipelineAgentJobRequest') {
      // In once mode a second job stays undeleted, so that the server gives it to another agent.
      if (job !== undefined && once) continue;
      say(`${stamp()}: Running job: ${body.jobDisplayName}`);
      job = runJob({ server, settings, body, once, stop });
      void job.finished.then((result) => {
        say(`${stamp()}: Job ${body.jobDisplayName} completed with result: ${result}`);
        if (once) ended.abort();
        else job = undefined;
      });
    }
    await server
      .send('DELETE', `${base}/${message.messageId}?sessionId=${session.id}`)
      .catch(() => undefined);
  }
}
