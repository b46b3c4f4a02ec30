import { foreignLine, foreignValue } from '../../shared/base/foreign-text.ts';
import { machineRoot } from '../../shared/base/host-root.ts';
import type { Session } from '../ssh/transport.ts';
import type { Facts } from './facts.ts';
import { machineProbe } from './probes/machine.ts';

/** Which machine this is, and nothing else of it; whoever may log in may read that. */
export async function machineNow(
  session: Session,
  signal: AbortSignal,
): Promise<Pick<Facts, 'machineId' | 'bootId'>> {
  const { code, stdout, stderr, durationMs } = await session.script(
    machineProbe.script({ root: machineRoot }),
    {
      totalTimeoutMs: 10_000,
      signal,
    },
  );
  const { machineId, bootId } = machineProbe.parse({ code, stdout, stderr, durationMs, timedOut: false });
  return foreignValue({ machineId, bootId }, (text) => foreignLine(text));
}
