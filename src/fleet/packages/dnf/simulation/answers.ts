import { sh } from '../../../../shared/base/shell.ts';
import { parseAnswers, type Dialect } from '../../answers.ts';
import type { Answer, Answers, Asked } from '../../simulation.ts';

const dialect: Dialect = {
  program: 'dnf',
  packageName: /^[A-Za-z0-9][A-Za-z0-9_+.-]{0,100}(?::[a-z0-9_]{1,20})?$/,
  unhold: (names) => sh`sudo dnf versionlock delete ${names}`,
  next: 'complete the mirror, or look at the excludes in /etc/dnf/dnf.conf and /etc/yum.repos.d of the host',
  known: missingRepository,
};

export function dnfAnswers(output: string, asked: readonly Asked[]): Answers {
  return parseAnswers(dialect, output, asked);
}

/** Some of what NVIDIA's packages lean on is in repositories that most of these systems have and switch off. */
function missingRepository(words: string): Answer | undefined {
  const [, lacks, name] = /nothing provides (\S+).* needed by (\S+)/.exec(words) ?? [];
  if (lacks === undefined || name === undefined) return undefined;
  return {
    kind: 'impossible',
    what: `${name} needs ${lacks}, which no package source of the host offers`,
    next: 'enable the repository that has it (CRB or CodeReady Builder, EPEL), or complete the mirror, and run again',
  };
}
