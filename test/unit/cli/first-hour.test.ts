// Makes each mistake of the first hour, runs the printed next action literally, and checks that it fixes the mistake. The
// output at 80 columns is recorded in docs/first-hour-mistakes.txt: review changes there.
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';

import { networkMistakes, poolMistakes } from '../../support/first-hour/azure-mistakes.ts';
import { carryOut } from '../../support/first-hour/carry-out.ts';
import { commandMistakes } from '../../support/first-hour/command-mistakes.ts';
import { inventoryMistakes } from '../../support/first-hour/inventory-mistakes.ts';
import type { Mistake } from '../../support/first-hour/mistake.ts';
import { practiceMistakes } from '../../support/first-hour/practice-mistakes.ts';
import { setupMistakes } from '../../support/first-hour/setup-mistakes.ts';
import { reportedOn } from '../../support/first-hour/reported.ts';
import { loginMistakes, wayMistakes } from '../../support/first-hour/ssh-mistakes.ts';
import { sudoMistakes } from '../../support/first-hour/sudo-mistakes.ts';
import { tokenMistakes } from '../../support/first-hour/token-mistakes.ts';
import { valueMistakes } from '../../support/first-hour/value-mistakes.ts';
import { World } from '../../support/first-hour/world.ts';

// The artifacts are built in dist/, which need not exist for unit tests.
vi.mock('../../../src/fleet/artifacts/load.ts', async () => {
  const { desiredOf } = await import('../../support/host.ts');
  return { loadArtifacts: () => Promise.resolve(desiredOf().artifacts) };
});

const themes: Readonly<Record<string, readonly Mistake[]>> = {
  'The text of the inventory': inventoryMistakes,
  'Values in the inventory': valueMistakes,
  'Logging in': loginMistakes,
  'The network path to a host': wayMistakes,
  sudo: sudoMistakes,
  'Known only to hosts and the server': practiceMistakes,
  'The token': tokenMistakes,
  'The network': networkMistakes,
  'Pools and projects': poolMistakes,
  'The command line': commandMistakes,
  'Answers to setup': setupMistakes,
};
const table = join(import.meta.dirname, '../../../docs/first-hour-mistakes.txt');
const head = `Mistakes of the first hour at 80 columns: the command, its output, the printed
next action (>), and the result of the same command afterwards. Recorded by
test/unit/cli/first-hour.test.ts, which runs each next action literally.
`;

/** Returns one mistake from beginning to end, as text. */
async function story(mistake: Mistake, world: World): Promise<string> {
  world.typed = mistake.typed;
  await mistake.make(world);
  const { typed } = world;
  const before = await world.type(world.typed);
  const { until = '\0' } = mistake;
  const [printed = '', ...rest] = world.shown(before.text).split(`\n${until}`);
  const shown = rest.length === 0 ? printed : `${printed}\n…`;
  expect(shown).toContain(mistake.place);
  expect(before.exitCode === 0).toBe(mistake.warns === true);
  expect(shown.split('\n').filter((line) => line.length > 80)).toEqual([]);
  const reported = reportedOn(before.text);
  expect(reported).not.toEqual([]);
  expect(reported.filter(({ next }) => next === '')).toEqual([]);
  const done: string[] = [];
  // From the last to the first: a change moves the lines below it.
  for (const each of reported.toReversed()) done.push(await carryOut(world, each, mistake.by));
  const after = await world.type(world.typed);
  expect(`${after.text}\n[exit ${after.exitCode}]`).toContain(`\n[exit ${mistake.well ?? 0}]`);
  expect(reportedOn(after.text)).toEqual([]);
  return [
    `$ azp-fleet ${world.shown(typed)}`,
    shown,
    `[exit ${before.exitCode}]`,
    ...[...new Set(done)].filter(Boolean).map((line) => world.shown(`> ${line}`)),
    `$ azp-fleet ${world.shown(world.typed)}`,
    `[exit ${after.exitCode}]`,
  ].join('\n');
}

const stories = new Map<Mistake, string>();

describe.each(Object.entries(themes))('%s', (_, mistakes) => {
  test.concurrent.each(mistakes)('$name', async (mistake) => {
    const world = await World.start();
    try {
      stories.set(mistake, await story(mistake, world));
    } finally {
      await world.end();
    }
  });
});

test('there are at least 60, and their output is recorded', async () => {
  const all = Object.values(themes).flat();
  expect(all.length).toBeGreaterThanOrEqual(60);
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  const text = Object.entries(themes).map(
    ([theme, mistakes]) =>
      `\n${`== ${theme} `.padEnd(80, '=')}\n${mistakes.map((each) => `\n-- ${each.name}\n${stories.get(each) ?? ''}\n`).join('')}`,
  );
  await expect(`${head}${text.join('')}`).toMatchFileSnapshot(table);
});
