import { withBuilder, withDkms } from '../../../../../src/fleet/packages/dnf/repositories.ts';
import type { Transaction } from '../../../../../src/fleet/packages/transaction.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';
import { offered } from './dnf-host.ts';
import { deadMirror, fileAddress, unfetchableAlone } from './dnf-output.ts';
import { answered, ask, asked, docker, engine, ours, world, worldAs } from './simulation-host.ts';

const kernel: Transaction = {
  ...docker,
  before: withDkms({ release: 'epel-release', major: '9' }, { mirrors: {} }),
};

const mirrored: Transaction = {
  ...docker,
  before: withDkms({ release: 'epel-release', major: '9' }, { mirrors: { epel: 'http://mirror/epel' } }),
};
/** Packages that EPEL offers, and a mark that it was read. */
const more = 'tool 5:2.0-1.el9\nextra 0:9.9-1.el9\ndkms 0:3.2.2-1\n';
const moreRead = { '/run/more': 'gone', '/var/lib/dnf/offers': `644 ${more}` };
const silent =
  "http://127.0.0.1:8098/x/repodata/repomd.xml cannot be read: Curl error (7): Couldn't connect to server";
const noDkms = (
  seen: string,
  next = 'set mirrors.epel in the inventory to a mirror of https://dl.fedoraproject.org/pub/epel',
) => [
  'certain',
  `what no package source offers dkms, which builds the driver (expected dkms, which EPEL has; seen: ${seen})`,
  `next ${next}, or put dkms into a package source of the host, and run again`,
];

const opencl = `${more}ocl-icd 0:2-1\nopencl-filesystem 0:1.0-6\n`;
const withOpencl: Transaction = { ...docker, before: withBuilder };

export const epelTexts: readonly string[] = [kernel, mirrored, withOpencl].map(({ before = '' }) => before);

/** The host's sources have no DKMS. */
export const epelCases: readonly ScriptCase[] = [
  {
    name: 'reads the repository that a package adds, and uses it',
    script: ask(kernel),
    run: { input: 'of the caller' },
    given: (host) =>
      host
        .file('/run/brings', '[epel]\n')
        .file('/run/more', more)
        .file('/etc/yum.repos.d/epel.repo', 'of the host'),
    after: {
      stdout: answered(...engine),
      stderr: '0\n',
      files: { ...asked('epel-release'), ...moreRead },
    },
  },
  {
    name: 'reports unreadable lists of it if they do not have the missing package',
    script: ask(kernel),
    given: (host) =>
      host.file('/run/brings', '[epel]\n').file('/run/more', more).file('/run/later', deadMirror),
    after: {
      stdout: answered('version 2.0', `partial ${silent}`, ...engine.slice(1)),
      stderr: '0\n',
      files: { ...asked('epel-release'), ...moreRead },
    },
  },
  {
    name: 'refuses if the only repository with the missing package cannot be read',
    script: ask(kernel),
    given: (host) => host.file('/run/brings', '[epel]\n').file('/run/later', deadMirror),
    after: { stdout: answered(...noDkms(silent)), stderr: '0\n' },
  },
  {
    name: 'refuses if the package that adds it cannot be fetched',
    script: ask(kernel),
    given: (host) => {
      offered(host, 'tool 5:2.0-1.el9', 'extra 0:9.9-1.el9');
      host.file('/run/refused', unfetchableAlone);
    },
    after: {
      stdout: answered(
        ...noDkms(`${fileAddress} cannot be read: Curl error (6): Couldn't resolve host name`),
      ),
      stderr: `0\n${unfetchableAlone}`,
    },
  },
  {
    name: 'refuses if that package is installed, and its repository cannot be read',
    script: ask(kernel),
    given: (host) => host.file('/run/refused', 'Nothing to do.\n').file('/run/heard', deadMirror),
    after: {
      stdout: `partial ${silent}\n${answered(...noDkms(silent))}`,
      stderr: `0\n${deadMirror}Nothing to do.\n`,
    },
  },
  {
    name: 'refuses if the repositories of the package are unknown',
    script: ask(kernel),
    given: (host) => host.file('/run/refused', 'what?\n'),
    after: {
      stdout: answered(...noDkms('the repositories of epel-release are unknown until it is installed')),
      stderr: '0\nwhat?\n',
    },
  },
  {
    name: "reads a site's mirror of EPEL, and reports it",
    script: ask(mirrored),
    run: { input: 'of the caller' },
    given: (host) =>
      host
        .file('/run/copy')
        .file('/run/more', more)
        .file('/etc/yum.repos.d/azp-fleet-epel.repo', 'of another mirror'),
    after: {
      stdout: answered('repository azp-fleet-epel', ...engine),
      stderr: '0\n',
      files: worldAs(
        {
          ...world,
          'lists.words': '644 0\n',
          'repos/azp-fleet-docker.repo': `-> ${ours.file}`,
          'repos/azp-fleet-epel.repo': `644 # Written by azp-fleet.
[azp-fleet-epel]
name=azp-fleet-epel
baseurl=http://mirror/epel/9/Everything/$basearch
enabled=1
gpgcheck=1
repo_gpgcheck=0
gpgkey=file:///etc/pki/rpm-gpg/azp-fleet-epel
`,
        },
        { ...asked(), ...moreRead },
      ),
    },
  },
  {
    name: 'refuses if that mirror cannot be read',
    script: ask(mirrored),
    given: (host) => host.file('/run/later', deadMirror),
    after: {
      stdout: answered(
        'repository azp-fleet-epel',
        ...noDkms(silent, 'check that the EPEL mirror in the inventory (mirrors.epel) answers'),
      ),
      stderr: '0\n',
    },
  },
  {
    name: 'reads the repository for builders if only that has a package, and reports it',
    script: ask(withOpencl),
    given: (host) => host.file('/run/disabled', 'repo id name\ncrb CRB\n').file('/run/more', opencl),
    after: {
      stdout: answered('repository crb', ...engine),
      stderr: '0\n',
      files: { ...asked(), '/run/more': 'gone', '/var/lib/dnf/offers': `644 ${opencl}` },
    },
  },
];
