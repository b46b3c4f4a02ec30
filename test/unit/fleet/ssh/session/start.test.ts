import fc from 'fast-check';
import { describe, expect, test, afterEach, beforeEach, vi } from 'vitest';

import {
  bootCommand,
  bootProgram,
  type BootRequest,
  scriptLine,
  markers,
  Preamble,
} from '../../../../../src/fleet/ssh/session/bootstrap.ts';
import { Limit } from '../../../../../src/fleet/ssh/session/start.ts';
import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { framesSuite } from './frames-cases.ts';
import { pipeSuite } from './pipe-cases.ts';
import { startSuite } from './start-cases.ts';

testSuite(startSuite);
testSuite(framesSuite);
testSuite(pipeSuite);

function boot(parts: Partial<BootRequest> = {}): BootRequest {
  return {
    nonce: 'n0',
    as: 'root',
    elevation: 'unknown',
    canAnswer: true,
    limitS: 70,
    input: false,
    ...parts,
  };
}

describe('the command of an exec', () => {
  test('has no characters that login shells interpret differently', () => {
    const command = bootCommand(boot());
    expect(command).toMatch(/^exec \/bin\/sh -c '[A-Za-z0-9+/=$()"| -]*'$/);
  });

  test('contains neither script nor password', () => {
    expect(bootCommand(boot())).toBe(bootCommand(boot()));
    expect(scriptLine('a\nb\n')).toBe('a\u0001b\u0001\n');
    expect(() => scriptLine('a\u0001b')).toThrow(TypeError);
  });

  test.each([
    ['the login user', { as: 'login' as const }, /^exec timeout -k 5 70 \/bin\/sh -c /],
    ['root', { elevation: 'none' as const }, /^exec timeout /m],
    ['sudo without a password', { elevation: 'free' as const }, /^exec sudo -n -H \/bin\/sh -c /m],
    [
      'sudo with one',
      { elevation: 'password' as const },
      /^exec sudo -S -H -p '@n0 password:' \/bin\/sh -c /m,
    ],
  ])('for %s', (_case, parts, expected) => {
    expect(bootProgram(boot(parts))).toMatch(expected);
  });

  test('requests no password prompt if there is no password', () => {
    expect(bootProgram(boot({ canAnswer: false }))).not.toContain('sudo -S');
  });
});

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

test('the ready line, the prompts and the output are found in any chunks', () => {
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

test('of endless noise the last part is kept, in any chunks', () => {
  const { preamble, mode } = pushed(Buffer.alloc(1024 * 1024, 'x'), 1);
  expect([mode, preamble.size, preamble.text.length]).toEqual([undefined, 1024 * 1024, 64 * 1024]);
});

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function limited() {
  const expire = vi.fn<() => void>();
  return { expire, limit: new Limit(1000, expire) };
}

test('it fires once, at its time, and each start begins again', () => {
  const { expire, limit } = limited();
  vi.advanceTimersByTime(5000);
  limit.start();
  vi.advanceTimersByTime(999);
  limit.start();
  vi.advanceTimersByTime(999);
  expect(expire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(5000);
  expect(expire).toHaveBeenCalledTimes(1);
});

test('it pauses while the user types, and then begins again', () => {
  const { expire, limit } = limited();
  limit.start();
  const resume = limit.pause();
  vi.advanceTimersByTime(60_000);
  resume();
  vi.advanceTimersByTime(999);
  expect(expire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(expire).toHaveBeenCalledTimes(1);
});

test('a stopped timer does not begin again, nor one that never ran', () => {
  const { expire, limit } = limited();
  limit.pause()();
  limit.start();
  const resume = limit.pause();
  limit.stop();
  resume();
  vi.advanceTimersByTime(60_000);
  expect(expire).not.toHaveBeenCalled();
});
