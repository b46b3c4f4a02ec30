// Hosts that let a program begin and then say nothing: every wait has an end, and a person can end it at once.
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { systemClock } from '../../../../../src/shared/base/machine/clock.ts';
import { Prompter } from '../../../../../src/fleet/ssh/ask.ts';
import type { ConnectionOptions } from '../../../../../src/fleet/ssh/config/connection-options.ts';
import { takeLock } from '../../../../../src/fleet/ssh/session/lock.ts';
import { runScript } from '../../../../../src/fleet/ssh/session/run-script.ts';
import { Sudo } from '../../../../../src/fleet/ssh/session/sudo.ts';
import type { Wire, WireProcess } from '../../../../../src/fleet/ssh/wire/wire.ts';
import { problemOf } from '../../../../support/transport.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** How far it goes: it opens no channel, it opens one, it says that it is ready, and that the lock is ours. */
type Comes = 'nowhere' | 'to a channel' | 'to the script' | 'to the lock';

function host(comes: Comes) {
  const kill = vi.fn<() => void>();
  const open = (command: string): WireProcess => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const program = Buffer.from(/echo (\S+) \|/.exec(command)?.[1] ?? '', 'base64').toString();
    const nonce = /@([0-9a-f]{24}) ready/.exec(program)?.[1] ?? '';
    if (comes !== 'to a channel') for (const stream of [stdout, stderr]) stream.write(`@${nonce} ready \n`);
    if (comes === 'to the lock') stdout.write('locked\n');
    return { stdin, stdout, stderr, ended: new Promise(() => undefined), kill };
  };
  const wire: Wire = {
    exec: (command) => (comes === 'nowhere' ? new Promise(() => undefined) : Promise.resolve(open(command))),
    openSocket: () => Promise.reject(new Error('no sockets here')),
    channels: 8,
    cut: () => undefined,
    closed: new AbortController().signal,
    close: () => Promise.resolve(),
  };
  const nobody = new Prompter({
    question: undefined,
    resolve: () => Promise.reject(new Error('no secrets')),
  });
  const sudo = new Sudo({ name: 'box', typed: 'box', user: 'root' } as ConnectionOptions, undefined, nobody);
  return { kill, parts: { wire, sudo, host: 'box', clock: systemClock(1) } };
}

const request = {
  owner: { who: 'ann@laptop', command: 'azp-fleet provision', since: '' },
  id: 'mine',
  way: 'first',
} as const;

describe('a lock', () => {
  test.each([
    ['nowhere', 30_000, 'ssh.start-timeout', undefined],
    ['to a channel', 30_000, 'ssh.start-timeout', undefined],
    ['to the script', 25_000, 'ssh.lock-failed', 'no answer within 25 s'],
  ] as const)('on a host that comes %s', async (comes, ms, code, seen) => {
    const { parts, kill } = host(comes);
    const waiting = problemOf(takeLock(parts, request));
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(kill).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(await waiting).toMatchObject({ code, host: 'box' });
    expect((await waiting).seen).toBe(seen);
    expect(kill).toHaveBeenCalledTimes(comes === 'nowhere' ? 0 : 1);
  });

  test.each(['nowhere', 'to a channel', 'to the script'] as const)(
    'on a host that comes %s is given up at once when somebody says so',
    async (comes) => {
      const stop = new AbortController();
      const waiting = problemOf(takeLock(host(comes).parts, { ...request, signal: stop.signal }));
      await vi.advanceTimersByTimeAsync(1);
      stop.abort();
      expect((await waiting).code).toBe('interrupted');
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  test('is let go in bounded time, and a word of ours does not end one that is held', async () => {
    const { parts, kill } = host('to the lock');
    const stop = new AbortController();
    const lock = await takeLock(parts, { ...request, signal: stop.signal });
    stop.abort();
    expect(kill).not.toHaveBeenCalled();
    const released = lock.release();
    await vi.advanceTimersByTimeAsync(5000);
    await released;
    expect(kill).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test.each([
  ['nowhere', 30_000, 'ssh.start-timeout'],
  ['to a channel', 30_000, 'ssh.start-timeout'],
  ['to the script', 60_000, 'ssh.script-timeout'],
] as const)('a script on a host that comes %s ends, too', async (comes, ms, code) => {
  const waiting = problemOf(runScript({ ...host(comes).parts, text: 'true', options: {} }));
  await vi.advanceTimersByTimeAsync(ms);
  expect((await waiting).code).toBe(code);
  expect(vi.getTimerCount()).toBe(0);
});
