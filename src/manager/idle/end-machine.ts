import { FleetError } from '../../shared/base/errors.ts';
import type { RunCommand } from '../machine/command.ts';

/** Longer than a program takes that asks a cloud to stop its machine. */
const endMs = 5 * 60_000;

/**
 * Ends this machine: as a unit of its own, because what hardens the manager's keeps it from that. Resolves when systemd,
 * or the owner's program, has taken the order; rejects when it has not.
 */
export async function endMachine(command: RunCommand, run: string): Promise<void> {
  const program = run === 'poweroff' ? ['systemctl', 'poweroff'] : [run];
  const { code, output } = await command(
    'systemd-run',
    ['--quiet', '--collect', '--unit=azp-fleet-idle', '--property=Type=oneshot', '--', ...program],
    endMs,
  );
  if (code === 0) return;
  throw new FleetError({
    code: 'idle.not-ended',
    what: `nobody uses this machine, and it could not be ended with ${program.join(' ')}`,
    seen: output.trim() === '' ? `exit code ${code}` : output.trim(),
    next: 'see journalctl -u azp-fleet-idle on the host, and correct idle.run; it is tried again by itself',
  });
}
