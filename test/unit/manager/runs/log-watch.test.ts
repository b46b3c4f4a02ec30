import { expect, test } from 'vitest';

import { LogWatch } from '../../../../src/manager/runs/log-watch.ts';
import { emptyTranscript } from '../../../../src/manager/runs/transcript.ts';

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

test("a run has nothing of the output of its slot's run before, also if that is still being read", async () => {
  const lines = new Map(['c1', 'c2'].map((id) => [id, [] as ((line: string) => void)[]]));
  const say = async (id: string, line: string): Promise<void> => {
    for (const heard of lines.get(id)?.splice(0) ?? []) heard(line);
    await new Promise((resolve) => setImmediate(resolve));
  };
  async function* spoken(id: string): AsyncGenerator<string> {
    for (;;) yield await new Promise<string>((resolve) => lines.get(id)?.push(resolve));
  }
  const watch = new LogWatch({ followLogs: spoken, logs: () => Promise.resolve('') }, () => undefined);
  watch.follow(['c1'], ['c1']);
  await say('c1', '2026-11-21 02:00:01Z: Running job: train');
  expect(watch.of('c1')).toMatchObject({ phase: 'running', job: 'train' });
  // The first container is removed; its last line arrives after the second was started.
  watch.follow(['c2'], ['c2']);
  await say('c1', '2026-11-21 02:00:02Z: Job train completed with result: Succeeded');
  await say('c2', '2026-11-21 02:00:03Z: Listening for Jobs');
  expect(watch.of('c2')).toEqual({ ...emptyTranscript, phase: 'listening', known: true });
  watch.close();
});
