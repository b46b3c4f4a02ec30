import { expect, test } from 'vitest';
import { run } from '../../../../src/cli/commands/version.ts';
import type { CommandInput } from '../../../../src/cli/command.ts';
import type { Context } from '../../../../src/shared/base/context.ts';

interface Line {
  readonly part: string;
  readonly version: string;
  readonly state: string;
}

/** Runs the command at this time of its clock. */
async function at(date: string, check: boolean) {
  const context = { clock: { wall: () => Date.parse(date) }, stdout: { columns: 100 }, env: {} };
  const input = { options: { flag: (name: string) => name === 'check' && check } };
  const { json, text } = await run(context as unknown as Context, input as unknown as CommandInput);
  return { lines: (json as { lines: readonly Line[] | null }).lines ?? undefined, text: text?.() ?? '' };
}

test('without --check no dates', async () => {
  const { lines, text } = await at('2026-11-28', false);
  expect(lines).toBeUndefined();
  expect(text).toMatch(/^azp-fleet \d.*\nNode .*\n$/);
});

test('--check lists what has ended, ends soon, is unknown, or has a newer release, by the clock', async () => {
  const { lines = [], text } = await at('2026-11-28T00:00:00Z', true);
  const stateOf = (part: string, version: string) =>
    lines.find((line) => line.part === part && line.version === version)?.state;
  expect(stateOf('driver', '535')).toBe('ended');
  expect(stateOf('driver', '580')).toBe('supported');
  expect(stateOf('toolkit', '1.20')).toBe('unknown');
  expect(text).toMatch(/driver +535 +ended 2026-06 +580/);
  expect(text).toMatch(/docker +29 \(default\) +unknown +.*29\.8\.2, not 29\.7\.2/);
  expect(text).not.toMatch(/driver +580/);
  expect(text).toMatch(/\d+ of \d+ lines are supported\. Read on 2026-11-\d\d;/);
});

test.each([
  ['2028-05-01', 'supported'],
  ['2028-05-02', 'ending'],
  ['2028-07-01', 'ended'],
])('on %s the default driver branch is %s', async (date, state) => {
  const { lines = [] } = await at(`${date}T00:00:00Z`, true);
  expect(lines.find(({ version }) => version === '580')?.state).toBe(state);
});
