import { PassThrough } from 'node:stream';

import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi, afterEach, beforeEach } from 'vitest';

import type { ConnectionOptions } from '../../../../../src/fleet/ssh/config/options.ts';
import { Prompter } from '../../../../../src/fleet/ssh/questions.ts';
import { takeLock } from '../../../../../src/fleet/ssh/session/lock.ts';
import { Output, runScript } from '../../../../../src/fleet/ssh/session/run-script.ts';
import { Sudo } from '../../../../../src/fleet/ssh/session/sudo.ts';
import type { ScriptOptions, Session } from '../../../../../src/fleet/ssh/transport.ts';
import type { Wire, WireProcess } from '../../../../../src/fleet/ssh/wire/wire.ts';
import { systemClock } from '../../../../../src/shared/base/clock.ts';
import { type OwnSshd, startOwnSshd } from '../../../../support/own-sshd.ts';
import { problemOf, testTransport, type TestTransport } from '../../../../support/transport.ts';

// Scripts on a real sshd: what goes in, what comes out, and what ends them.

let sshd: OwnSshd;
let transport: TestTransport;
let session: Session;
beforeAll(async () => {
  sshd = await startOwnSshd({ plain: true });
  transport = testTransport();
  session = await transport.connect(sshd.target());
});
afterAll(async () => {
  // First, while what still runs there is below it.
  await sshd.stop();
  await transport.close();
});

const run = (text: string, options: ScriptOptions = {}) => session.script(text, { as: 'login', ...options });

describe('a script', () => {
  test('gets its arguments with any characters, and the same environment on every host', async () => {
    const text = `printf '%s\\n' "it's" 'a\\b' "$LC_ALL" "$PWD" "$(umask)"; printf é; echo oops >&2; exit 3`;
    expect(await run(text)).toMatchObject({
      code: 3,
      stdout: "it's\na\\b\nC\n/\n0022\né",
      stderr: 'oops\n',
    });
  });

  test('may be long and write much; each line is passed on complete, when it is written', async () => {
    const lines: string[] = [];
    const long = `${'# padding\n'.repeat(20_000)}seq 1 9000; echo ü >&2`;
    const result = await run(long, { onLine: (line) => lines.push(line) });
    expect(result.stdout).toHaveLength(43_893);
    expect(lines).toHaveLength(9_001);
    expect(lines).toContain('ü');
  });

  test('that writes very many lines loses no output; only the last lines are reported', async () => {
    const lines: string[] = [];
    const result = await run('seq 1 100000', { onLine: (line) => lines.push(line) });
    expect(result.stdout).toHaveLength(588_895);
    expect(lines.length).toBeLessThan(100_000);
    expect(lines.slice(0, 10_000)).toEqual(Array.from({ length: 10_000 }, (_, index) => String(index + 1)));
    expect(lines.at(-1)).toBe('100000');
  });

  test('of 32 MiB of output loses none of it', async () => {
    const { stdout } = await run('head -c 33554432 /dev/zero | tr "\\0" x', {
      outputLimit: 64 * 1024 * 1024,
    });
    expect(stdout).toHaveLength(32 * 1024 * 1024);
  });

  test('that writes endlessly is stopped, and the connection closed', async () => {
    const other = await transport.connect(sshd.target());
    const problem = await problemOf(other.script('yes', { as: 'login' }));
    expect(problem).toMatchObject({ code: 'ssh.output-too-long', what: 'a script wrote more than 4 MiB' });
    await vi.waitUntil(() => other.closed.aborted, { timeout: 120_000 });
  });

  test('has no input to wait for', async () => {
    expect(await run('cat; echo end')).toMatchObject({ code: 0, stdout: 'end\n' });
  });

  test('that is killed by a signal exits with 128 + n', async () => {
    expect((await run('kill -9 $$')).code).toBe(137);
  });

  test('that leaves a background process still ends', async () => {
    const { stdout } = await run('sleep 30 & echo $!');
    expect(stdout).toMatch(/^\d+\n$/);
    await run(`kill ${stdout.trim()}`);
  });

  test('is not in the list of processes', async () => {
    const { stdout } = await run('secret=tell-tale-text; ps -eo args');
    expect(stdout).not.toContain('tell-tale-text');
  });
});

describe('a script is stopped by', () => {
  test.each([
    ['silence', 'echo a; sleep 60', { silenceTimeoutMs: 200 }, 'ssh.silence-timeout'],
    ['its time', 'while :; do echo x; sleep 0.05; done', { totalTimeoutMs: 300 }, 'ssh.script-timeout'],
  ])('%s; the session stays open', async (_, text, options, code) => {
    expect(await problemOf(run(text, options))).toMatchObject({ code, host: 'box' });
    expect((await run('echo alive')).stdout).toBe('alive\n');
  });

  test('the host itself if we are gone, a little later', async () => {
    const { stdout } = await run('ps -o args= -p $PPID', { totalTimeoutMs: 7000 });
    expect(stdout).toMatch(/^timeout -k 5 17 \/bin\/sh /);
  });

  test('an abort, before it begins or while it runs', async () => {
    expect((await problemOf(run('true', { signal: AbortSignal.abort() }))).code).toBe('interrupted');
    const stop = new AbortController();
    const running = run('echo begun; sleep 60', {
      signal: stop.signal,
      onLine: () => stop.abort(),
    });
    expect((await problemOf(running)).code).toBe('interrupted');
  });
});

