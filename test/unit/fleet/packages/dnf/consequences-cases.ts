import { consequenceFilters } from '../../../../../src/fleet/packages/dnf/prelude.ts';
import type { ScriptCase, ScriptSuite } from '../../../../support/scratch/case.ts';
import {
  conflict,
  deadMirror,
  downgrade,
  fileAddress,
  held,
  narrow,
  nothing,
  otherFile,
  unavailable,
  unfetchable,
  unfetchableAlone,
  unmet,
} from './dnf-output.ts';

function filter(name: string, command: string, output: string, ...lines: readonly string[]): ScriptCase {
  return {
    name: `${command} of ${name}`,
    script: `${consequenceFilters}\n${command}`,
    run: { input: output },
    after: { stdout: lines.map((line) => `${line}\n`).join('') },
  };
}

/** Seven reasons; the second is long. */
const reasons = Array.from(
  { length: 7 },
  (_, at) => `  - reason ${at + 1}${at === 1 ? ' x'.repeat(250) : ''}\n`,
).join('');

export const consequencesSuite: ScriptSuite = {
  name: 'consequences in dnf’s output',
  given: (host) => host.program('uname', 'echo x86_64', { silent: true }),
  cases: [
    filter(
      'an engine instead of Podman’s',
      'effects',
      conflict,
      'install containerd.io 1.7.27-3.1.el9',
      'remove runc 4:1.1.12-1.el9',
      'install docker-ce 3:29.7.2-1.el9',
      'remove podman-docker 4:4.9-1.el9',
      'remove buildah 2:1.33-1.el9',
    ),
    filter('an engine instead of Podman’s', 'removals', conflict, 'runc', 'podman-docker', 'buildah'),
    filter('an engine instead of Podman’s', 'disk_space', conflict, 'space 18432 0'),
    filter('an engine instead of Podman’s', 'troubles', conflict),
    filter('an older version', 'effects', downgrade, 'downgrade docker-ce 3:29.7.1-1.el9'),
    filter('an older version', 'downgrades', downgrade, 'docker-ce'),
    filter('an older version', 'removals', downgrade),
    filter('an older version', 'disk_space', downgrade, 'space 6144 0'),
    filter(
      'a table that is broken because a name is long, and another architecture',
      'effects',
      narrow,
      'install a-package-whose-name-is-longer-than-any-column 1.0.0-1.module_el9.6.0+123+abcdef',
      'upgrade glibc:i686 2.34-168.el9',
      'remove glibc-gconv-extra:i686 2.34-100.el9',
      'upgrade dkms 3.1.8-1.el9',
    ),
    filter('a table that is broken', 'disk_space', narrow, 'space 104857600 2147483648'),
    filter(
      'a table that ends without an empty line',
      'effects',
      'Removing:\n a noarch 1-1\nend\n',
      'remove a 1-1',
    ),
    filter(
      'a table directly before another one',
      'effects',
      'Removing:\n a noarch 1-1 @os 4\nInstalling:\n b x86_64 2-1 os 4\n\n',
      'remove a 1-1',
      'install b 2-1',
    ),
    filter(
      'a line after a table',
      'effects',
      'Removing:\n a noarch 1-1 @os 4\n\n b noarch 1-1 @os 4\n\n',
      'remove a 1-1',
    ),
    filter(
      'a line after the end of a table',
      'effects',
      'Removing:\n a noarch 1-1 @os 4\nDone\n b noarch 1-1 @os 4\n\n',
      'remove a 1-1',
    ),
    filter(
      'at most six reasons',
      'troubles',
      `Error: 0\n${[1, 2, 3, 4, 5, 6].map((at) => `  - ${at}\n`).join('')}`,
      '0 1 2 3 4 5 ',
    ),
    filter('removals only', 'disk_space', 'Freed space: 3 k\n', 'space 0 -3072'),
    filter('removals only, in bytes', 'disk_space', 'Freed space: 30\n', 'space 0 -30'),
    filter('bytes', 'disk_space', 'Total download size: 12\nInstalled size: 10\n', 'space 12 10'),
    filter('an installed size without a download size', 'disk_space', 'Installed size: 10\n'),
    ...['effects', 'removals', 'downgrades', 'disk_space', 'troubles'].map((each) =>
      filter('nothing', each, nothing),
    ),
    filter(
      'an impossible request',
      'troubles',
      unmet,
      'conflicting requests nothing provides dkms needed by kmod-nvidia-open-dkms-3:580.95.05-1.el9.noarch ',
    ),
    filter('an excluded version', 'troubles', held, 'Unable to find a match: docker-ce-29.10.0 '),
    filter('a skipped mirror', 'troubles', deadMirror + downgrade),
    filter('an empty reason', 'troubles', 'Error: \nError: yes\n', 'yes '),
    filter(
      'too many reasons',
      'troubles',
      ` Problem 1: conflict\n${reasons}`,
      `conflict reason 1 reason 2${' x'.repeat(250)}`.slice(0, 400),
    ),
    filter('a server error', 'unfetched', unavailable, `${fileAddress} cannot be read: Status code: 503`),
    filter(
      'an incomplete download',
      'unfetched',
      unfetchable(`Curl error (18): Transferred a partial file for ${fileAddress} [transfer closed]`),
      `${fileAddress} cannot be read: Curl error (18): Transferred a partial file`,
    ),
    filter(
      'a package by its address',
      'unfetched',
      unfetchableAlone,
      `${fileAddress} cannot be read: Curl error (6): Couldn't resolve host name`,
    ),
    filter(
      'another file instead of the package, with the file name',
      'unfetched',
      unfetchable(`${otherFile} `),
      `extra-1.0-1.el9.noarch.rpm cannot be read: ${otherFile}`,
    ),
    filter(
      'an error that only the summary has',
      'unfetched',
      '> Error: Error downloading packages:\n  Cannot download r/extra.rpm: All mirrors were tried\n  never: mind\n',
      'r/extra.rpm cannot be read: All mirrors were tried',
    ),
    filter(
      'the first of several errors',
      'unfetched',
      'Error: Error downloading packages:\n  lib-1.noarch: Cannot download, all tried\n  extra-1.noarch: no\n',
      'lib-1.noarch cannot be read: Cannot download, all tried',
    ),
    filter(
      'the first of several packages',
      'unfetched',
      '[FAILED] r/lib.rpm: no\n[FAILED] extra.rpm: none\n',
      'r/lib.rpm cannot be read: no',
    ),
    filter(
      'nothing if all packages were downloaded',
      'unfetched',
      'Downloading Packages:\n[MIRROR] lib.rpm: no for http://x (IP: y)\n  a: b\n',
    ),
    filter('no output of services', 'unfetched', '[FAILED] Failed to start it: no\nError: x\n  y: z\n'),
  ],
};
