import path from 'node:path';

import type { Context } from '../../../shared/base/context.ts';
import { completed, readAnswers } from '../../setup/interview/answers-file.ts';
import type { Answer } from '../../setup/interview/question.ts';
import type { Options } from '../../options.ts';

/** Options of one answer, by the key of their question. */
const single = {
  organization: 'organization',
  tokenEnv: 'token.env',
  tokenFile: 'token.file',
  tokenCmd: 'token.cmd',
  expires: 'token.expires',
  pool: 'pool',
  agents: 'agents',
  unready: 'unready',
} as const;

/** Options that gather a list. */
const several = { host: 'hosts', project: 'projects', dataset: 'datasets' } as const;

/** What is answered before anything is asked: by options, which win, and by a file of answers. */
export function suppliedAnswers(context: Pick<Context, 'cwd'>, options: Options): Map<string, Answer> {
  const file = options.string('answers');
  const answers =
    file === undefined ? new Map<string, Answer>() : readAnswers(path.resolve(context.cwd, file));
  for (const [option, key] of Object.entries(single)) {
    const value = options.string(option);
    if (value !== undefined) answers.set(key, value);
  }
  for (const [option, key] of Object.entries(several)) {
    const values = options.list(option);
    if (values.length > 0) answers.set(key, values);
  }
  const added = options.list('add');
  if (added.length > 0) {
    answers.set('existing', 'add');
    answers.set('hosts', [...added, ...options.list('host')]);
  }
  if (options.flag('provision')) answers.set('provision', true);
  return completed(answers);
}
