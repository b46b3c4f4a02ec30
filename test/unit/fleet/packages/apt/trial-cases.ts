import { chmodSync } from 'node:fs';

import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { aptGet, aptGetCall, database, updated, updating } from './apt-host.ts';

const trial = '/opt/azp-fleet/trial';
const script = apt.install({
  packages: [{ name: 'tool', version: { release: '2.0,1' } }, { name: 'extra' }],
  remove: [],
  mayRemove: [],
  proxy: { noProxy: [] },
  trial: {
    package: 'tool',
    script:
      'grep -q good "$trial/files/content" || fail bad \'good\' "$(cat "$trial/files/content")" \'repair it\'',
  },
});
const request = 'install --allow-downgrades tool=5:2.0,1-1 extra';
const before = [...updating, 'apt-mark unhold tool', aptGetCall(`-s ${request}`)];
const fetching = 'apt-get -q download tool=5:2.0,1-1';
const unpacking = `dpkg-deb -x ${trial}/tool.deb ${trial}/files`;

/** `content`: of the package; undefined: it cannot be fetched. */
const offers =
  (content?: string) =>
  (host: ScratchHost): void => {
    const download =
      content === undefined
        ? `cat >&2 <<'END'; exit 100
E: Failed to fetch http://mirror/tool.deb  404 Not Found
E: Failed to fetch http://other/tool.deb  404 Not Found
END
`
        : ': >tool.deb';
    host.program(
      'apt-get',
      `case " $* " in
  *' download '*) ${download}
    exit ;;
  *' -s '*) ;;
  *' install '*) find ${trial} 2>/dev/null ;;
esac
${aptGet}`,
    );
    host.program('dpkg-deb', `stat -c '%a %n' "$3"; echo ${content ?? ''} >"$3/content"`);
  };

/** A package that is looked into before it is installed. */
export const trialCases: readonly ScriptCase[] = [
  {
    name: 'looks into a package first, and leaves nothing of that',
    script,
    given: (host) => {
      offers('good')(host);
      host.file(`${trial}/tool_1.9.deb`).file(`${trial}/files/earlier`);
      chmodSync(host.at('/opt/azp-fleet'), 0o700);
    },
    after: {
      stdout: `700 ${trial}/files\napt did install tool=5:2.0,1-1 extra\n`,
      calls: [...before, fetching, unpacking, aptGetCall(request), 'apt-mark hold tool extra'],
      files: {
        ...updated,
        '/opt/azp-fleet': '755 /',
        [trial]: 'gone',
        [`${trial}/files`]: 'gone',
        [`${trial}/files/earlier`]: 'gone',
        [`${trial}/tool_1.9.deb`]: 'gone',
        [database]: '644 old 1.0 installed\ntool 5:2.0,1-1 installed\nextra 9.9 installed\n',
      },
    },
  },
  {
    name: 'installs nothing if the package does not pass',
    script,
    given: offers('broken'),
    after: {
      code: 1,
      stdout: `700 ${trial}/files\n`,
      stderr: 'failed: bad\nexpected: good\nseen: broken\nnext: repair it\n',
      calls: [...before, fetching, unpacking, 'apt-mark hold tool'],
      files: { ...updated, '/opt/azp-fleet': '755 /' },
    },
  },
  {
    name: 'installs nothing if the package cannot be fetched for that',
    script,
    given: offers(),
    after: {
      code: 1,
      stderr: `failed: tool=5:2.0,1-1 cannot be fetched
expected: the package
seen: http://mirror/tool.deb cannot be read: 404 Not Found
next: check the network, the proxy and the mirrors in the inventory, and run again
`,
      calls: [...before, fetching, 'apt-mark hold tool'],
      files: { ...updated, '/opt/azp-fleet': '755 /' },
    },
  },
];
