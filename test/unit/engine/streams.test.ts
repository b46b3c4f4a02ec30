import fc from 'fast-check';
import { expect, test } from 'vitest';
import { tar, untar } from '../../../src/base/tar.ts';
import { parseEvent } from '../../../src/engine/events.ts';
import { Lines, LogFrames, logText } from '../../../src/engine/frames.ts';
import { progressLine } from '../../../src/engine/progress.ts';
import { frame } from '../../support/docker/reply.ts';

const chunked = (data: Buffer, sizes: readonly number[]): Buffer[] => {
  const chunks: Buffer[] = [];
  let at = 0;
  for (const size of sizes) {
    chunks.push(data.subarray(at, at + size));
    at += size;
  }
  return [...chunks, data.subarray(at)];
};

test('log frames come out the same however the stream is cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'binary', maxLength: 20 }), { maxLength: 8 }),
      fc.array(fc.nat(20)),
      (texts, sizes) => {
        const whole = Buffer.concat(texts.map(frame));
        const frames = new LogFrames();
        const payloads = chunked(whole, sizes).flatMap((chunk) => frames.push(chunk));
        expect(Buffer.concat(payloads)).toEqual(Buffer.concat(texts.map((text) => Buffer.from(text))));
        expect(logText(whole)).toBe(Buffer.concat(texts.map((text) => Buffer.from(text))).toString());
      },
    ),
  );
});

test('lines come out the same however the text is cut', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.nat(5)), (text, sizes) => {
      const lines = new Lines();
      const cut = chunked(Buffer.from(text), sizes).flatMap((chunk) => lines.push(chunk));
      const once = new Lines();
      expect([...cut, ...lines.end()]).toEqual([...once.push(Buffer.from(text)), ...once.end()]);
    }),
  );
});

test('what is packed is what is unpacked', () => {
  const path = fc.stringMatching(/^[a-z0-9._-]{1,90}$/);
  const content = fc.uint8Array({ maxLength: 2000 });
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(path, content), { selector: ([name]) => name }), (files) => {
      const archive = tar(
        files.map(([name, data]) => ({ path: name, content: data, mode: 0o600, uid: 4000 })),
      );
      expect(archive.length % 512).toBe(0);
      const found = untar(archive);
      expect([...found.keys()]).toEqual(files.map(([name]) => name));
      for (const [name, data] of files) expect(found.get(name)).toEqual(Buffer.from(data));
    }),
  );
});

test.each([
  ['{"status":"Downloading","progressDetail":{"current":1},"id":"abc"}', 'abc: Downloading'],
  ['{"stream":"Step 1/4 : FROM x\\n"}', 'Step 1/4 : FROM x'],
  ['{"aux":{"ID":"sha256:1"}}', ''],
  ['', ''],
])('progress %s', (line, text) => {
  expect(progressLine(line)).toBe(text);
});

test('an error inside a progress stream is thrown', () => {
  expect(() => progressLine('{"errorDetail":{"message":"no such image"},"error":"x"}')).toThrow(
    'no such image',
  );
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
