import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { createServer, request } from 'node:http';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { SshSpec } from '../../src/fleet/inventory/fleet.ts';
import { frameScript, parseFrames } from '../../src/fleet/ssh/session/frames.ts';
import type { Session } from '../../src/fleet/ssh/transport.ts';
import { type Sshd, startSshd } from '../support/sshd.ts';
import { problemOf, sshSpec, type TestTransport, testTransport } from '../support/transport.ts';

// A real sshd and a real sudo on loopback, with users of every kind in a mount namespace.
const password = "it's a 'secret'";
const all = 'ALL=(ALL) NOPASSWD: ALL';
let sshd: Sshd;
let transport: TestTransport;
beforeAll(async () => {
  sshd = await startSshd({
    users: [
      { name: 'free', sudo: all },
      { name: 'pass', sudo: 'ALL=(ALL) ALL', password },
      { name: 'cached', sudo: 'ALL=(ALL) ALL', password },
      { name: 'outsider', password },
      { name: 'tty', sudo: all },
      { name: 'noisy', sudo: all, rc: 'echo "Welcome!"; echo "a warning" >&2; PS1="password:"; alias ls=rm' },
      { name: 'csh', sudo: all, shell: '/bin/tcsh', rc: 'echo "hello from csh"' },
      { name: 'fish', sudo: all, shell: '/usr/bin/fish', rc: 'echo "hello from fish"' },
      { name: 'zsh', sudo: all, shell: '/bin/zsh' },
      { name: 'dash', sudo: all, shell: '/bin/sh' },
      { name: 'nologin', shell: '/usr/sbin/nologin' },
    ],
    sudoers: [
      'Defaults:tty requiretty',
      'Defaults:pass timestamp_timeout=0',
      'Defaults:cached timestamp_type=global',
      'Defaults lecture=always',
    ],
    config: ['Banner /etc/os-release', 'AcceptEnv LC_*'],
  });
  transport = testTransport();
});
afterAll(async () => {
  await transport.close();
  sshd.stop();
});

function connect(user: string, spec: Partial<SshSpec> = {}, via = transport): Promise<Session> {
  const ssh = { address: '127.0.0.1', port: sshd.port, user, identityFile: sshd.clientKeyFile, ...spec };
  return via.connect({ name: user, ssh: sshSpec(ssh) });
}

async function root(user: string, spec: Partial<SshSpec> = {}, via = transport): Promise<string> {
  const session = await connect(user, spec, via);
  const { stdout } = await session.script('id -un');
  await session.close();
  return stdout;
}

describe('sudo', () => {
  test('is not used by root', async () => {
    expect(await root('root')).toBe('root\n');
  });

  test('without a password', async () => {
    expect(await root('free')).toBe('root\n');
  });

  test('with a password by reference, at every script', async () => {
    const session = await connect('pass', { sudoPassword: { env: password } });
    expect((await session.script('id -un')).stdout).toBe('root\n');
    expect((await session.script('id -un; cat')).stdout).toBe('root\n');
    await session.close();
  });

  test('with a password asked once for the fleet', async () => {
    const asking = testTransport({ answer: () => password });
    expect(await Promise.all([root('pass', {}, asking), root('pass', {}, asking)])).toEqual([
      'root\n',
      'root\n',
    ]);
    expect(asking.questions).toHaveLength(1);
    await asking.close();
  });

  test('never gets the password where it asks for none: nothing is run or printed of it', async () => {
    const session = await connect('free', { sudoPassword: { env: 'touch /tmp/should-not-exist' } });
    const result = await session.script('cat; echo end');
    expect(result).toMatchObject({ stdout: 'end\n', stderr: '' });
    expect(existsSync('/tmp/should-not-exist')).toBe(false);
    await session.close();
  });

  test('never gets the password while an earlier one still counts', async () => {
    const session = await connect('cached', { sudoPassword: { env: password } });
    // The second script asks sudo for its prompt and meets none; what it reads must not be the password.
    expect((await session.script('id -un; cat')).stdout).toBe('root\n');
    expect((await session.script('id -un; cat')).stdout).toBe('root\n');
    await session.close();
    const without = await connect('cached');
    expect((await without.script('id -un; cat')).stdout).toBe('root\n');
    await without.close();
  });

  test.each([
    ['the password is wrong', 'pass', { sudoPassword: { env: 'wrong' } }, 'ssh.sudo-wrong-password'],
    ['a password is needed without a terminal', 'pass', {}, 'ssh.sudo-password-needed'],
    ['the user is not in sudoers', 'outsider', { sudoPassword: { env: password } }, 'ssh.not-in-sudoers'],
    ['a terminal is required', 'tty', {}, 'ssh.sudo-tty'],
    ['the login shell is none', 'nologin', {}, 'ssh.no-shell'],
  ])('%s: a separate error', async (_case, user, spec, code) => {
    const session = await connect(user, spec);
    const problem = await problemOf(session.script('id -un'));
    expect(problem).toMatchObject({ code, host: user });
    expect(problem.next).toBeTruthy();
    await session.close();
  });

  test('leaves no password and no script in the process list', async () => {
    const session = await connect('pass', { sudoPassword: { env: password } });
    const { stdout } = await session.script('secret=tell-tale-text; ps -eo args');
    expect(stdout).not.toContain('tell-tale-text');
    expect(stdout).not.toContain(password);
    await session.close();
  });
});

