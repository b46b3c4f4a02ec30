import { usageError } from '../../../shared/base/errors.ts';
import { foreignLines } from '../../../shared/base/foreign-text.ts';
import { quote } from '../../../shared/base/shell.ts';
import { complaintOf } from './dump.ts';
import type { Answer } from './run-ssh.ts';

/** Characters of what ssh says that an error shows: a complaint for each wrong line. */
const mostSaid = 1_000;

/** Why `ssh -G` told nothing of a host. `byHand`: the arguments that it was given, to be pasted. */
export function noAnswer(name: string, answer: Answer, byHand: string): Error {
  const told = answer.kind === 'refused' ? foreignLines(complaintOf(answer.stderr), mostSaid) : '';
  const place = { code: 'ssh.config', host: name, step: 'connect' } as const;
  const loop = /jumphost loop via (\S+)/.exec(told)?.[1];
  if (loop !== undefined)
    return usageError({
      ...place,
      code: 'ssh.jump',
      what: `the way to ${loop} leads through itself`,
      next: 'end the chain in ~/.ssh/config: "ProxyJump none" for the jump host',
    });
  if (answer.kind === 'refused') {
    const unsafe = /^Bad owner or permissions on (.+)$/m.exec(told)?.[1];
    return usageError({
      ...place,
      what: 'ssh refuses its configuration for this host',
      seen: told,
      next:
        unsafe === undefined
          ? `correct what it names, then: ssh ${byHand}`
          : `make the file yours alone to write: chmod go-w ${quote(unsafe)}`,
    });
  }
  const [what, seen] = {
    'too-long': ['ssh does not come to an end with its configuration', '10 s without a result'],
    'too-much': ['ssh says too much of its configuration', 'more than 1 MiB'],
    stopped: ['stopped while ssh read its configuration', undefined],
    said: ['ssh says nothing of its configuration', undefined],
    'no-ssh': ['the program ssh cannot be started', undefined],
  }[answer.kind];
  return usageError({
    ...place,
    what: what ?? '',
    ...(seen === undefined ? {} : { seen }),
    next: `ssh -v ${byHand}   # Match exec and CanonicalizeHostname ask others`,
  });
}
