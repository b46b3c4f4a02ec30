import { withSharedLock } from './machine.ts';
import { removeSharedFleet } from './provisioned.ts';
import { say } from './say.ts';

const mark = 'AZP_FLEET_LAB_RUN';

/**
 * Makes a second run on this machine wait for the first one, whatever its checkout and its AZP_FLEET_LAB_DIR: lab tests
 * need the machine for themselves. Each run begins without the shared hosts of an earlier one, which may be of another
 * version, or in the middle of a fault.
 */
export default async function oneRunAtATime(): Promise<() => void> {
  if (process.env[mark] === String(process.pid)) return () => undefined;
  process.env[mark] = String(process.pid);
  const { promise: end, resolve: release } = Promise.withResolvers<void>();
  const { promise: begin, resolve: taken } = Promise.withResolvers<void>();
  const notice = setTimeout(() => say('another lab run is going on: waiting for its end'), 2000);
  void withSharedLock('lab-run', () => {
    taken();
    return end;
  });
  await begin;
  clearTimeout(notice);
  await removeSharedFleet();
  return release;
}
