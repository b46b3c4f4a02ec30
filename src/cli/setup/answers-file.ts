import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

import { looksLikeSecret } from '../../fleet/inventory/secret.ts';
import { usageError, whyNot } from '../../shared/base/errors.ts';
import type { Answer } from './question.ts';

/** Largest answers file, in characters. */
const longest = 1024 * 1024;

/** Reads answers by question key from a YAML file: `pool: gpu-lab`, `token: { env: AZP_TOKEN }`. Throws a usage error. */
export function readAnswers(file: string): Map<string, Answer> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw bad(file, whyNot(error), 'correct the path', error);
  }
  if (text.length > longest) throw bad(file, `${text.length} characters`, 'name an answers file');
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
        `remove it, and name its source: token: { env: AZP_TOKEN }`,
      );
  return answers;
}

/** Joins nested keys with dots; numbers become text, null becomes empty text. */
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
 * Adds implied answers: `agents: 2` implies a number of agents, `token: { env: … }` implies that the token is in a
 * variable. Later answers override.
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
  return usageError({ code: 'usage.answer', what: `invalid answers file ${file}`, seen, next }, cause);
}
