import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readerBounds } from '../../../../src/shared/base/reader-bounds.ts';
import { decode, encode, type Entry } from '../../../../src/manager/history/entries.ts';

const value = fc.option(
  fc.integer({ min: 0, max: 1e6 }).map((each) => each / 4),
  { nil: undefined },
);
const gpuSample = fc
  .record({
    utilizationPercent: value,
    memoryMiB: value,
    temperatureC: value,
    powerW: value,
    throttled: value,
  })
  .map((all) => Object.fromEntries(Object.entries(all).filter(([, each]) => each !== undefined)));
const name = fc.stringMatching(/^[\w.-]{1,40}$/);
const line = fc.stringMatching(/^[!-~]([ -~]{0,80}[!-~])?$/);
const at = fc.integer({ min: 0, max: 4e9 });

const sample = fc.record({
  kind: fc.constant('sample' as const),
  at,
  spanS: fc.integer({ min: 1, max: 900 }),
  gpus: fc.uniqueArray(fc.tuple(name, gpuSample), { selector: ([gpu]) => gpu }).map((all) => new Map(all)),
});
const kept = fc.record({
  kind: fc.constant('kept' as const),
  at,
  key: line,
  value: fc.oneof(line, fc.integer()),
});
const event = fc.record({
  kind: fc.constant('event' as const),
  at,
  event: fc.record(
    {
      kind: fc.constantFrom('driver' as const, 'run' as const),
      what: line,
      who: line,
      slot: name,
      run: fc.record(
        { id: name, failed: fc.boolean(), gpus: fc.array(name), job: line, durationS: fc.nat() },
        { requiredKeys: ['id', 'failed', 'gpus'] },
      ),
    },
    { requiredKeys: ['kind', 'what'] },
  ),
});

test('an entry is read as it was written', () => {
  fc.assert(
    fc.property(fc.oneof(sample, kept, event), (entry) => {
      const read = decode(encode(entry));
      expect(read).toEqual(entry);
    }),
  );
});

test('a part of a line is never an entry', () => {
  fc.assert(
    fc.property(fc.oneof(sample, kept, event), fc.nat(), (entry, cut) => {
      const text = encode(entry);
      expect(decode(text.slice(0, cut % text.length))).toBeUndefined();
    }),
  );
});

test('any text is an entry or none, and never an error', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        fc.json().map((json) => `{"t":1,"e":${json},"g":${json}}`),
      ),
      (text) => {
        expect(() => decode(text)).not.toThrow();
      },
    ),
  );
});

describe('hostile texts', () => {
  const long = `\u001b[31m${'é'.repeat(5000)}`;
  const gpus = Array.from({ length: 500 }, (_, index) => `GPU-${index}-${'x'.repeat(500)}`);
  const hostile: readonly Exclude<Entry, { kind: 'other' }>[] = [
    {
      kind: 'event',
      at: 1,
      event: {
        kind: 'run',
        what: long,
        who: long,
        slot: long,
        run: { id: long, job: long, result: long, cause: long, startedAt: long, failed: true, gpus },
      },
    },
    { kind: 'kept', at: 1, key: long, value: long },
    { kind: 'sample', at: 1, spanS: 60, gpus: new Map(gpus.map((gpu) => [gpu, { powerW: 1.23456 }])) },
  ];

  test.each(hostile)('are bounded and cleaned in a line: $kind', (entry) => {
    const text = encode(entry);
    expect(Buffer.byteLength(text)).toBeLessThan(readerBounds.historyLine.bytes);
    expect(text).not.toMatch(/\\u001b|\n/u);
    expect(decode(text)).toMatchObject({ kind: entry.kind });
  });

  test('are bounded and cleaned when another program wrote the line', () => {
    const text = JSON.stringify({ t: 1, e: { kind: 'driver', what: `a\u001b[31mb\n${'x'.repeat(2000)}` } });
    const read = decode(text);
    expect(read?.kind === 'event' && read.event.what).toMatch(/^ab x{100,298}…$/u);
  });
});
