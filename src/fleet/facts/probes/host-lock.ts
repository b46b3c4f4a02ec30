import * as z from 'zod';

import { foreignJson } from '../../../shared/base/foreign-text.ts';
import { sh } from '../../../shared/base/shell.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import type { LockOwner } from '../../ssh/transport.ts';
import type { FactProbe } from '../probe.ts';

const note = z.object({
  who: z.string(),
  command: z.string(),
  since: z.string(),
}) satisfies z.ZodType<LockOwner>;

/**
 * Reads the holder of the host's lock. The holder's note counts while its process has the lock's file open, at any descriptor:
 * the shell moves it while it waits for a keep-alive. The probe takes no lock, so that reading never blocks a run.
 */
export const hostLockProbe: FactProbe<LockOwner | undefined> = {
  name: 'host-lock',
  facts: ['hostLock'],
  byHand: sh`cat ${`${HostPaths.run}/lock.owner`}`,
  script: () => sh`lock=${`${HostPaths.run}/lock`}
pid=
if [ -r "$lock.pid" ]; then read -r pid <"$lock.pid"; fi
if [ -n "$pid" ] && readlink "/proc/$pid/fd"/* | grep -qxF "$lock"; then
  echo held
  head -c 4096 "$lock.owner"
fi`,
  line: /^/,
  parse: (output) => {
    if (output === '') return undefined;
    const [held, ...text] = output.split('\n');
    if (held !== 'held') throw new Error('not the holder of a lock');
    const owner = note.safeParse(foreignJson(text.join('\n')));
    return owner.data ?? { who: 'another user', command: 'a command', since: '' };
  },
};
