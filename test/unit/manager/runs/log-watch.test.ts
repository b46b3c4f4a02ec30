import { expect, test } from 'vitest';

import { LogWatch } from '../../../../src/manager/runs/log-watch.ts';

/** Yields no line, and does not end. */
async function* silence(): AsyncGenerator<string> {
  yield* [];
  await new Promise(() => undefined);
}

test('an agent without output is connecting, also if Docker failed at first', async () => {
  const answers: (() => Promise<string>)[] = [
    () => Promise.reject(new Error('no answer in time')),
    () => Promise.resolve(''),
  ];
  const watch = new LogWatch(
    { followLogs: silence, logs: () => answers.shift()?.() ?? Promise.resolve('') },
    () => undefined,
  );
  const phase = async (): Promise<string | undefined> => {
    watch.follow(['c1'], ['c1']);
    await new Promise((resolve) => setImmediate(resolve));
    return watch.of('c1')?.phase;
  };
  expect(await phase()).toBeUndefined();
  expect(await phase()).toBe('connecting');
  watch.close();
});