describe('a script', () => {
  const script = `printf '%s\\n' "it's" 'a\\b' "$LC_ALL" "$PATH" "$PWD" "$(umask)"; printf é; echo oops >&2; exit 3`;
  const expected = {
    code: 3,
    stdout: "it's\na\\b\nC\n/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n/\n0022\né",
    stderr: 'oops\n',
  };

  test.each(['root', 'free', 'noisy', 'csh', 'fish', 'zsh', 'dash'])('is the same for %s', async (user) => {
    const session = await connect(user);
    expect(await session.script(script)).toMatchObject(expected);
    expect((await session.script('id -un', { as: 'login' })).stdout).toBe(`${user}\n`);
    await session.close();
  });

  test('may be long and write much; each line comes as it is written', async () => {
    const session = await connect('free');
    const lines: string[] = [];
    const long = `${'# padding\n'.repeat(20_000)}seq 1 9000; echo ü >&2`;
    const result = await session.script(long, { onLine: (line) => lines.push(line) });
    expect(result.stdout).toHaveLength(43_893);
    expect(lines).toHaveLength(9_001);
    expect(lines).toContain('ü');
    await session.close();
  });

  test('that a signal ends has 128 + n', async () => {
    const session = await connect('root');
    expect((await session.script('kill -9 $$')).code).toBe(137);
    await session.close();
  });

  test('that leaves something in the background ends all the same', async () => {
    const session = await connect('free');
    expect(await session.script('sleep 30 & echo done')).toMatchObject({ code: 0, stdout: 'done\n' });
    await session.close();
  });

  test('is stopped when it is silent, when it takes too long, and on request; the session lives on', async () => {
    const session = await connect('free');
    const silent = problemOf(session.script('echo a; sleep 30', { silenceTimeoutMs: 300 }));
    const late = problemOf(session.script('while :; do echo x; sleep 0.1; done', { totalTimeoutMs: 600 }));
    const stop = new AbortController();
    const stopped = problemOf(session.script('sleep 30', { signal: stop.signal }));
    stop.abort();
    expect((await silent).code).toBe('ssh.silence-timeout');
    expect((await late).code).toBe('ssh.script-timeout');
    expect((await stopped).code).toBe('interrupted');
    expect((await session.script('echo alive')).stdout).toBe('alive\n');
    await session.close();
  });

  test('of many probes gives each its own exit code, output, duration and time limit', async () => {
    const session = await connect('free');
    const probes = [
      { name: 'well', script: 'echo out; echo err >&2; printf "no newline"' },
      { name: 'fails', script: 'exit 7' },
      { name: 'syntax', script: 'if then' },
      { name: 'hangs', script: 'trap "" TERM; echo begun; sleep 30', timeoutS: 1 },
      { name: 'after', script: 'cat; echo still here' },
    ];
    const leftovers = async () => (await session.script('ls -d /run/azp-fleet-facts.* 2>/dev/null')).stdout;
    const before = await leftovers();
    const frames = parseFrames((await session.script(frameScript(probes, 1_000_000))).stdout);
    expect([...frames.keys()]).toEqual(probes.map(({ name }) => name));
    expect(frames.get('well')).toMatchObject({
      code: 0,
      stdout: 'out\nno newline',
      stderr: 'err\n',
      timedOut: false,
    });
    expect(frames.get('fails')).toMatchObject({ code: 7, timedOut: false });
    expect(frames.get('syntax')?.code).not.toBe(0);
    expect(frames.get('hangs')).toMatchObject({ stdout: 'begun\n', timedOut: true });
    expect(frames.get('after')).toMatchObject({ code: 0, stdout: 'still here\n' });
    expect(await leftovers()).toBe(before);
    await session.close();
  });

  test('more than MaxSessions at once wait for each other', async () => {
    const session = await connect('free');
    const results = await Promise.all(
      Array.from({ length: 24 }, (_v, index) => session.script(`echo ${index}`)),
    );
    expect(results.map(({ stdout }) => stdout)).toEqual(
      Array.from({ length: 24 }, (_v, index) => `${index}\n`),
    );
    await session.close();
  });
});

