import { packageManagers } from '../../packages/distribution.ts';
import { lockHolder } from '../../packages/shell.ts';
import type { FactProbe } from '../probe.ts';

/** Who holds the package database, if anybody: `unattended-upgr (pid 812) holds /var/lib/dpkg/lock-frontend`. */
export const packageLockProbe: FactProbe<string | undefined> = {
  name: 'package-lock',
  script: () => `${lockHolder(packageManagers.flatMap(({ locks }) => locks))}\npackage_lock_holder`,
  parse: ({ stdout }) => stdout.split('\n')[0] || undefined,
};
