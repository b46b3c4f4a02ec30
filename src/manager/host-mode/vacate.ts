import { FleetError } from '../../shared/base/errors.ts';
import type { RunCommand } from '../machine/command.ts';
import type { HostUser } from './user.ts';
import { vacateScript } from './vacate-script.ts';

/** Twice 10 s of killing, and a job may have left millions of files. */
const vacateMs = 10 * 60_000;

/**
 * Nothing of the user is alive when this resolves, and nothing brings it back: only then may a key be written that the
 * user can read. By systemd, since this process may neither end others' processes nor write below /var/spool.
 */
export async function vacate(
  command: RunCommand,
  { name, uid }: Pick<HostUser, 'name' | 'uid'>,
): Promise<void> {
  // Where $ stands in a command, systemd expands variables of its own.
  const script = vacateScript.replaceAll('$', '$$$$');
  const args = ['--wait', '--pipe', '--quiet', '/bin/sh', '-c', script, 'sh', name, String(uid)];
  const { code, output } = await command('systemd-run', args, vacateMs);
  if (code === 0) return;
  throw new FleetError({
    code: 'host-mode.user-alive',
    what: `what a job left running as ${name} does not end`,
    expected: 'no process of the user before the next agent gets its key',
    seen: output.trim().split('\n', 5).join('; '),
    next: 'wait: it is tried again; a process in state D hangs in the driver: drain the host, then azp-fleet reboot',
  });
}
