import { consequenceFilters, dnfPrelude } from '../../../../../src/fleet/packages/dnf/prelude.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import { has, lockList, offered } from './dnf-host.ts';
import { conflict, deadMirror, downgrade, unmet } from './dnf-output.ts';
import { epelCases, epelTexts } from './simulation-epel-cases.ts';
import {
  answered,
  ask,
  asked,
  docker,
  engine,
  locks,
  ours,
  simulatedHost,
  site,
  world,
  worldAs,
} from './simulation-host.ts';

const plain = ask(docker);
const twice = {
  '/run/requested': `${asked()['/run/requested'] ?? ''}${(asked()['/run/requested'] ?? '').slice('644 '.length)}`,
};

const seventh = [{ name: 'tool', version: { release: '7' } }, { name: 'extra' }];
/** The vendor's repository and another one do not answer. */
const deadMirrors = `${deadMirror.replaceAll('127.0.0.1:8098', 'other').replace(/Ignoring.*\n/, '')}${deadMirror
  .replaceAll("'dead'", "'azp-fleet-docker'")
  .replace(': dead', ': dead, azp-fleet-docker')}`;

const many = Array.from({ length: 510 }, (_, at) => 1000 + at);

export const simulationSuite: ScriptSuite = {
  name: 'simulating transactions with dnf',
  elsewhere: [dnfPrelude, consequenceFilters, ...epelTexts],
  given: (host) => {
    simulatedHost(host);
    has(host, 'tool 5:1.9-1.el9', 'old 0:1.0-1.el9');
    offered(host, 'tool 5:2.1-1.el9', 'tool 5:2.0-1.el9', 'extra 0:9.9-1.el9', 'epel-release 0:9-10');
    host.file(lockList, locks);
    host.file(ours.file, ours.text).file('/run/answer', conflict);
  },
  cases: [
    {
      name: 'uses a folder that begins as the host, without azp-fleet’s locks',
      script: plain,
      given: (host) =>
        host
          .file('/run/copy')
          .file('/etc/yum.repos.d/my own.repo', 'x')
          .file('/etc/yum.repos.d/other.txt', 'x')
          .file('/etc/dnf/plugins/copr.conf', 'of the host')
          .file('/etc/dnf/plugins/subscription-manager.conf', 'of RHEL')
          .file('/var/cache/dnf/os.solv', 'lists')
          .file('/var/cache/dnf/metadata_lock.pid', '1')
          .folder('/run/other/azp-fleet-simulation.deep')
          .age('/run/other/azp-fleet-simulation.deep', 70 * 60)
          .folder('/run/azp-fleet-simulation.old', '/run/azp-fleet-simulation.new', '/run/other.old')
          .age('/run/azp-fleet-simulation.old', 70 * 60)
          .age('/run/azp-fleet-simulation.new', 50 * 60)
          .age('/run/other.old', 70 * 60),
      run: { umask: '077' },
      after: {
        stdout: answered(...engine),
        stderr: '0\n',
        files: worldAs(
          {
            ...world,
            'cache/os.solv': '-> /var/cache/dnf/./os.solv',
            'plugins/copr.conf': '644 of the host',
            'plugins/subscription-manager.conf': '644 of RHEL',
            'repos/my own.repo': '-> /etc/yum.repos.d/my own.repo',
            'repos/azp-fleet-docker.repo': `-> ${ours.file}`,
          },
          { ...asked(), '/run/azp-fleet-simulation.old': 'gone' },
        ),
      },
    },
    {
      name: "uses a source that the plan adds instead of conflicting ones, and a site's authority",
      script: ask(docker, { missing: ['docker'], site: { ...site, caPem: "it's PEM" } }),
      given: (host) =>
        host
          .file('/run/copy')
          .file('/etc/pki/tls/certs/ca-bundle.crt', 'many\n')
          .file('/etc/yum.repos.d/docker-ce.repo', 'baseurl=https://download.docker.com/linux/centos/9')
          .file('/etc/yum.repos.d/mirror.repo', 'baseurl=http://mirror/docker/centos/9/x86_64/stable')
          .file('/etc/yum.repos.d/rocky.repo', 'baseurl=https://downloadXdocker.com/linux')
          .file(ours.file, 'old'),
      after: {
        stdout: answered(...engine),
        stderr: '0\n',
        files: worldAs(
          {
            ...world,
            'ca.crt': "644 many\nit's PEM\n",
            'repos/rocky.repo': '-> /etc/yum.repos.d/rocky.repo',
            'repos/azp-fleet-docker.repo': `644 ${ours.text}`,
          },
          asked(),
        ),
      },
    },
    {
      name: 'uses the site’s authority as the only one if the host has none',
      script: ask(docker, { missing: ['docker'], site: { ...site, caPem: "it's PEM" } }),
      given: (host) => host.file('/run/copy').drop(ours.file),
      after: {
        stdout: answered(...engine),
        stderr: '0\n',
        files: worldAs(
          { ...world, 'ca.crt': "644 it's PEM\n", 'repos/azp-fleet-docker.repo': `644 ${ours.text}` },
          asked(),
        ),
      },
    },
    {
      name: 'works without repositories, locks and authorities, and includes the versionlock plugin',
      script: ask(
        { ...docker, before: 'bring headers gcc' },
        { missing: ['docker'], site: { ...site, caPem: "it's PEM" } },
      ),
      given: (host) => host.file('/run/copy').drop(lockList, ours.file),
      after: {
        stdout: answered(...engine),
        stderr: '0\n',
        files: worldAs(
          {
            ...world,
            'all-locks': '644 ',
            'ca.crt': "644 it's PEM\n",
            locks: '644 ',
            'repos/azp-fleet-docker.repo': `644 ${ours.text}`,
          },
          asked('dnf-command(versionlock)', 'headers', 'gcc'),
        ),
      },
    },
    {
      name: 'names downgrades with both versions',
      script: plain,
      given: (host) => {
        has(host, 'docker-ce 3:29.7.2-1.el9', 'old 0:1.0-1.el9');
        host.file('/run/answer', downgrade);
      },
      after: {
        stdout: answered('version 2.0', 'downgrade docker-ce 3:29.7.2-1.el9 3:29.7.1-1.el9', 'space 6144 0'),
        stderr: '0\n',
        files: asked(),
      },
    },
    {
      name: 'reports a vendor that does not answer, with the reason',
      script: plain,
      given: (host) => {
        has(host, 'tool 5:1.9-1.el9');
        host.file('/run/heard', deadMirrors);
      },
      after: {
        stdout: `partial http://other/x/repodata/repomd.xml cannot be read: Curl error (7): Couldn't connect to server
silent docker http://127.0.0.1:8098/x/repodata/repomd.xml cannot be read: Curl error (7): Couldn't connect to server
${answered(...engine)}`,
        stderr: `0\n${deadMirrors}`,
        files: { '/run/requested': (asked()['/run/requested'] ?? '').replace('remove  old\n', '') },
      },
    },
    {
      name: 'names the owner’s lock that prevents it',
      script: plain,
      given: (host) => host.file('/run/answer', unmet).file('/run/freed', conflict),
      after: { stdout: answered('version 2.0', 'held runc '), stderr: '0\n', files: twice },
    },
    {
      name: 'reports why it is impossible without a lock',
      script: plain,
      given: (host) => host.file('/run/answer', unmet).file('/run/freed', unmet),
      after: {
        stdout: answered(
          'version 2.0',
          'words conflicting requests nothing provides dkms needed by kmod-nvidia-open-dkms-3:580.95.05-1.el9.noarch ',
        ),
        stderr: `0\n${unmet}`,
        files: twice,
      },
    },
    {
      name: 'names the offered versions',
      script: ask({ ...docker, packages: seventh, variants: ['too*'] }),
      after: { stdout: answered('missing', 'offer 5:2.1-1.el9', 'offer 5:2.0-1.el9'), stderr: '0\n' },
    },
    {
      name: 'names the offered versions of the package itself if there are no variants',
      script: ask({ ...docker, packages: seventh }),
      given: (host) => offered(host, 'tool 5:2.1-1.el9', 'toolbox 5:2.0-1.el9'),
      after: { stdout: answered('missing', 'offer 5:2.1-1.el9'), stderr: '0\n' },
    },
    {
      name: 'names at most five hundred offered versions',
      script: ask({ ...docker, packages: seventh, variants: ['too*'] }),
      given: (host) => offered(host, ...many.map((each) => `tool 0:6.${each}-1`)),
      after: {
        stdout: answered(
          'missing',
          ...many
            .slice(-500)
            .toReversed()
            .map((each) => `offer 0:6.${each}-1`),
        ),
        stderr: '0\n',
      },
    },
    {
      name: 'reports a failed prerequisite',
      script: ask({ ...docker, before: "fail 'no way' here 'the\nhost' 'go home'" }),
      after: {
        stdout: answered('what no way (expected here; seen: the host)', 'next go home'),
        stderr: '0\n',
      },
    },
    {
      name: 'reports an early exit',
      script: ask({ ...docker, before: 'sh -c "exit 7"\necho never >&3' }),
      after: { stdout: answered('broken 7'), stderr: '0\n' },
    },
    {
      name: 'leaves no folder if a signal ends it',
      script: ask({ ...docker, before: 'kill -s TERM "$$"; exit 0' }),
      after: { code: 1, stdout: 'begin docker-install-1\n', stderr: '0\n' },
    },
    ...epelCases,
  ],
};