describe('an upload', () => {
  const content = Buffer.from(Array.from({ length: 3_000_000 }, (_v, index) => (index * 7919) % 251));
  const sha256 = createHash('sha256').update(content).digest('hex');

  test('puts the file in place as root, and is skipped when it is there', async () => {
    const session = await connect('free');
    const path = join(sshd.folder, 'up/loaded file');
    const progress: number[] = [];
    const options = { mode: 0o750, onProgress: (sent: number) => progress.push(sent) };
    expect(await session.upload({ bytes: content }, path, options)).toBe(true);
    expect(readFileSync(path).equals(content)).toBe(true);
    expect(progress.at(-1)).toBe(content.length);
    expect(await session.upload({ bytes: content }, path, options)).toBe(false);
    expect((await session.script(`stat -c '%a %U' '${path}'; ls '${join(sshd.folder, 'up')}'`)).stdout).toBe(
      '750 root\nloaded file\n',
    );
    await session.close();
  });

  test('is unpacked on the host, and continues where an earlier one stopped', async () => {
    const session = await connect('free');
    const file = join(sshd.folder, 'local.gz');
    const packed = gzipSync(content);
    writeFileSync(file, packed);
    const path = join(sshd.folder, 'unpacked');
    const half = Math.floor(packed.length / 2);
    writeFileSync(`${path}.${sha256.slice(0, 16)}.part`, packed.subarray(0, half));
    const sent: number[] = [];
    const source = { file, sha256, size: packed.length };
    const options = { mode: 0o644, packed: 'gzip', onProgress: (bytes: number) => sent.push(bytes) } as const;
    expect(await session.upload(source, path, options)).toBe(true);
    expect(sent[0]).toBeGreaterThan(half);
    expect(readFileSync(path).equals(content)).toBe(true);
    writeFileSync(`${path}.${sha256.slice(0, 16)}.part`, 'rubbish');
    writeFileSync(path, 'old');
    expect(await session.upload(source, path, options)).toBe(true);
    expect(readFileSync(path).equals(content)).toBe(true);
    await session.close();
  });
});

describe('a unix socket of the host', () => {
  test.each(['root', 'free'])('is reached over HTTP by %s, whatever its mode', async (user) => {
    const path = join(sshd.folder, `${user}.sock`);
    const server = createServer((_request, response) => response.end('hello'));
    await new Promise<void>((resolve) => void server.listen(path, resolve));
    const session = await connect(user);
    // Only root may: the login user has to go through sudo.
    await session.script(
      `chmod 600 '${path}'; mkdir -p /opt/azp-fleet/current; ln -sf '${process.execPath}' /opt/azp-fleet/current/node`,
    );
    const agent = session.socketAgent(path);
    const get = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const call = request({ agent, host: 'h', path: '/', timeout: 5000 }, (response) => {
          let text = '';
          response.on('data', (chunk: Buffer) => (text += chunk.toString()));
          response.on('end', () => resolve(text));
        });
        call.on('error', reject);
        call.end();
      });
    expect(await Promise.all([get(), get(), get()])).toEqual(['hello', 'hello', 'hello']);
    expect(await get()).toBe('hello');
    await session.close();
    await new Promise((resolve) => void server.close(resolve));
  });
});
