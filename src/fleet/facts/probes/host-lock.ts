import { z } from 'zod';

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
 * Who holds the host's lock. What a holder has written counts as long as the process that wrote it has the lock's file
 * open: a note may outlive it. At which descriptor is not told: while the shell that holds it waits for a sign of life, it has
 * it at another one than it was opened at. Nothing is locked for it, so that nobody is refused because somebody looked.
 */
export const hostLockProbe: FactProbe<LockOwner | undefined> = {
  name: 'host-lock',
  script: () => sh`lock=${`${HostPaths.run}/lock`}
pid=
if [ -r "$lock.pid" ]; then read -r pid <"$lock.pid"; fi
if [ -n "$pid" ] && readlink "/proc/$pid/fd"/* | grep -qxF "$lock"; then
  echo held
  head -c 4096 "$lock.owner"
fi`,
  parse: ({ stdout }) => {
    const [held, ...text] = stdout.split('\n');
    if (held !== 'held') return undefined;
    const said = note.safeParse(foreignJson(text.join('\n')));
    return said.data ?? { who: 'another user', command: 'a command', since: '' };
  },
};
