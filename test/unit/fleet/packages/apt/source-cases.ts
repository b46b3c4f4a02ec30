import { dirname } from 'node:path';

import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import { platformOf } from '../../../../../src/fleet/packages/distribution.ts';
import { aptPrelude } from '../../../../../src/fleet/packages/apt/prelude.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { factsOf } from '../../../../support/host.ts';
import { aptGetCall, aptHost, updated, updating } from './apt-host.ts';

const system = platformOf(factsOf()) as NonNullable<ReturnType<typeof platformOf>>;
const site = { mirrors: {}, proxy: { http: 'http://proxy:3128', noProxy: [] } };
const docker = apt.source('docker', system, site);
const nvidia = apt.source('nvidia', system, site);
const mirrored = apt.source('docker', system, { ...site, mirrors: { docker: 'http://mirror/docker,site' } });
const trust = apt.trust.script("it's a certificate\n", { noProxy: [] });

const sources = '/etc/apt/sources.list.d';
const keyring = {
  url: 'https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb',
  sha256: system.nvidia.keySha256,
};
const helper = (...words: readonly string[]) =>
  `apt-helper -o Acquire::Retries=3 download-file ${words.join(' ')}`;
const dockerKey = helper('https://download.docker.com/linux/debian/gpg', '/tmp/tmp.XXXXXX/key');
const index = 'apt-get indextargets';
const wrote = (file: string, text: string, key: string) => ({
  '/etc/apt/keyrings': '755 /',
  [key]: '644 the key',
  [file]: `644 ${text}`,
});
const written = wrote(docker.file, docker.text, docker.keyFile);
const certificates = '/etc/ssl/certs/ca-certificates.crt';
const install = aptGetCall('install ca-certificates');

/** Downloads of apt's helper, which runs as a separate user. */
function downloads(host: ScratchHost, body = 'printf "the key" >"$5"'): void {
  host.program(
    '/usr/lib/apt/apt-helper',
    `stat -c '%a' "\${5%/*}"; echo "$http_proxy"; [ ! -e "$5" ] || echo 'there already'; ${body}`,
  );
}

const heard = '755\nhttp://proxy:3128\n';

