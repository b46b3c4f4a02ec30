import { sh } from '../../../../shared/base/shell.ts';
import { parseAnswers, type Dialect } from '../../answers.ts';
import type { Answer, Answers, Asked } from '../../simulation.ts';
import { upstream } from '../../version.ts';

const dialect: Dialect = {
  program: 'apt',
  packageName: /^[a-z0-9][a-z0-9+.-]{1,100}(?::[a-z0-9-]{1,20})?$/,
  unhold: (names) => sh`sudo apt-mark unhold ${names}`,
  next: 'complete the mirror, or look at the pins in /etc/apt/preferences.d of the host',
  known: oldDkms,
};

export function aptAnswers(output: string, asked: readonly Asked[]): Answers {
  return parseAnswers(dialect, output, asked);
}

/** The last branch whose packages take any dkms. */
const lastWithout = 565;

/**
 * NVIDIA's packages from 570.148 on want dkms 3.1.8; Debian 12 has 3.0.10, Ubuntu 22.04 has 2.8.7, and their backports none.
 * Where NVIDIA's repository has it as well, apt takes it from there, and this is never met.
 */
function oldDkms(words: string, newest = '', leastBranch = 0): Answer | undefined {
  const [, name, wanted] = /(\S+) : Depends: dkms \(>= ([\w.~+-]+)\)/.exec(words) ?? [];
  if (name === undefined || wanted === undefined) return undefined;
  const older =
    leastBranch > lastWithout ? '' : `set driver.branch to one that needs less (${lastWithout} or older), `;
  return {
    kind: 'impossible',
    what: `${name} needs dkms ${wanted} or newer, and the newest that is offered is ${newest === '' ? 'none' : upstream(newest)}`,
    next: `put dkms ${wanted} into a package source of the host, ${older}or take a newer release of the system`,
  };
}
