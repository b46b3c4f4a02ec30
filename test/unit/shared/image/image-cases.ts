import { readFileSync } from 'node:fs';
import { sha256 } from '../../../../src/shared/base/digest.ts';
import type { ScriptSuite } from '../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../support/scratch/host.ts';

const text = (name: string) =>
  readFileSync(new URL(`../../../../dockeragent/${name}`, import.meta.url), 'utf8');
const install = text('install.sh');
const runs = [...text('Dockerfile').matchAll(/^RUN ((?:.*\\\n)*.*)$/gm)].map(([, script = '']) => script);
const [unpack = '', furnish = ''] = runs;

const libraries = [
  'libicuuc.so.72',
  'libssl.so.3',
  'libgssapi_krb5.so.2',
  'libEGL.so.1',
  'libGL.so.1',
  'libGLESv2.so.2',
  'libOpenGL.so.0',
  'libvulkan.so.1',
  'libXext.so.6',
];

/** A base without the named programs; its passwd has the agent after useradd. */
function base(host: ScratchHost, ...absent: readonly string[]): void {
  const there = (name: string) => !absent.includes(name);
  for (const name of ['git', 'curl', 'sudo', 'docker'])
    if (there(name)) host.program(name, '', { silent: true });
  if (there('tini')) host.file('/usr/bin/tini', '', { mode: 0o755 });
  if (there('ca-certificates')) host.file('/etc/ssl/certs/ca-certificates.crt', 'many');
  host.program('ldconfig', `echo '${libraries.filter(there).join('\n')}'`, { silent: true });
  host
    .program('getent', 'cat "/run/$1" 2>/dev/null || exit 2', { silent: true })
    .program('groupadd', 'echo "agent:x:4000:" >/run/group')
    .program('useradd', 'echo "agent:x:4000:4000::/home/agent,x:/bin/bash" >/run/passwd')
    .program('id', 'echo 4000', { silent: true })
    .program('install', 'for last; do :; done; mkdir -p "$last"')
    .program('apt-get', 'echo "apt $1 $DEBIAN_FRONTEND"')
    .program('apt-cache', apt)
    .folder('/etc/sudoers.d', '/etc/apt/sources.list.d', '/var/lib/apt/lists', '/azp');
}

const apt = `case $1 in
  search) printf 'libicu72 - x\\nlibicu9 - x\\nlibicu74 - x\\n' ;;
  show) echo "$2"; echo "a word" >&2; [ -e /run/has-docker-cli ] ;;
esac`;
const made = [
  'groupadd --gid 4000 agent',
  'useradd --uid 4000 --gid 4000 --create-home --shell /bin/bash agent',
];
const homes = [
  'install -d -o agent -g agent -m 0755 /azp',
  'install -d -o agent -g agent -m 0755 /home/agent,x /home/agent,x/.config /home/agent,x/.local /home/agent,x/.local/share',
];
const agent = {
  '/home': '755 /',
  '/home/agent,x': '755 /',
  '/home/agent,x/.local': '755 /',
  '/home/agent,x/.local/share': '755 /',
  '/run/group': '644 agent:x:4000:\n',
  '/run/passwd': '644 agent:x:4000:4000::/home/agent,x:/bin/bash\n',
};
/** The same under umask 077. */
const closed = (seen: string) => seen.replace(/^755/, '700').replace(/^644/, '600');
const bring = (packages: string) => [
  'apt-get update -q',
  `apt-get install -q -y --no-install-recommends ${packages}`,
];
const aside = { '/tmp/azp-fleet': '755 /', '/tmp/azp-fleet/sources.d': '755 /' };
const fetched = { stdout: 'apt update noninteractive\napt install noninteractive\n' };

