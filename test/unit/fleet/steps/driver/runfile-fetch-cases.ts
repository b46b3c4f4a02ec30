import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import { aptPrelude } from '../../../../../src/fleet/packages/apt/prelude.ts';
import { dnf } from '../../../../../src/fleet/packages/dnf/dnf.ts';
import { fetchScript } from '../../../../../src/fleet/steps/driver/runfile-scripts.ts';
import { sha256 } from '../../../../../src/shared/base/digest.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import { aptGetCall, aptHost, updated, updating } from '../../packages/apt/apt-host.ts';
import { file, name, own, release, runfile, there } from './runfile-host.ts';

const proxy = { https: 'http://proxy:3128', noProxy: [] };
const byApt = fetchScript(release, apt.downloader(proxy));
const byCurl = fetchScript(release, dnf.downloader(proxy));
const fetched = { [`${own}/fetched`]: '755 /', [file]: `644 ${runfile}` };
const folders = { '/var/lib/azp-fleet': '755 /', [own]: '755 /' };
const helper = (address: string) =>
  `apt-helper -o Acquire::Retries=3 download-file ${address}/${name} ${file}.part SHA256:${sha256(runfile)}`;
const curl = (address: string) =>
  `curl -fsSL --retry 3 --connect-timeout 20 --speed-time 60 --speed-limit 1 -o ${file}.part ${address}/${name}`;

export const fetchSuite: ScriptSuite = {
  name: "fetching NVIDIA's .run file",
  elsewhere: [aptPrelude],
  given: (host) => host.file('/etc/ssl/certs/ca-certificates.crt', 'many'),
  cases: [
    {
      name: 'downloads with apt through the proxy',
      script: byApt,
      given: (host) =>
        host.program('/usr/lib/apt/apt-helper', `echo "$https_proxy"; cat >"$5" <<'END'\n${runfile}END`),
      after: { calls: [helper('https://first,lab')], files: { ...folders, ...fetched } },
    },
    {
      name: 'installs certificates first on a host that has none',
      script: byApt,
      given: (host) => {
        aptHost(host);
        host
          .file('/etc/ssl/certs/ca-certificates.crt')
          .program(
            'apt-get',
            'case "$*" in *" install "*) echo many >/etc/ssl/certs/ca-certificates.crt ;; esac',
          )
          .program(
            '/usr/lib/apt/apt-helper',
            `[ -s /etc/ssl/certs/ca-certificates.crt ] && cat >"$5" <<'END'\n${runfile}END`,
          );
      },
      after: {
        calls: [...updating, aptGetCall('install ca-certificates'), helper('https://first,lab')],
        files: {
          ...updated,
          ...folders,
          ...fetched,
          '/etc/ssl/certs/ca-certificates.crt': '644 many\n',
        },
      },
    },
    {
      name: 'tries the second URL if the first fails',
      script: byApt,
      given: (host) =>
        host.program(
          '/usr/lib/apt/apt-helper',
          `case $4 in *first*) printf half >"$5"; echo 'E: Failed to fetch 404' >&2; exit 100 ;; esac; echo "$https_proxy"; cat >>"$5" <<'END'\n${runfile}END`,
        ),
      after: {
        stdout: `download from https://first,lab/${name} failed, trying https://second/${name}\nhttp://proxy:3128\n`,
        calls: [helper('https://first,lab'), helper('https://second')],
        files: { ...folders, ...fetched },
      },
    },
    {
      name: 'reports the last URL if all fail',
      script: byApt,
      given: (host) =>
        host.program(
          '/usr/lib/apt/apt-helper',
          `printf 'E: Failed to fetch https://x 404\\nE: no more\\n' >&2; exit 100`,
        ),
      after: {
        code: 1,
        stdout: `download from https://first,lab/${name} failed, trying https://second/${name}
E: Failed to fetch https://x 404
E: no more
`,
        stderr: `failed: https://second/${name} cannot be downloaded
expected: the file with sha256 ${sha256(runfile)}
seen: 404
next: check the network, the proxy and the mirrors in the inventory
`,
        calls: [helper('https://first,lab'), helper('https://second')],
        files: { ...folders, [`${own}/fetched`]: '755 /' },
      },
    },
    {
      name: 'keeps an existing file',
      script: byApt,
      given: there,
      after: {},
    },
    {
      name: 'downloads with curl, and verifies the digest',
      script: byCurl,
      given: (host) => {
        there(host, 'half of another')
          .file(`${own}/fetched/older.run`)
          .program('curl', `shift 10; cat >"$1" <<'END'\n${runfile}END`);
      },
      after: {
        calls: [curl('https://first,lab')],
        files: { [file]: `644 ${runfile}`, [`${own}/fetched/older.run`]: 'gone' },
      },
    },
    {
      name: 'rejects a file with another digest',
      script: byCurl,
      given: (host) => host.program('curl', 'shift 10; echo other >"$1"'),
      after: {
        code: 1,
        stdout: `download from https://first,lab/${name} failed, trying https://second/${name}\n`,
        stderr: `failed: https://second/${name} cannot be downloaded
expected: the file with sha256 ${sha256(runfile)}
seen: sha256 ${sha256('other\n')}
next: check the network, the proxy and the mirrors in the inventory
`,
        calls: [curl('https://first,lab'), curl('https://second')],
        files: { ...folders, [`${own}/fetched`]: '755 /', [`${file}.part`]: '644 other\n' },
      },
    },
  ],
};
