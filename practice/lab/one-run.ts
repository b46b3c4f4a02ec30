import { withLock } from './lock.ts';
import { removeSharedFleet } from './provisioned.ts';
import { say } from './say.ts';

const mark = 'AZP_FLEET_LAB_RUN';

/**
 * Lab tests need the machine for themselves: a second run waits until the first one has ended. Each begins without the
 * shared machines of an earlier one, which may be of another version, or in the middle of a fault.
 */
export default async function oneRunAtATime(): Promise<() => void> {
  if (process.env[mark] === String(process.pid)) return () => undefined;
  process.env[mark] = String(process.pid);
  const { promise: end, resolve: release } = Promise.withResolvers<void>();
  const { promise: begin, resolve: taken } = Promise.withResolvers<void>();
  const notice = setTimeout(() => say('another lab run is going on: waiting for its end'), 2000);
  void withLock('lab-run', () => {
    taken();
    return end;
  });
  await begin;
  clearTimeout(notice);
  await removeSharedFleet();
  return release;
}
