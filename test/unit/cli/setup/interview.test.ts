import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';

import type { Prompts } from '../../../../src/cli/setup/question.ts';
import { answering, startWizard, type WizardSession } from '../../../support/wizard-session.ts';

const escape = '\u001b';

/** Returns four questions of all kinds, with work between them. */
function questions(done: string[]) {
  return async (prompts: Prompts) => {
    const word = await prompts.text('word', 'Which word?', {
      check: (text) => (text === 'bad' ? 'Another one' : undefined),
    });
    await prompts.once(`check ${word}`, async () => {
      await setImmediate();
      done.push(word);
    });
    const colour = await prompts.choose('colour', 'Which colour?', [
      { name: 'Red', value: 'red' },
      { name: 'Green', value: 'green' },
    ]);
    const hosts = await prompts.chooseMany(
      'hosts',
      'Which hosts?',
      ['a', 'b'].map((value) => ({ name: value, value })),
      [],
    );
    const sure = await prompts.confirm('sure', 'Are you sure?', true);
    return { word, colour, hosts, sure };
  };
}

const all = [
  ['Which word', 'one'],
  ['Which colour', 'Down'],
  ['Which hosts', 'Space'],
  ['Are you sure'],
] as const;
const answered = { word: 'one', colour: 'green', hosts: ['a'], sure: true };

/** Answers the first questions, then presses one key at the next. */
async function upTo(setup: WizardSession, count: number, key: string): Promise<void> {
  await setup.keyboard.answer(...all.slice(0, count));
  await setup.keyboard.see(all[count]?.[0] ?? '');
  await setImmediate();
  setup.keyboard.forget();
  setup.keyboard.stdin.write(key);
}

describe.each([0, 1, 2, 3])('at question %i', (count) => {
  test('Escape asks the previous question again, with its answer as the default', async () => {
    const setup = startWizard();
    const done: string[] = [];
    const ask = questions(done);
    const asked = setup.interview.run(() => ask(setup.interview));
    await upTo(setup, count, escape);
    const before = Math.max(0, count - 1);
    const again = all
      .slice(before)
      .map(([question, ...keys], index) =>
        index === 0 && count > 0 ? ([question] as const) : ([question, ...keys] as const),
      );
    await setup.keyboard.answer(...again);
    expect(await asked).toEqual(answered);
    expect(done).toEqual(count === 1 ? ['one', 'one'] : ['one']);
  });

  test('Ctrl-C saves the answers, and the next start resumes from them', async () => {
    const setup = startWizard();
    const done: string[] = [];
    const ask = questions(done);
    const asked = setup.interview.run(() => ask(setup.interview));
    const failed = expect(asked).rejects.toMatchObject({ name: 'ExitPromptError' });
    await upTo(setup, count, '\u0003');
    await failed;
    expect(setup.kept()).toHaveLength(count);
    const next = startWizard({ before: setup.kept() });
    const answer = answering(next, () => questions([])(next.interview), ...all.slice(count));
    expect(await answer).toEqual(answered);
    expect(next.printed).toHaveLength(count);
  });
});

test('answers after a removed question are asked again', async () => {
  const before = [
    { key: 'word', answer: 'bad', asked: true },
    { key: 'colour', answer: 'red', asked: true },
  ];
  const setup = startWizard({ before });
  const answer = answering(setup, () => questions([])(setup.interview), ...all);
  expect(await answer).toEqual(answered);
});

test('supplied answers replace questions; an invalid one is reported and asked', async () => {
  const supplied = { word: 'bad', colour: 'green', hosts: 'a b', sure: false };
  const setup = startWizard({ supplied });
  const answer = answering(setup, () => questions([])(setup.interview), ['Which word', 'two']);
  expect(await answer).toEqual({ word: 'two', colour: 'green', hosts: ['a', 'b'], sure: false });
  expect(setup.printed).toEqual([
    '✗ word: Another one',
    '✔ Which colour? Green',
    '✔ Which hosts? a, b',
    '✔ Are you sure? No',
  ]);
});

describe('without a terminal', () => {
  const run = (supplied: Readonly<Record<string, string>>) => {
    const { interview } = startWizard({ noTerminal: true, supplied });
    return interview.run(() => questions([])(interview));
  };

  test('the default is used', async () => {
    expect(await run({ word: 'one', colour: 'red' })).toEqual({
      word: 'one',
      colour: 'red',
      hosts: [],
      sure: true,
    });
  });

  test('a question without a default is an error that names its key', async () => {
    await expect(run({ word: 'one' })).rejects.toMatchObject({
      problem: { code: 'usage.no-answer', expected: 'an answer to "colour": red, green' },
      exitCode: 2,
    });
  });

  test('an invalid answer is an error', async () => {
    await expect(run({ word: 'bad' })).rejects.toMatchObject({
      problem: {
        code: 'usage.answer',
        what: 'invalid answer to "word": Another one',
        seen: 'bad',
      },
    });
  });
});
