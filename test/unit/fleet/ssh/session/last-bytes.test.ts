// The end of what a change prints, which comes in chunks of the host's choice.
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';

import { LastBytes } from '../../../../../src/fleet/ssh/session/last-bytes.ts';

afterEach(() => vi.restoreAllMocks());

const byte = fc.integer({ min: 0, max: 255 });
const chunks = fc.array(fc.array(byte, { maxLength: 12 }).map((bytes) => Buffer.from(bytes)));

test('however it is cut, it is the end of the whole', () => {
  fc.assert(
    fc.property(chunks, fc.integer({ min: 1, max: 9 }), (parts, limit) => {
      const last = new LastBytes(limit);
      for (const part of parts) last.push(Buffer.from(part.map((each) => each % 128)));
      const whole = Buffer.concat(parts).map((each) => each % 128);
      expect(last.toString()).toBe(Buffer.from(whole.subarray(-limit)).toString());
    }),
  );
});

test('what is taken back was never there, as far as there is room to know', () => {
  const ascii = fc.array(fc.stringMatching(/^[a-z]{0,9}$/), { minLength: 1 });
  fc.assert(
    fc.property(ascii, fc.nat(12), fc.stringMatching(/^[a-z]{0,9}$/), (parts, gone, more) => {
      const last = new LastBytes(8);
      for (const part of parts) last.push(Buffer.from(part));
      const whole = parts.join('');
      last.drop(gone);
      const left = whole.slice(-8).slice(0, -gone || undefined);
      expect(last.toString()).toBe(left);
      last.push(Buffer.from(more));
      expect(last.toString()).toBe((left + more).slice(-8));
    }),
  );
});

test('a character that has lost its beginning is left out', () => {
  const last = new LastBytes(5);
  last.push(Buffer.from('🙂é€'));
  expect(last.toString()).toBe('é€');
  last.push(Buffer.from('x'));
  expect(last.toString()).toBe('€x');
});

test('bytes that are no text from the start are told as such', () => {
  const last = new LastBytes(5);
  last.push(Buffer.from([0x80, 0x61]));
  expect(last.toString()).toBe('�a');
});

test('a megabyte, byte by byte, is copied once, and nothing is reserved for it', () => {
  const last = new LastBytes(16_384);
  const room = [vi.spyOn(Buffer, 'alloc'), vi.spyOn(Buffer, 'allocUnsafe'), vi.spyOn(Buffer, 'concat')];
  const one = Buffer.from('x');
  let copied = 0;
  const copy = one.copy.bind(one);
  one.copy = (...parts) => {
    const bytes = copy(...parts);
    copied += bytes;
    return bytes;
  };
  const megabyte = 1024 * 1024;
  for (let count = 0; count < megabyte; count += 1) last.push(one);
  expect(copied).toBe(megabyte);
  expect(room.map(({ mock }) => mock.calls.length)).toEqual([0, 0, 0]);
  expect(last.toString()).toBe('x'.repeat(16_384));
});
