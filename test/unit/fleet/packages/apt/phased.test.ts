import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import { expect, it } from 'vitest';

import { aptPrelude } from '../../../../../src/fleet/packages/apt/prelude.ts';
import { aptIsHere, AptWorld } from '../../../../support/apt-world/world.ts';

/** An update that Ubuntu has not phased in on this host yet, and a package that needs exactly it. */
const lists = `Package: libphased
Version: 2
Source: phased
Architecture: amd64
Filename: pool/a.deb
Size: 1
Maintainer: nobody
Description: trimmed
Phased-Update-Percentage: 0

Package: tool
Version: 1
Architecture: amd64
Depends: libphased (>= 2)
Filename: pool/b.deb
Size: 1
Maintainer: nobody
Description: trimmed
`;
const there = `
Package: libphased
Status: install ok installed
Version: 1
Source: phased
Architecture: amd64
Maintainer: nobody
Description: trimmed
`;

// With the real apt: the owner's configuration of phasing must not change the result.
it.runIf(aptIsHere()).each([
  ['with default configuration', ''],
  ['whose apt always applies phasing', 'APT::Get::Phase-Policy "true";'],
  [
    'whose owner excludes them',
    'APT::Get::Phase-Policy "true"; APT::Get::Never-Include-Phased-Updates "true";',
  ],
])('the plan and the run take the same phased updates on a host %s', async (_, configuration) => {
  const world = new AptWorld('Ubuntu 24.04');
  try {
    const { host } = world;
    host.file('/etc/apt/apt.conf.d/50phasing', `APT::Machine-ID "abc";\n${configuration}\n`);
    host.file('/var/lib/apt/lists/mirror_._Packages', lists);
    host.file('/etc/apt/sources.list.d/mirror.list', 'deb [trusted=yes] http://mirror ./\n');
    const { stdout: status } = await world.run('cat /var/lib/dpkg/status');
    host.file('/var/lib/dpkg/status', `${status.trimEnd()}\n${there}`);

    const { stdout: planned } = await world.run(`${aptPrelude}\napt_get -s install tool`);
    expect(planned).toMatch(/^Inst libphased \[1\] \(2 /m);
    const transaction = {
      packages: [{ name: 'tool' }],
      remove: [],
      mayRemove: [],
      proxy: { noProxy: [] },
    };
    const { code, stderr } = await world.run(apt.install(transaction, { removes: [], downgrades: [] }));
    expect(code, stderr).toBe(0);
    const { stdout } = await world.run("dpkg-query -W -f='${db:Status-Status} ${Version}\\n' libphased");
    expect(stdout).toBe('installed 2\n');
  } finally {
    world.remove();
  }
});
