// What a host writes, as it comes: in chunks of the host's choice, and without end where it likes.
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';

import { Output } from '../../../../../src/fleet/ssh/session/output.ts';

afterEach(() => vi.restoreAllMocks());

const megabyte = 1024 * 1024;

function output(limit = 64 * megabyte) {
  const lines: string[] = [];
  const overflow = vi.fn<() => void>();
  return {
    lines,
    overflow,
    out: new Output({ limit, onLine: (line) => lines.push(line), onOverflow: overflow }),
  };
}

test('however it is cut, it is the same text and the same lines', () => {
  const text = fc
    .array(fc.constantFrom('a', 'é', '漢', '🙂', '\n', '\r\n', ' '))
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(text, fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 }), (said, sizes) => {
      const { out, lines } = output();
      const bytes = Buffer.from(said);
      for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
        const size = sizes[turn % sizes.length] ?? 1;
        out.push(bytes.subarray(at, at + size));
        at += size;
      }
      expect(out.end()).toBe(said);
      const told = said.split('\n');
      expect(lines).toEqual(told.at(-1) === '' ? told.slice(0, -1) : told);
    }),
  );
});

test('a line without an end, byte by byte, costs as much memory as one at once', () => {
  const room = vi.spyOn(Buffer, 'allocUnsafe');
  const { out, lines } = output();
  const byte = Buffer.from('x');
  for (let count = 0; count < 3 * megabyte; count += 1) out.push(byte);
  expect(out.end()).toHaveLength(3 * megabyte);
  const reserved = room.mock.calls.reduce((sum, [size]) => sum + size, 0);
  expect(reserved).toBeLessThan(4 * 3 * megabyte);
  expect(room.mock.calls.length).toBeLessThan(30);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(megabyte + 1);
  expect(lines.join('')).toHaveLength(3 * megabyte);
});

test('what is more than its limit is told once, and nothing after it is kept or told', () => {
  const { out, lines, overflow } = output(10);
  for (let count = 0; count < 100; count += 1) out.push(Buffer.from('1234\n'));
  expect(overflow).toHaveBeenCalledTimes(1);
  expect(lines).toEqual(['1234', '1234']);
  expect(out.end()).toBe('1234\n1234\n');
});

test('of lines without an end the last of each chunk is told, and all are kept', () => {
  const { out, lines } = output();
  const chunk = `${Array.from({ length: 999 }, (_, index) => `line ${index}`).join('\n')}\ncut`;
  for (let count = 0; count < 100; count += 1) out.push(Buffer.from(chunk));
  expect(out.end()).toBe(chunk.repeat(100));
  expect(lines.slice(0, 3)).toEqual(['line 0', 'line 1', 'line 2']);
  expect(lines.slice(-2)).toEqual(['line 998', 'cut']);
  expect(lines.length).toBeLessThan(12_000);
});

test('what is only passed on is not kept', () => {
  const seen: Buffer[] = [];
  const room = vi.spyOn(Buffer, 'allocUnsafe');
  const out = new Output({
    limit: megabyte,
    onLine: () => undefined,
    onOverflow: () => undefined,
    tap: (chunk) => seen.push(chunk),
  });
  out.push(Buffer.from('abc'));
  expect([out.end(), seen.length, room.mock.calls.length]).toEqual(['', 1, 0]);
});
