// `azp-fleet exec` on a real host, over ssh.
import { fstatSync, mkdirSync, readdirSync, readSync, type Stats, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest';

import { systemClock } from '../../../../src/shared/base/clock.ts';
import { Redactor } from '../../../../src/shared/base/redact.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import { startOwnSshd, type OwnSshd } from '../../../support/own-sshd.ts';
import { runCommand } from '../../../support/command.ts';
import { leftOnScreen } from '../../../support/screen.ts';
import { freePort } from '../../../support/ssh-port.ts';

/** Whether the disk of open files is full. */
const disk = vi.hoisted(() => ({ isFull: false }));
vi.mock('node:fs', async (original) => {
  const actual = await original<typeof import('node:fs')>();
  const writeFile: typeof actual.writeFileSync = (file, ...rest) => {
    if (disk.isFull && typeof file === 'number')
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    actual.writeFileSync(file, ...rest);
  };
  return { ...actual, writeFileSync: writeFile };
});

let sshd: OwnSshd;
beforeAll(async () => {
  const other = await freePort();
  sshd = await startOwnSshd({ config: [`ListenAddress 127.0.0.1:${other}`] });
  const host = (port: number) =>
    `{ address: 127.0.0.1, port: ${port}, user: ${sshd.user}, identityFile: ${sshd.clientKeyFile} }`;
  writeFileSync(
    join(sshd.folder, 'inventory.yaml'),
    `organization: https://dev.azure.com/example
token: { env: NONE }
defaults: { pool: gpu-lab, sshConfig: none }
hosts:
  h200-1: ${host(sshd.port)}
  h200-2: ${host(other)}
`,
  );
});
afterAll(() => sshd.stop());

test('a command that exceeds its limit is reported, and the host does not count as unreachable', async () => {
  let drawn = '';
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const ended = runCommand(['exec', 'h200-1', '--timeout', '5m', '--', 'echo half; exec sleep 600'], {
    cwd: sshd.folder,
    terminal: true,
    heard: (text) => void (drawn += text),
    clock: systemClock(1),
  });
  await expect.poll(() => drawn).toMatch(/h200-1 {2}half +\d+ s, at most 5 min/);
  vi.advanceTimersByTime(5 * 60_000);
  vi.useRealTimers();
  const { exitCode, stdout, stderr } = await ended;
  expect(exitCode).toBe(1);
  expect(stdout).toBe(`✗ h200-1: the command was stopped after 5m [exec.timeout]
  expected  an exit within --timeout
  seen      half
  next      run it again with a longer --timeout
`);
  expect(drawn).not.toMatch(/applying|unreachable|hung/);
  expect(leftOnScreen(stderr).join('')).not.toContain('unreachable');
});

describe('output of more than 1 MiB from a host', () => {
  let temporary: string;
  let go: string;
  let runs = 0;
  beforeEach(() => {
    temporary = join(sshd.folder, `tmp-${(runs += 1)}`);
    go = join(temporary, 'go');
    mkdirSync(temporary);
    vi.stubEnv('TMPDIR', temporary);
    for (const { fd } of namelessFiles()) known.add(fd);
  });
  afterEach(() => {
    disk.isFull = false;
    known.clear();
    vi.unstubAllEnvs();
  });

  /** Descriptors that were open before. */
  const known = new Set<number>();
  /** Returns the open files of this process that have no name. */
  function namelessFiles(): { fd: number; stat: Stats }[] {
    return Array.from({ length: 1024 }, (_, fd) => fd).flatMap((fd) => {
      try {
        const stat = fstatSync(fd);
        return stat.isFile() && stat.nlink === 0 && !known.has(fd) ? [{ fd, stat }] : [];
      } catch {
        return [];
      }
    });
  }
  function contentOf({ fd, stat }: { fd: number; stat: Stats }): string {
    const bytes = Buffer.alloc(stat.size);
    readSync(fd, bytes, 0, stat.size, 0);
    return bytes.toString();
  }
  /** Runs a command that then waits for the test on the host; `seen` gets the files while they are in use. */
  async function run(
    command: string,
    { bytes = 0, args = ['h200-1'], seen, ...place }: RunOptions,
  ): ReturnType<typeof runCommand> {
    const text = `${command}; while [ ! -e ${go} ]; do sleep 0.1; done`;
    const ended = runCommand(['exec', '--timeout', '10m', ...args, '--', text], {
      cwd: sshd.folder,
      ...place,
    });
    if (seen !== undefined) {
      const size = () => namelessFiles().reduce((sum, { stat }) => sum + stat.size, 0);
      const stored = vi.waitUntil(() => size() >= bytes, { timeout: 120_000 });
      await Promise.race([stored, ended.then(({ stderr }) => Promise.reject(new Error(stderr)))]);
      seen(namelessFiles());
    }
    writeFileSync(go, '');
    return ended;
  }
  type RunOptions = Partial<Parameters<typeof runCommand>[1]> & {
    /** Bytes to wait for in files. */
    readonly bytes?: number;
    readonly args?: readonly string[];
    readonly seen?: (files: ReturnType<typeof namelessFiles>) => void;
  };
  const much = 'head -c 3000000 /dev/zero | tr "\\0" x';

  test('is kept in a file without a name that only this user can open, and is printed whole', async () => {
    const { exitCode, stdout } = await run(`${much}; echo; echo end >&2`, {
      bytes: 3_000_001,
      seen: (files) => {
        expect(readdirSync(temporary)).toEqual([]);
        for (const { stat } of files) expect(stat.mode & 0o777).toBe(0o600);
      },
    });
    expect(exitCode).toBe(0);
    expect(stdout === `── h200-1\n${'x'.repeat(3_000_000)}\nend\n`).toBe(true);
  });

  test('of both streams together counts; 1 MiB stays in memory', async () => {
    const half = 'head -c 524288 /dev/zero | tr "\\0" y';
    const { stdout } = await run(`${half}; ${half} >&2; echo . >&2; echo`, {
      bytes: 1_048_577,
      seen: (files) => expect(files).toHaveLength(2),
    });
    expect(stdout).toHaveLength('── h200-1\n'.length + 1_048_576 + '\n.\n'.length);
    known.clear();
    for (const { fd } of namelessFiles()) known.add(fd);
    await run(`${half}; ${half} >&2; : > ${go}`, {});
    expect(namelessFiles()).toEqual([]);
  });

  test.each(['text', 'json'])('has no secret, in the file and as %s', async (form) => {
    const redactor = new Redactor();
    // Its 24 bytes, with the line feed, fit neither a chunk nor the limit of memory.
    redactor.add(new Secret('the-hidden-token-123456'));
    const rest = form === 'json' ? ['--json'] : [];
    const { stdout } = await run('yes the-hidden-token-123456 | sed 100000q; printf the-hidden-', {
      redactor,
      args: ['h200-1', ...rest],
      bytes: 400_000,
      seen: (files) => {
        for (const file of files) expect(contentOf(file)).not.toMatch(/hidden|token/);
      },
    });
    const stars = `${'***\n'.repeat(100_000)}the-hidden-`;
    if (form === 'text') expect(stdout === `── h200-1\n${stars}\n`).toBe(true);
    else
      expect(JSON.parse(stdout)).toMatchObject({
        exitCode: 0,
        hosts: [{ host: 'h200-1', result: { code: 0, stdout: stars, stderr: '' } }],
      });
  });

  test('is shown once for hosts with equal output, and each whole in the document', async () => {
    writeFileSync(go, '');
    const { stdout } = await run(`yes 'a "é" b' | sed 150000q`, { args: [] });
    const [heading, ...lines] = stdout.split('\n');
    expect(heading).toMatch(/^── 2 hosts: h200-/);
    expect([lines.length, [...new Set(lines)]]).toEqual([150_001, ['a "é" b', '']]);
    const { hosts } = JSON.parse((await run(`${much}; exit 3`, { args: ['--json'] })).stdout) as {
      hosts: readonly { readonly result: object }[];
    };
    expect(hosts.map(({ result }) => result)).toMatchObject(
      Array.from({ length: 2 }, () => ({ code: 3, stdout: 'x'.repeat(3_000_000), stderr: '' })),
    );
  });

  test('cannot control a terminal', async () => {
    const { stdout } = await run(`yes "$(printf 'red \\033[31m\\033]0;title\\007 text')" | sed 60000q`, {
      terminal: true,
    });
    const [, ...lines] = stdout.split('\n');
    expect([lines.length, [...new Set(lines)]]).toEqual([60_001, ['red  text', '']]);
  });

  test('ends the command of that host if the disk is full, and names the folder', async () => {
    disk.isFull = true;
    writeFileSync(go, '');
    const { exitCode, stdout } = await run(
      `[ -e ${temporary}/first ] || { : > ${temporary}/first; ${much}; }`,
      {
        args: ['--parallel', '1'],
      },
    );
    expect(exitCode).toBe(1);
    expect(stdout.replaceAll(/\s+/g, ' ')).toBe(
      `── h200-2 ✗ h200-1: the output of the command cannot be stored in a temporary file [exec.output-file] seen ENOSPC: no space left on device, write next free disk space in ${temporary}, or set TMPDIR to another folder `,
    );
    expect(namelessFiles()).toEqual([]);
  });

  test('ends the command of that host if no file can be created', async () => {
    vi.stubEnv('TMPDIR', join(temporary, 'nowhere'));
    const { exitCode, stdout } = await run(much, {});
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/\[exec\.output-file\]\n {2}seen {6}ENOENT: /);
  });

  test('leaves no file after Ctrl-C', async () => {
    const stop = new AbortController();
    const { exitCode } = await run(much, {
      signal: stop.signal,
      bytes: 3_000_000,
      seen: () => stop.abort(),
    });
    expect(exitCode).toBe(130);
    expect(namelessFiles()).toEqual([]);
    expect(readdirSync(temporary)).toEqual(['go']);
  });
});
