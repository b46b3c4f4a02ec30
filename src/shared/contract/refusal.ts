import { foreignCode } from '../base/codes/code.ts';
import { defined } from '../base/objects.ts';
import type { Problem } from '../base/errors.ts';

/** What a manager answers when it refuses, in its own words; undefined: it is no such answer. Whoever shows it cleans it. */
export function readRefusal(answer: string): Problem | undefined {
  const said = Object(parsed(answer)) as Readonly<Record<string, unknown>>;
  const [code, what] = [text(said['code']), text(said['what'])];
  if (code === undefined || what === undefined) return undefined;
  const [expected, seen, next] = [text(said['expected']), text(said['seen']), text(said['next'])];
  return { code: foreignCode(code), what, ...defined({ expected, seen, next }) };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function parsed(answer: string): unknown {
  try {
    return JSON.parse(answer);
  } catch {
    return undefined;
  }
}
