// Every next action has one voice: lower case, an imperative or a command to type, no full stop.
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** A literal behind `next:`, `next =` or `next ??`, whole or the branches of a choice. */
const literal = /\bnext(?::| =| \?\?)\s[^'"`;{}]*?(['"`])((?:\\.|(?!\1)[^\n])*)\1/g;

/** The fourth words of `fail` in the scripts that run on hosts: they become a problem's `next`. */
const word = String.raw`(?:"(?:\\.|[^"\n])*"|'[^'\n]*'|\$\{(?:[^{}]|\{[^{}]*\})*\})`;
const scripted = new RegExp(
  String.raw`\bfail ${word}(?:\s|\\)+${word}(?:\s|\\)+${word}(?:\s|\\)+(['"])([^'"\n]*)\1`,
  'g',
);

/** Openings of a statement instead of an imperative. */
const statement =
  /^(?:nothing|the|an?|it|this|that|these|there|something|somebody|you|we|in|on|if|when|after|then)\b|^running\b|^azp-fleet [\w-]+ (?:[\w-]+ )?(?:makes|shows|writes|lists|needs|works)\b/;

function faults(text: string): readonly string[] {
  return [...text.matchAll(literal), ...text.matchAll(scripted)].flatMap(([, , next = '']) => {
    if (/^[A-Z][a-z]+\b/.test(next)) return [`begins with a capital: ${next}`];
    if (statement.test(next)) return [`is no imperative: ${next}`];
    return /[^.]\.$/.test(next) ? [`ends with a full stop: ${next}`] : [];
  });
}

const files = globSync('src/**/*.ts');

test('the texts are found', () => {
  const count = files.flatMap((file) => [...readFileSync(file, 'utf8').matchAll(literal)]).length;
  expect(count).toBeGreaterThan(200);
});

test('the texts of scripts are found', () => {
  const found = files.flatMap((file) => [...readFileSync(file, 'utf8').matchAll(scripted)]);
  expect(found.length).toBeGreaterThan(15);
});

test.each([
  ["next: 'run it again',", []],
  ["next: 'NVIDIA_VISIBLE_DEVICES must go',", []],
  ['next: `azp-fleet trust --limit ${name}`,', []],
  ["next: 'Run it again',", ['begins with a capital: Run it again']],
  ["next:\n      'Look there.',", ['begins with a capital: Look there.']],
  ["next: 'nothing: wait',", ['is no imperative: nothing: wait']],
  ["next: known ? 'the host reboots' : 'run it again.',", ['is no imperative: the host reboots']],
  ["next: 'azp-fleet setup makes one',", ['is no imperative: azp-fleet setup makes one']],
  [`fail 'it broke' "$wanted" "$seen" \\\\\n  'The log tells.'`, ['begins with a capital: The log tells.']],
  ["next: 'run it again.',", ['ends with a full stop: run it again.']],
])('%s', (text, wanted) => {
  expect(faults(text)).toEqual(wanted);
});

test('all have one voice', () => {
  const wrong = files.flatMap((file) =>
    faults(readFileSync(file, 'utf8')).map((fault) => `${file} ${fault}`),
  );
  expect(wrong).toEqual([]);
});
