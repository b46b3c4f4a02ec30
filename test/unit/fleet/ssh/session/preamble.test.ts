import fc from 'fast-check';
import { expect, test } from 'vitest';

import { markers } from '../../../../../src/fleet/ssh/session/bootstrap.ts';
import { Preamble } from '../../../../../src/fleet/ssh/session/preamble.ts';

const nonce = '0123456789abcdef01234567';

function pushed(bytes: Buffer, size: number) {
  const preamble = new Preamble(nonce);
  for (let at = 0; at < bytes.length; at += size) {
    const ready = preamble.push(bytes.subarray(at, at + size));
    if (ready !== undefined)
      return { preamble, mode: ready.mode, rest: Buffer.concat([ready.rest, bytes.subarray(at + size)]) };
  }
  return { preamble, mode: undefined, rest: Buffer.alloc(0) };
}

test('the ready line, the prompts and what follows are found however they are cut', () => {
  const noise = fc.string({
    unit: fc.constantFrom('@', 'ready', ' ', '\n', 'é', 'password:'),
    maxLength: 12,
  });
  fc.assert(
    fc.property(
      noise,
      fc.integer({ min: 0, max: 2 }),
      noise,
      fc.integer({ min: 1, max: 40 }),
      (before, prompts, after, size) => {
        const text = `${before}|${markers.prompt(nonce).repeat(prompts)}${markers.ready(nonce)} sudo\n${after}`;
        const found = pushed(Buffer.from(text), size);
        expect([found.mode, found.rest.toString(), found.preamble.prompts]).toEqual(['sudo', after, prompts]);
      },
    ),
  );
});

test('of noise without end the last part is kept, byte by byte, too', () => {
  const { preamble, mode } = pushed(Buffer.alloc(1024 * 1024, 'x'), 1);
  expect([mode, preamble.size, preamble.text.length]).toEqual([undefined, 1024 * 1024, 64 * 1024]);
});
