import { FleetError } from '../../shared/base/errors.ts';
import type { RunCommand } from '../machine/command.ts';

/** A program of the host that has to succeed. */
export async function must(
  command: RunCommand,
  program: string,
  args: readonly string[],
  deadlineMs: number,
): Promise<void> {
  const { code, output } = await command(program, args, deadlineMs);
  if (code === 0) return;
  throw new FleetError({
    code: 'host-mode.failed',
    what: `${program} failed on the host`,
    seen: output.trim(),
    next: 'look at journalctl -u azp-fleet-manager',
  });
}
