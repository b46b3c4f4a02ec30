import { sh } from '../../../shared/base/shell.ts';
import type { InstalledProbe } from '../package-manager.ts';
import { desktop } from './names/desktop.ts';

/** dpkg's words for what has been begun: of a removal the first two. */
const begun: ReadonlySet<string> = new Set([
  'half-configured',
  'half-installed',
  'unpacked',
  'triggers-awaited',
  'triggers-pending',
]);

/** The installed packages and the holds come from one read of dpkg's status file; apt's tools cost ten times that. */
export const aptInstalled: InstalledProbe = {
  script: (patterns) => `if command -v dpkg-query >/dev/null; then
  dpkg-query -W -f='\${db:Status-Status} \${db:Status-Want} \${Package} \${Version}\\n' ${sh`${[...patterns, ...desktop.own]}`} 2>/dev/null || :
fi`,
  parse: (output) => {
    const packages: Record<string, string> = {};
    const unfinished: Record<string, string> = {};
    const held: string[] = [];
    for (const line of output.split('\n')) {
      const [status, want, name, version] = line.split(' ');
      if (status === undefined || name === undefined || version === undefined) continue;
      if (begun.has(status)) unfinished[name] = version;
      if (status !== 'installed') continue;
      packages[name] = version;
      if (want === 'hold') held.push(name);
    }
    // Debian's packages say so themselves, in /run/reboot-required.
    return { packages, unfinished, held: [...new Set(held)].sort(), awaitsReboot: false };
  },
};
