import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseEvent } from '../../../../src/shared/engine/docker.ts';
import {
  Lines,
  LogFrames,
  longestLine,
  longestMessage,
  newestText,
} from '../../../../src/shared/engine/frames.ts';
import { followProgress, progressMessage, WorkFailure } from '../../../../src/shared/engine/progress.ts';
import { frame } from '../../../support/docker/reply.ts';

const chunked = (data: Buffer, sizes: readonly number[]): Buffer[] => {
  const chunks: Buffer[] = [];
  let at = 0;
  for (const size of sizes) {
    chunks.push(data.subarray(at, at + size));
    at += size;
  }
  return [...chunks, data.subarray(at)];
};

test('log frames are the same in any chunks', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'binary', maxLength: 20 }), { maxLength: 8 }),
      fc.array(fc.nat(20)),
      async (texts, sizes) => {
        const whole = Buffer.concat(texts.map(frame));
        const frames = new LogFrames();
        const payloads = chunked(whole, sizes).flatMap((chunk) => frames.push(chunk));
        expect(Buffer.concat(payloads)).toEqual(Buffer.concat(texts.map((text) => Buffer.from(text))));
        const text = texts.join('');
        expect(await newestText(Readable.from(chunked(whole, sizes)), 1000)).toBe(
          Buffer.from(text).toString(),
        );
      },
    ),
  );
});

test('a line without an end does not fill the memory', () => {
  const lines = new Lines();
  for (let piece = 0; piece < 40; piece += 1) lines.push(Buffer.alloc(64 * 1024, 'x'));
  expect(lines.push(Buffer.from('\nnext\n')).map(({ length }) => length)).toEqual([longestLine, 4]);
  const messages = new Lines(longestMessage);
  for (let piece = 0; piece < 40; piece += 1) messages.push(Buffer.alloc(64 * 1024, 'x'));
  expect(messages.push(Buffer.from('\nnext\n')).map(({ length }) => length)).toEqual([longestMessage, 4]);
});

test('lines are the same in any chunks', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.nat(5)), (text, sizes) => {
      const lines = new Lines();
      const cut = chunked(Buffer.from(text), sizes).flatMap((chunk) => lines.push(chunk));
      const once = new Lines();
      expect([...cut, ...lines.end()]).toEqual([...once.push(Buffer.from(text)), ...once.end()]);
    }),
  );
});

test.each([
  ['{"status":"Downloading","progressDetail":{"current":1},"id":"abc"}', 'abc: Downloading'],
  ['{"stream":"Step 1/4 : FROM x\\n"}', 'Step 1/4 : FROM x'],
  ['{"aux":{"ID":"sha256:1"}}', ''],
  ['', ''],
])('progress %s', (line, text) => {
  expect(progressMessage(line).text).toBe(text);
});

const failed = {
  error: 'x',
  errorDetail: { message: "The command '/bin/sh -c a long && command' returned a non-zero code: 1" },
};
test.each<[string, readonly object[], string, readonly string[]]>([
  [
    'the last output of a failed command is the cause, without earlier steps and colours',
    [
      { stream: 'Step 1/2 : FROM x\n' },
      { stream: ' ---> 1234\n' },
      { stream: 'Step 2/2 : RUN a long && command\n' },
      { stream: ' ---> Running in 5678\n' },
      { stream: '/tmp/agent.tar.gz: FAILED\n' },
      // Docker cuts the output anywhere.
      { stream: '\u001b[91msha256sum: \u001b[0m' },
      { stream: '\u001b[91mWARNING: 1 computed checksum did NOT match\n\u001b[0m' },
      failed,
    ],
    'sha256sum: WARNING: 1 computed checksum did NOT match (exit code 1)',
    [
      'Step 2/2 : RUN a long && command',
      '/tmp/agent.tar.gz: FAILED',
      'sha256sum: WARNING: 1 computed checksum did NOT match',
    ],
  ],
  [
    'a command without output',
    [{ stream: 'Step 1/1 : RUN false\n' }, failed],
    failed.errorDetail.message,
    ['Step 1/1 : RUN false'],
  ],
  [
    'terminal output in two pieces',
    [
      { stream: 'Step 1/1 : RUN evil\n' },
      { stream: 'seen\u001b]0;hid' },
      { stream: 'den\u0007 \u202eword\u001b[2K\n' },
      { errorDetail: { message: '\u001b[1Afailed\u0007' }, error: 'x' },
    ],
    'failed',
    ['Step 1/1 : RUN evil', 'seen word'],
  ],
  [
    'a pull',
    [{ status: 'Pulling from x' }, { errorDetail: { message: 'toomanyrequests' }, error: 'y' }],
    'toomanyrequests',
    [],
  ],
])('a failed build or pull: %s', async (_, lines, message, output) => {
  const stream = Readable.from(lines.map((line) => Buffer.from(`${JSON.stringify(line)}\n`)));
  const failure = await followProgress(stream).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(WorkFailure);
  expect(failure).toMatchObject({ message, output });
});

test('the last lines of a long step are kept', async () => {
  const lines = Array.from({ length: 50 }, (_, at) => JSON.stringify({ stream: `line ${at}\n` }));
  const text = [JSON.stringify({ stream: 'Step 1/1 : RUN x\n' }), ...lines, JSON.stringify(failed)].join(
    '\n',
  );
  const failure = await followProgress(Readable.from([Buffer.from(text)])).catch((error: unknown) => error);
  const kept = (failure as WorkFailure).output;
  expect([kept[0], kept[1], kept.at(-1), kept.length]).toEqual([
    'Step 1/1 : RUN x',
    'line 38',
    'line 49',
    13,
  ]);
});

test.each([
  ['', undefined],
  ['{"status":"die"}', undefined],
  ['{"Type":"volume","Action":"mount"}', undefined],
  [
    '{"Type":"container","Action":"die","Actor":{"ID":"1","Attributes":{"a":"b"}}}',
    { type: 'container', action: 'die', id: '1', labels: { a: 'b' } },
  ],
])('event %s', (line, event) => {
  expect(parseEvent(line)).toEqual(event);
});
