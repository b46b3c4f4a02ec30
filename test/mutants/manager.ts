import { type ChildProcess, spawn } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { type Node, parseSync, Visitor } from 'oxc-parser';

import { Chance } from '../support/model/chance.ts';
import type { Result, Survivor } from './run-suite.ts';

/** Only the lab starts the program itself. */
const excluded = ['src/manager/main.ts'];
const tests = 'test/unit/manager';
/** Milliseconds for the tests of a damaged file, beside three times what the whole one takes: a wait without an end is seen. */
const patienceMs = 120_000;
const longestOutput = 8_000;

/** A source file with one place damaged. */
interface Damaged {
  readonly file: string;
  readonly kind: string;
  readonly line: number;
  readonly before: string;
  readonly after: string;
  /** The whole file. */
  readonly text: string;
}

export interface Draw {
  /** The same seed draws the same places. */
  readonly seed: number;
  readonly count: number;
}

/**
 * Damages places of src/manager that are drawn at random, one at a time, in a copy of the checkout, and runs the manager's unit
 * tests. `words`: only files whose path has one. Throws where a test fails without any damage.
 */
export async function runManager(words: readonly string[], { seed, count }: Draw): Promise<Result[]> {
  const files = globSync('src/manager/**/*.ts')
    .toSorted()
    .filter((file) => !excluded.includes(file))
    .filter((file) => words.length === 0 || words.some((word) => file.includes(word)));
  const all = files.flatMap((file) => damagesOf(file, readFileSync(file, 'utf8')));
  const drawn = draw(all, new Chance(seed), count);
  const started = performance.now();
  const copy = copyOfCheckout();
  try {
    const whole = await runTests(copy, undefined);
    if (!whole.passed)
      throw new Error(`the unit tests of the manager fail without any damage:\n${whole.output}`);
    const limitMs = patienceMs + 3 * (performance.now() - started);
    const survivors: Survivor[] = [];
    for (const each of drawn) {
      const path = join(copy, each.file);
      writeFileSync(path, each.text);
      const { passed: survived } = await runTests(copy, limitMs);
      cpSync(each.file, path);
      process.stderr.write(`${each.file}:${each.line} (${each.kind}): ${survived ? 'missed' : 'seen'}\n`);
      if (survived) survivors.push(survivor(each));
    }
    const seconds = Math.round((performance.now() - started) / 1000);
    return [{ name: `src/manager, seed ${seed}`, total: drawn.length, seconds, survivors }];
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Returns this many different ones. Pure. */
export function draw<Value>(all: readonly Value[], chance: Chance, count: number): Value[] {
  const left = [...all];
  return Array.from({ length: Math.min(count, left.length) }, () =>
    left.splice(Math.floor(chance.real() * left.length), 1),
  ).flat();
}

const operators: Readonly<Record<string, string>> = {
  '&&': '||',
  '||': '&&',
  '??': '&&',
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
};

/** What only the log shows is no fault. */
const logs = /\blog\.log\(|\bstd(?:out|err)\.write\(/;

/** Returns a file with each place damaged: a statement left out or not awaited, a condition, an operator, a truth value. Pure. */
export function damagesOf(file: string, source: string): Damaged[] {
  const found: Damaged[] = [];
  const replace = (kind: string, start: number, end: number, by: string): void => {
    const line = source.slice(0, start).split('\n').length;
    const text = source.slice(0, start) + by + source.slice(end);
    const [before = '', after = ''] = [source, text].map((each) => each.split('\n')[line - 1]?.trim());
    found.push({ file, kind, line, before, after, text });
  };
  const condition = ({ start, end }: Node): void => {
    for (const by of ['true', 'false']) replace('condition', start, end, by);
  };
  const operator = (node: { left: Node; right: Node; operator: string }): void => {
    const by = operators[node.operator];
    const at = source.indexOf(node.operator, node.left.end);
    if (by !== undefined && at < node.right.start) replace('operator', at, at + node.operator.length, by);
  };
  new Visitor({
    ExpressionStatement({ start, end, expression }) {
      if (logs.test(source.slice(start, end))) return;
      replace('left out', start, end, ';');
      if (expression.type === 'AwaitExpression')
        replace('not awaited', start, expression.argument.start, 'void ');
    },
    IfStatement: ({ test }) => condition(test),
    ConditionalExpression: ({ test }) => condition(test),
    LogicalExpression: operator,
    BinaryExpression: operator,
    Literal({ start, end, value }) {
      if (typeof value === 'boolean') replace('truth value', start, end, String(!value));
    },
  }).visit(parseSync(file, source).program);
  return found.filter(({ text }) => parseSync(file, text).errors.length === 0);
}

/** Copies the checkout, so that tests of a damaged file run beside it; the packages are links. Returns its folder. */
function copyOfCheckout(): string {
  const copy = mkdtempSync(join(tmpdir(), 'azp-mutants-'));
  for (const entry of readdirSync('.').filter((name) => !['node_modules', '.git'].includes(name)))
    cpSync(entry, join(copy, entry), { recursive: true, preserveTimestamps: true });
  mkdirSync(join(copy, 'node_modules'));
  // Vite writes into folders of its own there.
  for (const entry of readdirSync('node_modules').filter((name) => name === '.bin' || !name.startsWith('.')))
    symlinkSync(resolve('node_modules', entry), join(copy, 'node_modules', entry));
  return copy;
}

/** Returns whether the tests pass, in this time, and the end of their output. */
async function runTests(
  copy: string,
  limitMs: number | undefined,
): Promise<{ readonly passed: boolean; readonly output: string }> {
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit*', '--bail=1', tests];
  const child = spawn(process.execPath, args, {
    cwd: copy,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-longestOutput)));
  const limit = limitMs === undefined ? undefined : setTimeout(() => killGroup(child), limitMs);
  const code = await new Promise((done) => child.once('close', done));
  clearTimeout(limit);
  return { passed: code === 0, output };
}

function killGroup({ pid = 0 }: ChildProcess): void {
  if (pid !== 0) process.kill(-pid, 'SIGKILL');
}

function survivor({ file, line, kind, before, after }: Damaged): Survivor {
  return { kind: `${kind}, ${file}:${line}`, before, after, why: undefined };
}
