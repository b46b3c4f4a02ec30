import { managerUnit } from '../../shared/contract/paths.ts';
import { runCommand } from '../machine/command.ts';

type Send = typeof runCommand;

/** Tells systemd how we are. Node has no datagram sockets of the needed kind, so systemd-notify speaks for us. */
export interface Notifier {
  /** The unit has started: a version that never says so gives way to the one before. */
  ready(status: string): Promise<void>;
  /** Sent only when the reconcile loop has made progress. */
  alive(status: string): Promise<void>;
  /** The next crash is the first again: systemd never forgets by itself how often it has restarted a unit. */
  settled(): Promise<void>;
  stopping(): Promise<void>;
  /** Real milliseconds between two signs of life; undefined: nobody watches. */
  readonly intervalMs: number | undefined;
}

export function systemdNotifier(
  env: Readonly<Record<string, string | undefined>>,
  run: Send = runCommand,
): Notifier {
  const socket = env['NOTIFY_SOCKET'];
  const watchdogUs = Number(env['WATCHDOG_USEC'] ?? 0);
  const send = async (...args: string[]): Promise<void> => {
    if (socket === undefined) return;
    await run('systemd-notify', args, 10_000, { NOTIFY_SOCKET: socket });
  };
  return {
    ready: (status) => send('--ready', `--status=${status}`),
    alive: (status) => send(`--status=${status}`, 'WATCHDOG=1'),
    settled: async () => {
      if (socket !== undefined) await run('systemctl', ['reset-failed', managerUnit], 10_000);
    },
    stopping: () => send('STOPPING=1'),
    intervalMs: watchdogUs > 0 ? watchdogUs / 1000 / 3 : undefined,
  };
}
