import { type ExecFileException, execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type Sshd, startSshd } from '../support/sshd.ts';

// The built command line against a real sshd: three addresses of one machine, and one where nothing listens.
const folder = mkdtempSync(join(tmpdir(), 'azp-commands-'));
const inventory = join(folder, 'lab.yaml');
let sshd: Sshd;
beforeAll(async () => {
  sshd = await startSshd({
    users: [
      { name: 'ann', sudo: 'ALL=(ALL) NOPASSWD: ALL' },
      { name: 'bob', sudo: 'ALL=(ALL) NOPASSWD: ALL' },
    ],
    listen: '0.0.0.0',
  });
  writeFileSync(
    inventory,
    `organization: https://dev.azure.com/example
token: { env: AZP_TOKEN } # never needed here
defaults: { pool: gpu, user: ann, port: ${sshd.port}, identityFile: ${sshd.clientKeyFile} }
groups:
  pair: { hosts: [a, b] }
hosts:
  a: { address: 127.0.0.2 } # by the door
  b: { address: 127.0.0.3 }
  c: { address: 127.0.0.4, user: bob }
  down: { address: 127.0.0.5, port: 1 }
`,
  );
});
afterAll(() => sshd.stop());

function run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const bin = join(import.meta.dirname, '../../bin/azp-fleet.js');
  const env = { ...process.env, XDG_STATE_HOME: folder, AZP_TOKEN: 'tell-tale-token', NO_COLOR: '1' };
  return new Promise((resolve) => {
    execFile(process.execPath, [bin, ...args], { env }, (error: ExecFileException | null, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

describe('trust', () => {
  test('shows the keys, and writes nothing without a yes', async () => {
    const before = readFileSync(inventory, 'utf8');
    const { stdout } = await run('trust', inventory, '--limit', 'pair');
    expect(stdout).toMatch(
      /^HOST +TYPE +FINGERPRINT +KNOWN_HOSTS +INVENTORY\na +ssh-ed25519 +SHA256:\S+ .*missing\nb /,
    );
    expect(readFileSync(inventory, 'utf8')).toBe(before);
  });

  test('pins them on a yes; a host that is down fails alone', async () => {
    const { code, stderr } = await run('trust', inventory, '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain('down · connect: nothing listens on 127.0.0.5:1');
    const text = readFileSync(inventory, 'utf8');
    expect(text.split(sshd.hostKey)).toHaveLength(4);
    expect(text).toContain('# by the door');
    expect(existsSync(`${inventory}.bak-1`)).toBe(true);
    expect((await run('trust', inventory, '--limit', 'pair')).stdout).toMatch(/ same\nb .* same\n$/);
  });
});

describe('exec', () => {
  test('shows equal outputs once, and the failure of one host beside the others', async () => {
    const { code, stdout } = await run('exec', inventory, '--', 'echo "I am $(id -un)"; echo "$SUDO_USER"');
    expect(code).toBe(1);
    expect(stdout).toContain('── 2 hosts: a, b\nI am root\nann\n── c\nI am root\nbob\n✗ down');
  });

  test('runs a command with unchanged arguments as the login user, and returns its exit code', async () => {
    const { code, stdout } = await run(
      'exec',
      '-i',
      inventory,
      'a',
      '--login',
      '--json',
      '--',
      'sh',
      '-c',
      'echo "$1"; exit 3',
      '-',
      '*',
    );
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ hosts: [{ host: 'a', result: { code: 3, stdout: '*\n' } }] });
  });

  test('without a command is a usage error', async () => {
    expect(await run('exec', inventory)).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('ssh', () => {
  test('runs the system ssh with what the inventory says, and passes its exit code on', async () => {
    expect(await run('ssh', '-i', inventory, 'c', '--', 'id -un; exit 5')).toMatchObject({
      code: 5,
      stdout: 'bob\n',
    });
  });

  test('requires one host', async () => {
    expect((await run('ssh', '-i', inventory, 'pair')).code).toBe(2);
  });
});

test('inventory show says what a connection would use, and where each value came from', async () => {
  const { stdout } = await run('inventory', 'show', 'c', '--inventory', inventory, '--json');
  const { hosts } = JSON.parse(stdout) as { hosts: readonly { connection: Record<string, unknown> }[] };
  expect(hosts[0]?.connection).toMatchObject({
    hostname: '127.0.0.4',
    port: sshd.port,
    user: 'bob',
    identityfile: [sshd.clientKeyFile],
    from: { hostname: 'inventory', user: 'inventory', connecttimeout: 'default' },
  });
});
