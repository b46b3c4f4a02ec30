import { setTimeout as sleep } from 'node:timers/promises';
import type { ManagerStatus } from '../shared/contract/status.ts';
import { Alarm, repeat } from './alarm.ts';
import { serveControl, controlHandlers } from './serve/control.ts';
import { type ImagePaths, Watches } from './watches.ts';
import { Manager } from './manager.ts';
import { MetricsServer } from './serve/metrics.ts';
import type { WorkPaths } from './machine/at-work.ts';
import { LifeSigns, type Notifier } from './serve/systemd.ts';
import { StatusFile } from './serve/status-file.ts';
import type { Loaded } from './serve/status.ts';
import type { ManagerTools } from './manager-tools.ts';
import { Messenger } from './webhook/messenger.ts';
import { type CrashHistory, Subsystems } from './subsystems.ts';

export interface DaemonPaths extends ImagePaths, WorkPaths {
  readonly status: string;
  readonly socket: string;
}

/** Longest wait for running checks at the exit; real milliseconds. */
const exitTimeoutMs = 1_000;
/** Changes within this time are sent as one message; unscaled milliseconds. */
const messageEveryMs = 5_000;

/**
 * Runs the manager until `tools.signal` is aborted; agent containers keep running. After `tools.leaving` is aborted, it runs
 * until no agent container is left.
 */
export async function runDaemon(
  tools: ManagerTools,
  places: DaemonPaths,
  notifier: Notifier,
  loaded: Loaded,
  crashes: CrashHistory = { off: new Map() },
): Promise<void> {
  const { signal, leaving, clock, log } = tools;
  const subsystems = new Subsystems(tools, crashes);
  const alarm = new Alarm();
  const wake = (): void => alarm.ring();
  const watches = new Watches(tools, places, wake);
  const { metricsPort } = tools.config;
  const metrics =
    metricsPort === 0
      ? undefined
      : new MetricsServer(
          metricsPort,
          () => tools.metrics.render(manager.status(loaded), watches.janitor.space),
          tools,
        );
  const manager: Manager = new Manager(tools, watches, wake, () => [
    ...subsystems.problems,
    ...[metrics?.problem].filter((cause) => cause !== undefined),
  ]);
  const file = new StatusFile(places.status, log);
  const messenger = new Messenger({ ...tools, ...tools.webhook });
  const publish = (): ManagerStatus => {
    const status = manager.status(loaded);
    file.publish(status, clock.monotonic());
    return status;
  };
  publish();
  const control = await serveControl(
    places.socket,
    controlHandlers({
      tools,
      manager,
      watches,
      wake,
      messenger,
      status: () => manager.status(loaded),
      paths: places,
    }),
    log,
  );
  signal.addEventListener('abort', wake, { once: true });
  leaving.addEventListener('abort', () => {
    log.log(
      'info',
      'stopping idle agents; the manager exits when the running jobs have finished, or on a second signal',
      {
        jobs: jobsOf(manager, loaded),
      },
    );
    wake();
  });
  const running = Promise.all([
    watches.run(signal, () => manager.slots(), publish, subsystems),
    subsystems.run('other GPU processes', signal, (end) => manager.otherProcesses.run(end)),
    subsystems.run('power-off', signal, async (end) => manager.idle?.run(end)),
    subsystems.run('metrics', signal, async (end) => metrics?.run(end)),
    subsystems.run(
      'webhook',
      signal,
      async (end) =>
        tools.config.webhook && repeat(tools, { ms: messageEveryMs, signal: end }, () => messenger.deliver()),
    ),
  ]);
  const signs = new LifeSigns(notifier, clock);
  while (!signal.aborted && !(leaving.aborted && manager.isEmpty)) {
    const end = await manager.pass();
    const status = publish();
    const slots = manager.webhookSlots(status);
    messenger.observe(slots);
    tools.history.observe(status, slots);
    await signs.after(end, watches.gpus.latest !== undefined, () => summary(manager, loaded));
    await alarm.wait(manager.nextDue() - clock.monotonic());
  }
  log.log('info', 'stopping; agent containers keep running', { jobs: jobsOf(manager, loaded) });
  await notifier.stopping();
  control.close();
  control.closeAllConnections();
  await manager.close();
  // A build or a probe may take minutes, longer than the exit may take.
  await Promise.race([running, sleep(exitTimeoutMs, undefined, { ref: false })]);
  publish();
  await tools.history.write();
  await file.settled();
}

/** Lists the running jobs: `box-0: train`. */
function jobsOf(manager: Manager, loaded: Loaded): readonly string[] {
  const { slots } = manager.status(loaded);
  return slots.filter(({ state }) => state === 'busy').map(({ agent, job = 'a job' }) => `${agent}: ${job}`);
}

/** Returns one line for systemctl status. */
function summary(manager: Manager, loaded: Loaded): string {
  const { slots, problems } = manager.status(loaded);
  const count = (state: string): number => slots.filter((slot) => slot.state === state).length;
  const problem = problems[0] === undefined ? '' : `; ${problems[0].what}`;
  return `${slots.length} slots: ${count('busy')} busy, ${count('idle')} idle${problem}`;
}
