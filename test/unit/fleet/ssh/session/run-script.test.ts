// Scripts on a real sshd: what goes in, what comes out, and what ends them.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import type { ScriptOptions, Session } from '../../../../../src/fleet/ssh/transport.ts';
import { type OwnSshd, startOwnSshd } from '../../../../support/own-sshd.ts';
import { problemOf, testTransport, type TestTransport } from '../../../../support/transport.ts';

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
  test('has its own words, whatever characters they are of, and the same environment everywhere', async () => {
    const text = `printf '%s\\n' "it's" 'a\\b' "$LC_ALL" "$PWD" "$(umask)"; printf é; echo oops >&2; exit 3`;
    expect(await run(text)).toMatchObject({
      code: 3,
      stdout: "it's\na\\b\nC\n/\n0022\né",
      stderr: 'oops\n',
    });
  });

  test('may be long and write much; each line comes whole, and as it is written', async () => {
    const lines: string[] = [];
    const long = `${'# padding\n'.repeat(20_000)}seq 1 9000; echo ü >&2`;
    const result = await run(long, { onLine: (line) => lines.push(line) });
    expect(result.stdout).toHaveLength(43_893);
    expect(lines).toHaveLength(9_001);
    expect(lines).toContain('ü');
  });

  test('that writes more lines than anybody reads loses no output; of the lines the last is told', async () => {
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

  test('that writes without end is ended, and so is the connection', async () => {
    const other = await transport.connect(sshd.target());
    const problem = await problemOf(other.script('yes', { as: 'login' }));
    expect(problem).toMatchObject({ code: 'ssh.output-too-long', what: 'a script wrote more than 4 MiB' });
    await vi.waitUntil(() => other.closed.aborted);
  });

  test('has no input to wait for', async () => {
    expect(await run('cat; echo end')).toMatchObject({ code: 0, stdout: 'end\n' });
  });

  test('that a signal ends has 128 + n', async () => {
    expect((await run('kill -9 $$')).code).toBe(137);
  });

  test('that leaves something in the background ends all the same', async () => {
    const { stdout } = await run('sleep 30 & echo $!');
    expect(stdout).toMatch(/^\d+\n$/);
    await run(`kill ${stdout.trim()}`);
  });

  test('stands in no list of processes', async () => {
    const { stdout } = await run('secret=tell-tale-text; ps -eo args');
    expect(stdout).not.toContain('tell-tale-text');
  });
});

describe('what ends a script', () => {
  test.each([
    ['silence', 'echo a; sleep 60', { silenceTimeoutMs: 200 }, 'ssh.silence-timeout'],
    ['its time', 'while :; do echo x; sleep 0.05; done', { totalTimeoutMs: 300 }, 'ssh.script-timeout'],
  ])('%s; the session lives on', async (_, text, options, code) => {
    expect(await problemOf(run(text, options))).toMatchObject({ code, host: 'box' });
    expect((await run('echo alive')).stdout).toBe('alive\n');
  });

  test('the host itself, should we be gone: a little later than we would', async () => {
    const { stdout } = await run('ps -o args= -p $PPID', { totalTimeoutMs: 7000 });
    expect(stdout).toMatch(/^timeout -k 5 17 \/bin\/sh /);
  });

  test('a word of ours, before it begins or while it runs', async () => {
    expect((await problemOf(run('true', { signal: AbortSignal.abort() }))).code).toBe('interrupted');
    const stop = new AbortController();
    const running = run('echo begun; sleep 60', {
      signal: stop.signal,
      onLine: () => stop.abort(),
    });
    expect((await problemOf(running)).code).toBe('interrupted');
  });
});

test('more at once than sshd has sessions wait for each other', async () => {
  const narrow = await startOwnSshd({ config: ['MaxSessions 2'], plain: true });
  const other = await transport.connect(narrow.target({}, 'narrow'));
  const said = await Promise.all(
    Array.from({ length: 6 }, (_, index) => other.script(`echo ${index}`, { as: 'login' })),
  );
  expect(said.map(({ stdout }) => stdout)).toEqual(said.map((_, index) => `${index}\n`));
  await other.close();
  await narrow.stop();
});
