import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

import { looksLikeSecret } from '../../fleet/inventory/secret.ts';
import { usageError, whyNot } from '../../shared/base/errors.ts';
import type { Answer } from './question.ts';

/** Bytes of a file of answers. */
const longest = 1024 * 1024;

/** Answers by their question's key, out of a YAML file: `pool: gpu-lab`, `token: { env: AZP_TOKEN }`. Throws a usage error. */
export function readAnswers(file: string): Map<string, Answer> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw bad(file, whyNot(error), 'correct its name', error);
  }
  if (text.length > longest) throw bad(file, `${text.length} characters`, 'name a file of answers');
  let found: unknown;
  try {
    found = parse(text);
  } catch (error) {
    const [first] = String(error instanceof Error ? error.message : error).split('\n');
    throw bad(file, first ?? '', 'write YAML: "key: answer" on each line', error);
  }
  if (typeof found !== 'object' || found === null || Array.isArray(found))
    throw bad(file, 'no keys', 'write "key: answer" on each line');
  const answers = flatten(found, '');
  for (const [key, answer] of answers)
    if ([answer].flat().some((each) => typeof each === 'string' && looksLikeSecret(each)))
      throw bad(
        file,
        `${key} looks like a secret`,
        `take it out, and say where it is found: token: { env: AZP_TOKEN }`,
      );
  return answers;
}

/** Keys below keys get a dot between; numbers are text, null is the empty text. */
function flatten(values: object, before: string): Map<string, Answer> {
  const answers = new Map<string, Answer>();
  for (const [name, value] of Object.entries(values) as [string, unknown][]) {
    const key = `${before}${name}`;
    if (typeof value === 'boolean') answers.set(key, value);
    else if (Array.isArray(value)) answers.set(key, value.map(String));
    else if (typeof value === 'object' && value !== null)
      for (const [inner, answer] of flatten(value, `${key}.`)) answers.set(inner, answer);
    else answers.set(key, typeof value === 'number' || typeof value === 'string' ? String(value) : '');
  }
  return answers;
}

/**
 * What a few answers say of others: `agents: 2` is a number of agents, `token: { env: … }` says that it is kept in a
 * variable. Later ones win.
 */
export function completed(answers: ReadonlyMap<string, Answer>): Map<string, Answer> {
  const all = new Map(answers);
  const agents = all.get('agents');
  if (typeof agents === 'string' && /^\d+$/.test(agents)) {
    all.set('agents', 'number');
    all.set('agents.count', agents);
  }
  for (const secret of ['token', 'sudo', 'principal']) {
    const kinds = ['env', 'file', 'cmd', 'prompt'].filter((kind) => all.has(`${secret}.${kind}`));
    const [kind] = kinds;
    if (kind !== undefined && !all.has(`${secret}.kept`)) all.set(`${secret}.kept`, kind);
  }
  if (all.has('principal.clientId') && !all.has('token.kept')) all.set('token.kept', 'service-principal');
  return all;
}

function bad(file: string, seen: string, next: string, cause?: unknown): Error {
  return usageError(
    { code: 'usage.answer', what: `the file of answers ${file} cannot be used`, seen, next },
    cause,
  );
}
