import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { type OwnSshd, startOwnSshd } from '../../../../support/own-sshd.ts';
import { problemOf, type TestTransport, testTransport } from '../../../../support/transport.ts';

let sshd: OwnSshd;
const folder = mkdtempSync(join(tmpdir(), 'azp-proxy-'));
beforeAll(async () => {
  sshd = await startOwnSshd();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await sshd.stop();
});

const transports: TestTransport[] = [];
afterEach(async () => {
  await Promise.all(transports.splice(0).map((transport) => transport.close()));
});
function open(command: string, env: Record<string, string> = {}): TestTransport {
  const transport = testTransport({ config: `ProxyCommand ${command}\n`, env });
  transports.push(transport);
  return transport;
}

/** A command that counts how often it is run. */
function counting(text: string) {
  const tries = join(folder, 'tries');
  writeFileSync(tries, '');
  writeFileSync(join(folder, 'counting'), `echo x >>${tries}\n${text}\n`);
  return { command: `sh ${folder}/counting`, tries: () => readFileSync(tries, 'utf8').split('x').length - 1 };
}

describe('a ProxyCommand that fails', () => {
  test('is reported at once with its last lines', async () => {
    const { command, tries } = counting('echo "token expired, log in again" >&2; exit 1');
    expect(await problemOf(open(command).connect(sshd.target()))).toMatchObject({
      code: 'ssh.proxy-command',
      host: 'box',
      seen: 'token expired, log in again',
      next: expect.stringContaining('run it by hand: ') as string,
    });
    expect(tries()).toBe(1);
  });

  test('with escape sequences is cleaned and truncated', async () => {
    const script = join(folder, 'loud');
    writeFileSync(
      script,
      `i=0; while [ $i -lt 3000 ]; do echo noise; i=$((i+1)); done >&2; printf 'last \\033]0;x\\007word' >&2; exit 1\n`,
    );
    const { seen = '' } = await problemOf(open(`sh ${script}`).connect(sshd.target()));
    expect(seen).toContain('word');
    expect(seen).not.toMatch(/[\u001b\u0007]/);
    expect(seen.length).toBeLessThanOrEqual(2_000);
  });

  test('without output is reported by its exit code', async () => {
    const { seen } = await problemOf(open('sh -c "exit 7"').connect(sshd.target()));
    expect(seen).toBe('no output (exit 7)');
  });

  test('because a server on the way dropped the connection is tried again', async () => {
    const pipe = `const s = require("node:net").connect(${sshd.port}, "127.0.0.1"); process.stdin.pipe(s).pipe(process.stdout)`;
    const { command, tries } = counting(
      `[ "$(wc -l <${folder}/tries)" -ge 3 ] || { echo 'kex_exchange_identification: read: Connection reset by peer' >&2; exit 255; }
exec ${process.execPath} -e '${pipe}'`,
    );
    const session = await open(command).connect(sshd.target());
    expect((await session.script('echo in', { as: 'login' })).stdout).toBe('in\n');
    expect(tries()).toBe(3);
  });
});

test('the shell of the user runs it, with the tokens filled in', async () => {
  const shell = join(folder, 'shell');
  const log = join(folder, 'log');
  writeFileSync(shell, `#!/bin/sh\necho "$@" >>${log}\nexec /bin/sh "$@"\n`, { mode: 0o755 });
  const problem = problemOf(
    open('sh -c "echo %h %p %r >&2; false"', { SHELL: shell }).connect(sshd.target()),
  );
  expect((await problem).seen).toBe(`127.0.0.1 ${sshd.port} ${sshd.user}`);
  expect(readFileSync(log, 'utf8')).toBe(
    `-c exec sh -c "echo 127.0.0.1 ${sshd.port} ${sshd.user} >&2; false"\n`,
  );
});