export const sourceSuite: ScriptSuite = {
  name: 'adding a package source, and trusting a site',
  elsewhere: [aptPrelude],
  given: (host) => {
    aptHost(host);
    downloads(host);
    host
      .file(certificates, 'many')
      .program('apt-get', 'echo "a word" >&2; echo targets')
      .program('id', 'echo 42')
      .program('chown', '')
      .program('update-ca-certificates', '')
      .program('dpkg-deb', 'tar -cf - -C /run/keyring .', { silent: false });
  },
  cases: [
    {
      name: 'fetches the key, and writes it and the source, readable by all users',
      script: docker.script,
      run: { umask: '077' },
      after: {
        stdout: heard,
        calls: ['id _apt', 'chown _apt /tmp/tmp.XXXXXX', dockerKey, index],
        files: written,
      },
    },
    {
      name: "extracts the key from the vendor's package, whose digest is known",
      script: nvidia.script,
      given: (host) => {
        downloads(host, 'printf "the package" >"$5"');
        host.file('/run/keyring/usr/share/keyrings/cuda-archive-keyring.gpg', 'the key');
        host.program('id', 'echo "no such user" >&2; exit 1');
        host.file(`${sources}/cuda.list`, `deb ${dirname(keyring.url)}/ /\n`);
      },
      after: {
        stdout: `switching off ${sources}/cuda.list: ${nvidia.file} replaces it\n${heard}`,
        calls: [
          'id _apt',
          helper(keyring.url, '/tmp/tmp.XXXXXX/keyring.deb', `SHA256:${keyring.sha256}`),
          'dpkg-deb --fsys-tarfile /tmp/tmp.XXXXXX/keyring.deb',
          index,
        ],
        files: {
          ...wrote(nvidia.file, nvidia.text, nvidia.keyFile),
          [`${sources}/cuda.list`]: 'gone',
          [`${sources}/cuda.list.azp-fleet-nvidia.disabled`]: `644 deb ${dirname(keyring.url)}/ /\n`,
        },
      },
    },
    {
      name: 'disables only other sources of the same repository',
      script: docker.script,
      given: (host) =>
        host
          .file(`${sources}/docker.list`, 'deb https://download.docker.com/linux/debian bookworm stable\n')
          .file(`${sources}/my own.sources`, 'URIs: https://download.docker.com/linux/debian\n')
          .file(`${sources}/docker.list.azp-fleet-docker.disabled`, 'old')
          .file(`${sources}/other.list`, 'deb https://downloadXdocker.com/linux/debian bookworm\n')
          .file(docker.file, 'URIs: https://download.docker.com/linux/debian\n')
          .file(docker.keyFile, 'old', { mode: 0o600 }),
      after: {
        stdout: `switching off ${sources}/docker.list: ${docker.file} replaces it
switching off ${sources}/my own.sources: ${docker.file} replaces it
${heard}`,
        calls: ['id _apt', 'chown _apt /tmp/tmp.XXXXXX', dockerKey, index],
        files: {
          [docker.keyFile]: '644 the key',
          [docker.file]: `644 ${docker.text}`,
          [`${sources}/docker.list`]: 'gone',
          [`${sources}/docker.list.azp-fleet-docker.disabled`]:
            '644 deb https://download.docker.com/linux/debian bookworm stable\n',
          [`${sources}/my own.sources`]: 'gone',
          [`${sources}/my own.sources.azp-fleet-docker.disabled`]:
            '644 URIs: https://download.docker.com/linux/debian\n',
        },
      },
    },
    {
      name: "uses a site's mirror without certificates, and also disables its other sources",
      script: mirrored.script,
      given: (host) =>
        host
          .file(certificates, '')
          .file(`${sources}/mirror.list`, 'deb http://mirror/docker,site/debian bookworm stable\n')
          .file(`${sources}/other.list`, 'deb https://downloadXdocker.com/linux/debian bookworm\n'),
      after: {
        stdout: `switching off ${sources}/mirror.list: ${mirrored.file} replaces it\n${heard}`,
        calls: [
          'id _apt',
          'chown _apt /tmp/tmp.XXXXXX',
          helper('http://mirror/docker,site/debian/gpg', '/tmp/tmp.XXXXXX/key'),
          index,
        ],
        files: {
          ...wrote(mirrored.file, mirrored.text, mirrored.keyFile),
          [`${sources}/mirror.list`]: 'gone',
          [`${sources}/mirror.list.azp-fleet-docker.disabled`]:
            '644 deb http://mirror/docker,site/debian bookworm stable\n',
        },
      },
    },
    {
      name: 'installs certificates first on a bare system',
      script: docker.script,
      given: (host) =>
        host
          .file(certificates, '')
          .program('apt-get', `case $* in *' install '*) echo many >${certificates} ;; esac`),
      after: {
        stdout: heard,
        calls: [...updating, install, 'id _apt', 'chown _apt /tmp/tmp.XXXXXX', dockerKey, index],
        files: { ...updated, ...written, [certificates]: '644 many\n' },
      },
    },
    {
      name: 'changes nothing if the key cannot be fetched',
      script: docker.script,
      given: (host) =>
        downloads(
          host,
          'echo "Err:1 $4"; echo "E: Failed to fetch $4  404  Not Found\nE: Download Failed" >&2; exit 100',
        ),
      after: {
        code: 1,
        stdout: `${heard}Err:1 https://download.docker.com/linux/debian/gpg
E: Failed to fetch https://download.docker.com/linux/debian/gpg  404  Not Found
E: Download Failed
`,
        stderr: `failed: https://download.docker.com/linux/debian/gpg cannot be downloaded
expected: the file
seen: 404  Not Found
next: check the network, the proxy and the mirrors in the inventory
`,
        calls: ['id _apt', 'chown _apt /tmp/tmp.XXXXXX', dockerKey],
      },
    },
    {
      name: 'reports a package with another digest and the expected one',
      script: nvidia.script,
      given: (host) => downloads(host, 'echo "E: Hash Sum mismatch" >&2; exit 100'),
      after: {
        code: 1,
        stdout: `${heard}E: Hash Sum mismatch\n`,
        stderr: `failed: ${keyring.url} cannot be downloaded
expected: the file with sha256 ${keyring.sha256}
seen: Hash Sum mismatch
next: check the network, the proxy and the mirrors in the inventory
`,
        calls: [
          'id _apt',
          'chown _apt /tmp/tmp.XXXXXX',
          helper(keyring.url, '/tmp/tmp.XXXXXX/keyring.deb', `SHA256:${keyring.sha256}`),
        ],
      },
    },
    {
      name: 'fails at an empty key',
      script: docker.script,
      given: (host) => downloads(host, ': >"$5"'),
      after: {
        code: 1,
        stdout: heard,
        stderr: `failed: the key of the package source is empty
expected: ${docker.keyFile}
seen: an empty file
next: check the mirror
`,
        calls: ['id _apt', 'chown _apt /tmp/tmp.XXXXXX', dockerKey],
      },
    },
    {
      name: 'fails at a package with an empty key',
      script: nvidia.script,
      given: (host) => {
        downloads(host, 'printf "the package" >"$5"');
        host.file('/run/keyring/usr/share/keyrings/cuda-archive-keyring.gpg', '');
      },
      after: {
        code: 1,
        stdout: heard,
        stderr: `failed: the key of the package source is empty
expected: ${nvidia.keyFile}
seen: an empty file
next: check the mirror
`,
        calls: [
          'id _apt',
          'chown _apt /tmp/tmp.XXXXXX',
          helper(keyring.url, '/tmp/tmp.XXXXXX/keyring.deb', `SHA256:${keyring.sha256}`),
          'dpkg-deb --fsys-tarfile /tmp/tmp.XXXXXX/keyring.deb',
        ],
      },
    },
    {
      name: 'is removed again if apt cannot read its sources with it',
      script: docker.script,
      given: (host) =>
        host.program('apt-get', 'echo targets; echo "E: Conflicting values  set" >&2; exit 100'),
      after: {
        code: 1,
        stdout: heard,
        stderr: `failed: apt cannot read its sources any more, so the new one was removed
expected: sources without conflicts
seen: E: Conflicting values  set
next: remove the older entry for this repository from /etc/apt/sources.list
`,
        calls: ['id _apt', 'chown _apt /tmp/tmp.XXXXXX', dockerKey, index],
        files: { '/etc/apt/keyrings': '755 /', [docker.keyFile]: '644 the key' },
      },
    },
    {
      name: "writes a site's authority atomically, and trusts it",
      script: trust,
      given: (host) =>
        host
          .file(`${apt.trust.file}.new`, 'cut off, and longer than the new one')
          .file(apt.trust.file, 'old'),
      after: {
        calls: ['update-ca-certificates'],
        files: { [apt.trust.file]: "644 it's a certificate\n", [`${apt.trust.file}.new`]: 'gone' },
      },
    },
    {
      name: 'installs ca-certificates first on a bare system',
      script: trust,
      given: (host) =>
        host
          .without('update-ca-certificates')
          .folder('/usr/sbin')
          .program(
            'apt-get',
            `case $* in
  *' install '*)
    printf '#!/bin/sh\\necho "1 added"\\n' >/usr/sbin/update-ca-certificates
    chmod 755 /usr/sbin/update-ca-certificates ;;
esac`,
          ),
      after: {
        stdout: '1 added\n',
        calls: [...updating, install],
        files: {
          ...updated,
          '/usr/local/share': '755 /',
          '/usr/local/share/ca-certificates': '755 /',
          [apt.trust.file]: "644 it's a certificate\n",
          '/usr/sbin/update-ca-certificates': '755 #!/bin/sh\necho "1 added"\n',
        },
      },
    },
  ],
};
