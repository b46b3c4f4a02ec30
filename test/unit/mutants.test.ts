import { describe, expect, it, test } from 'vitest';

import { damages } from '../mutants/damage.ts';
import { damagesOf, draw } from '../mutants/manager.ts';
import { mutantsOf } from '../mutants/mutants.ts';
import { reportOf, scriptsGoal } from '../mutants/report.ts';
import { runSuites, type Result, type Survivor } from '../mutants/run-suite.ts';
import { Chance } from '../support/model/chance.ts';
import { redirect } from '../support/scratch/redirect.ts';
import type { ScriptCase, ScriptSuite } from '../support/scratch/case.ts';

describe('a line', () => {
  it.each([
    ['  # a comment', []],
    [':', []],
    ['rm -f "$x"', ['quotes: rm -f $x']],
    ['cat >"$x"', ['redirection: cat >>"$x"']],
    [
      'if [ -n "$x" ]; then',
      ['quotes: if [ -n $x ]; then', 'test: if [ ! -n "$x" ]; then', 'test: if [ -z "$x" ]; then'],
    ],
    [
      'a && b || exit 1',
      [
        'operator: a || b || exit 1',
        'operator: a && b && exit 1',
        'rest: a && b',
        'rest: a',
        'number: a && b || exit 2',
      ],
    ],
    ['return 3', ['number: return 0']],
    ['umask 022', ['number: umask 077']],
    ['ls /etc/apt 2>/dev/null', ['redirection: ls /etc/apt', 'path: ls /etc/aptX 2>/dev/null']],
    ['until x; do', ['test: while x; do']],
  ])('%s', (line, expected) => {
    const found = damages(line).filter(({ kind }) => kind !== 'line');
    expect(found.map(({ kind, line: after }) => `${kind}: ${after}`).toSorted()).toEqual(expected.toSorted());
  });

  it('can be gone', () => {
    expect(damages('mv a b').map(({ kind, line }) => [kind, line])).toEqual([
      ['line', ''],
      ['line', ':'],
    ]);
  });
});

const cases = ['one', 'two'].map((word): ScriptCase => ({
  name: word,
  script: `shared\nrm ${word}\necho '${word}'\nif x; then\n  y\nfi`,
  after: {},
}));

test('a place that scripts share is damaged in all of them at once, and what is no script is left out', () => {
  const valid = (script: string): boolean => script.includes('fi') && !script.includes('then\n\n');
  const mutants = mutantsOf({ name: '', cases, elsewhere: ['shared'] }, valid);
  const dropped = mutants.filter(({ kind }) => kind === 'line');
  expect(dropped.map(({ before, after, scripts }) => [before, after, scripts.size])).toEqual([
    ['rm one', '', 1],
    ["echo 'one'", '', 2],
    ['if x; then', '', 2],
    ['  y', ':', 2],
    ['rm two', '', 1],
  ]);
});

test('a damage in a part that suites share is counted once, and seen where any of them sees it', async () => {
  const part = 'one() {\n  echo 1\n}\ntwo() {\n  echo 2\n}\n';
  const suite = (name: string, call: string, stdout: string): ScriptSuite => ({
    name,
    cases: [{ name, script: `${part}${call}\n:`, after: { stdout } }],
  });
  const done: string[] = [];
  const results = await runSuites(
    [suite('first', 'one', '1\n'), suite('second', 'two', '2\n'), suite('third', 'two', '2\n')],
    ({ name }) => done.push(name),
  );
  expect(done).toEqual(['first', 'second', 'third']);
  expect(results.map(({ name, survivors }) => [name, survivors])).toEqual([
    ['first', []],
    ['second', []],
    ['third', []],
  ]);
  const [first, second, third] = results.map(({ total }) => total);
  expect(second).toBeLessThan(first ?? 0);
  expect(third).toBe(0);
});

describe('the report', () => {
  const survivor = (why?: string): Survivor => ({ kind: 'test', before: 'a', after: 'b', why });
  const result = (total: number, ...survivors: Survivor[]): Result => ({
    name: 'x',
    total,
    seconds: 1,
    survivors,
  });

  it.each([
    ['all is seen', result(10), true],
    ['a tenth is missed', result(10, survivor()), true],
    ['more is missed', result(10, survivor(), survivor()), false],
    ['a tenth is excused', result(10, survivor('why')), true],
    ['a tenth is excused, and as much missed', result(10, survivor('why'), survivor()), false],
    ['more is excused', result(10, survivor('why'), survivor('why')), false],
  ])('%s', (_, one, enough) => {
    expect(reportOf([one, result(100)], scriptsGoal).enough).toBe(enough);
  });

  it('names what is missed, and counts what is excused', () => {
    const { table, missing } = reportOf([result(10, survivor(), survivor('a number'))], scriptsGoal);
    expect(missing).toBe('x (test)\n  a\n  b\n');
    expect(table).toContain('| x | 10 | 8 | 1 | 1 | 88.9 | 1 |');
    expect(table).toContain('- a number: 1');
  });
});

test.each([
  ['cat /etc/a >/dev/null', 'cat /R/etc/a >/dev/null'],
  ['x=/etc/a:/usr/b', 'x=/R/etc/a:/R/usr/b'],
  ['"$root/sys/x" "$root"/sys/x ${a}/run', '"$root/sys/x" "$root"/sys/x ${a}/run'],
  ['https://host/etc/a ./etc/b', 'https://host/etc/a ./etc/b'],
  ['"${HOME:-/home/x}" s|^/etc/y||', '"${HOME:-/R/home/x}" s|^/R/etc/y||'],
  ['cd /azp-fleet-gathered /azp-x', 'cd /R/azp-fleet-gathered /azp-x'],
  ['/dev/nvidia0 /dev/urandom /etcetera', '/R/dev/nvidia0 /dev/urandom /etcetera'],
])('on a scratch host %s', (script, expected) => {
  expect(redirect(script, '/R')).toBe(expected);
});

describe('places of src/manager', () => {
  const source = `async function end(a: boolean, n: number) {
  await state.update(n);
  if (a && n < 3) return true;
  log.log('info', 'ended');
}
`;
  const after = (line: number): string[] =>
    damagesOf('x.ts', source)
      .filter((each) => each.line === line)
      .map((each) => each.after);

  test('are statements, conditions, operators and truth values, not words of the log', () => {
    expect(after(2).toSorted()).toEqual([';', 'void state.update(n);']);
    expect(after(3).toSorted()).toEqual([
      'if (a && n < 3) return false;',
      'if (a && n <= 3) return true;',
      'if (a || n < 3) return true;',
      'if (false) return true;',
      'if (true) return true;',
    ]);
    expect(after(4)).toEqual([]);
  });

  test('of one seed are the same, and different from each other', () => {
    const all = Array.from({ length: 50 }, (_, index) => index);
    const drawn = draw(all, new Chance(7), 10);
    expect(new Set(drawn).size).toBe(10);
    expect(draw(all, new Chance(7), 10)).toEqual(drawn);
    expect(draw(all, new Chance(8), 10)).not.toEqual(drawn);
    expect(draw(all, new Chance(7), 60).toSorted((a, b) => a - b)).toEqual(all);
  });
});
