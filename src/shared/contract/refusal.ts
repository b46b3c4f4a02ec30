import { foreignCode } from '../base/codes/code.ts';
import { defined } from '../base/objects.ts';
import type { Problem } from '../base/errors.ts';

/** Parses a manager's refusal; undefined: another answer. The caller must clean it before showing it. */
export function readRefusal(answer: string): Problem | undefined {
  const body = Object(parsed(answer)) as Readonly<Record<string, unknown>>;
  const [code, what] = [text(body['code']), text(body['what'])];
  if (code === undefined || what === undefined) return undefined;
  const [expected, seen, next] = [text(body['expected']), text(body['seen']), text(body['next'])];
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