test('more scripts than sshd has sessions wait for each other', async () => {
  const narrow = await startOwnSshd({ config: ['MaxSessions 2'], plain: true });
  const other = await transport.connect(narrow.target({}, 'narrow'));
  const said = await Promise.all(
    Array.from({ length: 6 }, (_, index) => other.script(`echo ${index}`, { as: 'login' })),
  );
  expect(said.map(({ stdout }) => stdout)).toEqual(said.map((_, index) => `${index}\n`));
  await other.close();
  await narrow.stop();
});

// What a host writes, as it comes: in chunks of the host's choice, and without end where it likes.

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

test('any chunks give the same text and the same lines', () => {
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
      const expected = said.split('\n');
      expect(lines).toEqual(expected.at(-1) === '' ? expected.slice(0, -1) : expected);
    }),
  );
});

test('an endless line byte by byte needs as much memory as in one chunk', () => {
  const allocation = vi.spyOn(Buffer, 'allocUnsafe');
  const { out, lines } = output();
  const byte = Buffer.from('x');
  for (let count = 0; count < 3 * megabyte; count += 1) out.push(byte);
  expect(out.end()).toHaveLength(3 * megabyte);
  const reserved = allocation.mock.calls.reduce((sum, [size]) => sum + size, 0);
  expect(reserved).toBeLessThan(4 * 3 * megabyte);
  expect(allocation.mock.calls.length).toBeLessThan(30);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(megabyte + 1);
  expect(lines.join('')).toHaveLength(3 * megabyte);
});

test('output beyond its limit is reported once, and not kept', () => {
  const { out, lines, overflow } = output(10);
  for (let count = 0; count < 100; count += 1) out.push(Buffer.from('1234\n'));
  expect(overflow).toHaveBeenCalledTimes(1);
  expect(lines).toEqual(['1234', '1234']);
  expect(out.end()).toBe('1234\n1234\n');
});

test('of endless lines the last of each chunk is reported, and all are kept', () => {
  const { out, lines } = output();
  const chunk = `${Array.from({ length: 999 }, (_, index) => `line ${index}`).join('\n')}\ncut`;
  for (let count = 0; count < 100; count += 1) out.push(Buffer.from(chunk));
  expect(out.end()).toBe(chunk.repeat(100));
  expect(lines.slice(0, 3)).toEqual(['line 0', 'line 1', 'line 2']);
  expect(lines.slice(-2)).toEqual(['line 998', 'cut']);
  expect(lines.length).toBeLessThan(12_000);
});

test('output that is only passed on is not kept', () => {
  const seen: Buffer[] = [];
  const allocation = vi.spyOn(Buffer, 'allocUnsafe');
  const out = new Output({
    limit: megabyte,
    onLine: () => undefined,
    onOverflow: () => undefined,
    tap: (chunk) => seen.push(chunk),
  });
  out.push(Buffer.from('abc'));
  expect([out.end(), seen.length, allocation.mock.calls.length]).toEqual(['', 1, 0]);
});

// Every wait has an end, and a person can end it at once.
describe('a host that starts a program and then sends nothing', () => {
  const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const;
  beforeEach(() => void vi.useFakeTimers({ toFake: [...toFake] }));
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
      exec: (command) =>
        comes === 'nowhere' ? new Promise(() => undefined) : Promise.resolve(open(command)),
      openSocket: () => Promise.reject(new Error('no sockets here')),
      channels: 8,
      cut: () => undefined,
      closed: new AbortController().signal,
      close: () => Promise.resolve(),
    };
    const prompter = new Prompter({
      question: undefined,
      resolve: () => Promise.reject(new Error('no secrets')),
    });
    const sudo = new Sudo(
      { name: 'box', typed: 'box', user: 'root' } as ConnectionOptions,
      undefined,
      prompter,
    );
    return { kill, parts: { wire, sudo, host: 'box', clock: systemClock(1) } };
  }

  const request = {
    owner: { who: 'ann@laptop', command: 'azp-fleet provision', since: '' },
    id: 'mine',
    way: 'first',
  } as const;

  describe('a lock', () => {
    test.each([
      ['nowhere', 60_000, 'ssh.start-timeout', undefined],
      ['to a channel', 60_000, 'ssh.start-timeout', undefined],
      ['to the script', 25_000, 'ssh.lock-failed', 'no answer within 25 s'],
    ] as const)('on a host that gets %s', async (comes, ms, code, seen) => {
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
      'on a host that gets %s is given up at once after an abort',
      async (comes) => {
        const stop = new AbortController();
        const waiting = problemOf(takeLock(host(comes).parts, { ...request, signal: stop.signal }));
        await vi.advanceTimersByTimeAsync(1);
        stop.abort();
        expect((await waiting).code).toBe('interrupted');
        expect(vi.getTimerCount()).toBe(0);
      },
    );

    test('is released in bounded time, and an abort does not release a held lock', async () => {
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
    ['nowhere', 60_000, 'ssh.start-timeout'],
    ['to a channel', 60_000, 'ssh.start-timeout'],
    ['to the script', 60_000, 'ssh.script-timeout'],
  ] as const)('a script on a host that gets %s ends', async (comes, ms, code) => {
    const waiting = problemOf(runScript({ ...host(comes).parts, text: 'true', options: {} }));
    await vi.advanceTimersByTimeAsync(ms);
    expect((await waiting).code).toBe(code);
    expect(vi.getTimerCount()).toBe(0);
  });
});