export const imageSuite: ScriptSuite = {
  name: "what builds the agents' image",
  flags: [],
  given: (host) => base(host),
  cases: [
    {
      name: 'a complete base needs no network',
      script: install,
      after: { calls: [...made, ...homes], files: agent },
    },
    {
      name: 'installs what a bare base lacks, by the package names of its distribution',
      script: install,
      given: (host) => {
        host
          .without('git', 'curl')
          .drop('/usr/bin/tini', '/etc/ssl/certs/ca-certificates.crt')
          .file('/var/lib/apt/lists/x')
          // An unquoted pattern would match this file.
          .file('/root/^libicu1+$');
        base(host, 'git', 'curl', 'tini', 'ca-certificates', ...libraries);
      },
      after: {
        ...fetched,
        calls: [
          ...bring('tini git curl ca-certificates libicu74 libssl3 libgssapi-krb5-2').slice(0, 1),
          "apt-cache search --names-only '^libicu[0-9]+$'",
          ...bring('tini git curl ca-certificates libicu74 libssl3 libgssapi-krb5-2').slice(1),
          ...made,
          ...homes,
        ],
        files: { ...agent, ...aside, '/var/lib/apt/lists/x': 'gone' },
      },
    },
    {
      name: 'packages for graphics',
      script: install,
      given: (host) => base(host, ...libraries.slice(3)),
      run: { env: { GRAPHICS: '1' } },
      after: {
        ...fetched,
        calls: [...bring('libegl1 libgl1 libgles2 libopengl0 libvulkan1 libxext6'), ...made, ...homes],
        files: { ...agent, ...aside },
      },
    },
    {
      name: 'no packages for graphics, sudo and docker by another value than 1',
      script: install,
      given: (host) => {
        host.without('sudo', 'docker');
        base(host, 'sudo', 'docker', ...libraries.slice(3));
      },
      run: { env: { GRAPHICS: '1 x', JOBS_SUDO: '1 x', DOCKER_CLIENT: '1 x' } },
      after: { calls: [...made, ...homes], files: agent },
    },
    {
      name: 'sudo and the docker client if jobs may use them',
      script: install,
      given: (host) => {
        host.without('sudo', 'docker').file('/etc/sudoers.d/azp-fleet', 'of before');
        base(host, 'sudo', 'docker');
      },
      run: { env: { JOBS_SUDO: '1', DOCKER_CLIENT: '1' }, umask: '077' },
      after: {
        ...fetched,
        calls: [
          'apt-get update -q',
          'apt-cache show docker-cli',
          'apt-get install -q -y --no-install-recommends sudo docker.io',
          ...made,
          ...homes,
        ],
        files: {
          ...Object.fromEntries(
            Object.entries({ ...agent, ...aside }).map(([path, seen]) => [path, closed(seen)]),
          ),
          '/etc/sudoers.d/azp-fleet': '440 agent ALL=(ALL) NOPASSWD: ALL\n',
        },
      },
    },
    {
      name: 'only the client, if the distribution has it as a package',
      script: install,
      given: (host) => {
        host.without('docker').file('/run/has-docker-cli');
        base(host, 'docker');
      },
      run: { env: { DOCKER_CLIENT: '1' } },
      after: {
        ...fetched,
        calls: [
          'apt-get update -q',
          'apt-cache show docker-cli',
          'apt-get install -q -y --no-install-recommends docker-cli',
          ...made,
          ...homes,
        ],
        files: { ...agent, ...aside },
      },
    },
    {
      name: "a site's mirror replaces the archives, and the vendor's CUDA source is disabled",
      script: install,
      given: (host) => {
        host.without('git');
        base(host, 'git');
        host
          .file(
            '/etc/apt/sources.list',
            'deb http://archive.ubuntu.com/ubuntu noble main\ndeb https://security.debian.org/x y\n',
          )
          .file(
            '/etc/apt/sources.list.d/a b.sources',
            'URIs: http://ports.ubuntu.com/ubuntu-ports http://other/debian\n',
          )
          .file('/etc/apt/sources.list.d/cuda-x.list', 'deb https://developer.download.nvidia.com/x /\n')
          .folder('/etc/apt/sources.list.d/folder')
          .program('apt-get', 'ls /etc/apt/sources.list.d');
      },
      run: { env: { APT_MIRROR: 'http://mirror,x' } },
      after: {
        stdout: 'a b.sources\nfolder\n'.repeat(2),
        calls: [...bring('git'), ...made, ...homes],
        files: {
          ...agent,
          ...aside,
          '/etc/apt/sources.list': '644 deb http://mirror,x/ubuntu noble main\ndeb http://mirror,x/x y\n',
          '/etc/apt/sources.list.d/a b.sources':
            '644 URIs: http://mirror,x/ubuntu-ports http://other/debian\n',
        },
      },
    },
    {
      name: 'a base of another family names what it lacks',
      script: install,
      given: (host) => {
        host.without('git', 'curl', 'apt-get');
        base(host, 'git', 'curl');
        host.without('apt-get');
      },
      after: {
        code: 1,
        stderr:
          'azp-fleet: this base lacks git curl and has no apt-get: use an Ubuntu or Debian base, or add them to it\n',
      },
    },
    {
      name: 'unavailable packages end the build',
      script: install,
      given: (host) => {
        host.without('git');
        base(host, 'git');
        host.program('apt-get', '[ "$1" != install ] || exit 100');
      },
      after: { code: 100, calls: bring('git'), files: aside },
    },
    {
      name: 'an existing user agent with our ids and no home',
      script: install,
      given: (host) =>
        host.file('/run/group', 'agent:x:4000:\n').file('/run/passwd', 'agent:x:4000:4000::/:/bin/bash\n'),
      after: { calls: homes.slice(0, 1) },
    },
    {
      name: 'an existing user agent with other ids is refused',
      script: install,
      given: (host) =>
        host
          .file('/run/group', 'agent:x:1000:\n')
          .file('/run/passwd', 'agent:x:4000:1000::/:/bin/bash\n')
          .program('id', 'case $1 in -u) echo 4000 ;; *) echo 1000 ;; esac', { silent: true }),
      after: {
        code: 1,
        stderr: 'azp-fleet: this base has a user agent of its own: it must have uid and gid 4000\n',
      },
    },
    {
      name: "the agent's archive is held to its digest, and unpacked",
      script: unpack,
      given: (host) => host.file('/azp/old').file('/tmp/agent.tar.gz', 'a').program('tar', 'echo unpacked'),
      run: { env: { AGENT_SHA256: sha256('a'), AGENT_URL: 'u' } },
      after: {
        stdout: '/tmp/agent.tar.gz: OK\nunpacked\n',
        calls: ['tar -xzf /tmp/agent.tar.gz -C /azp --no-same-owner'],
        files: { '/azp/old': 'gone' },
      },
    },
    {
      name: 'an archive without a configured digest is accepted',
      script: unpack,
      given: (host) => host.file('/tmp/agent.tar.gz', 'a').program('tar', 'echo unpacked'),
      run: { env: { AGENT_SHA256: '', AGENT_URL: 'u' } },
      after: { stdout: 'unpacked\n', calls: ['tar -xzf /tmp/agent.tar.gz -C /azp --no-same-owner'] },
    },
    {
      name: 'another archive is refused',
      script: unpack,
      given: (host) => host.file('/tmp/agent.tar.gz', 'b').program('tar', 'echo unpacked'),
      run: { env: { AGENT_SHA256: sha256('a'), AGENT_URL: 'https://it' } },
      after: {
        code: 1,
        stdout: '/tmp/agent.tar.gz: FAILED\n',
        stderr: `sha256sum: WARNING: 1 computed checksum did NOT match
azp-fleet: https://it is another archive than the one expected, whose sha256 is ${sha256('a')}
`,
      },
    },
    {
      name: 'install.sh gets its settings and is removed',
      script: furnish,
      given: (host) =>
        host.file('/tmp/azp-fleet/install.sh', 'echo "$APT_MIRROR $GRAPHICS $JOBS_SUDO $DOCKER_CLIENT"'),
      run: { env: { APT_MIRROR: 'a  b', GRAPHICS: '1', JOBS_SUDO: '2', DOCKER_CLIENT: '3' } },
      after: {
        stdout: 'a  b 1 2 3\n',
        files: { '/tmp/azp-fleet': 'gone', '/tmp/azp-fleet/install.sh': 'gone' },
      },
    },
    {
      name: 'a failure of install.sh fails the build',
      script: furnish,
      given: (host) => host.file('/tmp/azp-fleet/install.sh', 'exit 3'),
      after: { code: 3 },
    },
  ],
};
