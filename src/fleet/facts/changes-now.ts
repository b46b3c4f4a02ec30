import { foreignLine, foreignValue } from '../../shared/base/foreign-text.ts';
import type { Session } from '../ssh/transport.ts';
import type { Facts } from './facts.ts';
import { changesProbe, changesScript } from './probes/changes.ts';

/**
 * The durable changes of a host as they are at this moment, and nothing else of it: for whoever ends there early. Asked
 * also when all else has been told to stop.
 */
export async function changesNow(session: Session): Promise<Facts['changes']> {
  const { code, stdout, stderr, durationMs } = await session.script(changesScript(), {
    totalTimeoutMs: 10_000,
  });
  const changes = changesProbe.parse({ code, stdout, stderr, durationMs, timedOut: false });
  return foreignValue(changes, (text) => foreignLine(text));
}
