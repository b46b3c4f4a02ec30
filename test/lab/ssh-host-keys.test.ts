import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { FleetError } from '../../src/shared/base/errors.ts';
import type { SshSpec } from '../../src/fleet/inventory/fleet.ts';
import { type Sshd, startSshd } from '../support/sshd.ts';
import { problemOf, sshSpec, type TestTransport, testTransport } from '../support/transport.ts';

// A real sshd with an Ed25519, an ECDSA and an RSA key; the verdicts are held against those of the real ssh.
let sshd: Sshd;
const keys = { ed25519: '', ecdsa: '', rsa: '', other: '', otherRsa: '' };
let fingerprint = '';
beforeAll(async () => {
  sshd = await startSshd({ config: ['HostKey FOLDER/host_ecdsa', 'HostKey FOLDER/host_rsa'] });
  const read = (name: string): string =>
    readFileSync(join(sshd.folder, `${name}.pub`), 'utf8')
      .split(' ')
      .slice(0, 2)
      .join(' ');
  keys.ed25519 = sshd.hostKey;
  keys.ecdsa = read('host_ecdsa');
  keys.rsa = read('host_rsa');
  for (const [name, type] of [
    ['other', 'ed25519'],
    ['otherRsa', 'rsa'],
  ] as const) {
    execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-f', join(sshd.folder, name)]);
    keys[name] = read(name);
  }
  fingerprint =
    execFileSync('ssh-keygen', ['-lf', `${sshd.hostKeyFile}.pub`], { encoding: 'utf8' }).split(' ')[1] ?? '';
});
afterAll(() => sshd.stop());

async function attempt(
  knownHosts: string | undefined,
  spec: Partial<SshSpec> = {},
  config = '',
): Promise<{ readonly code: string; readonly transport: TestTransport; readonly file: string }> {
  const transport = testTransport({ config });
  const file = join(transport.home, '.ssh/known_hosts');
  if (knownHosts !== undefined) writeFileSync(file, knownHosts);
  const ssh = sshSpec({ address: '127.0.0.1', port: sshd.port, identityFile: sshd.clientKeyFile, ...spec });
  const code = await transport.connect({ name: 'box', ssh }).then(
    () => 'ok',
    (error: FleetError) => error.problem.code,
  );
  await transport.close();
  return { code, transport, file };
}

/** What the real ssh makes of the same file, asked to be strict. */
function openssh(knownHosts: string, folder: string): string {
  const file = join(folder, 'oracle');
  writeFileSync(file, knownHosts);
  const { status, stderr } = spawnSync(
    'ssh',
    ['-F', 'none', '-p', String(sshd.port), '-i', sshd.clientKeyFile, '-o', 'BatchMode=yes']
      .concat([
        '-o',
        `UserKnownHostsFile=${file}`,
        '-o',
        'GlobalKnownHostsFile=none',
        '-o',
        'StrictHostKeyChecking=yes',
      ])
      .concat(['root@127.0.0.1', 'true']),
    { encoding: 'utf8' },
  );
  if (status === 0) return 'ok';
  if (/REVOKED/.test(stderr)) return 'ssh.host-key-revoked';
  if (/CHANGED/.test(stderr)) return 'ssh.host-key-mismatch';
  return 'ssh.host-key-unknown';
}

describe('known_hosts, as the real ssh judges it', () => {
  const cases: readonly (readonly [string, () => string])[] = [
    ['the key', () => `NAME ${keys.ed25519}`],
    ['the RSA key only, though the server prefers another', () => `NAME ${keys.rsa}`],
    ['the ECDSA key and a comment', () => `NAME ${keys.ecdsa} from last year`],
    ['a changed key', () => `NAME ${keys.other}`],
    ['a changed RSA key', () => `NAME ${keys.otherRsa}`],
    ['one of several keys', () => `NAME ${keys.other}\nNAME ${keys.ed25519}`],
    ['a pattern', () => `[127.0.0.*]:* ${keys.ed25519}`],
    ['a pattern that is negated', () => `[127.0.0.*]:*,!NAME ${keys.ed25519}`],
    ['the bare name, without the port', () => `127.0.0.1 ${keys.ed25519}`],
    ['another key under the bare name', () => `127.0.0.1 ${keys.other}`],
    ['nothing', () => '# nothing'],
    ['another host', () => `other.example ${keys.ed25519}`],
    ['the key, revoked', () => `NAME ${keys.ed25519}\n@revoked * ${keys.ed25519}`],
    ['another key revoked', () => `NAME ${keys.ed25519}\n@revoked * ${keys.other}`],
    ['a hashed entry', () => hashed(`NAME ${keys.ed25519}`)],
    ['a hashed entry that changed', () => hashed(`NAME ${keys.other}`)],
    ['garbage and the key', () => `garbage\n\nNAME\nNAME ${keys.ed25519}`],
  ];
  test.each(cases)('%s', async (_case, text) => {
    const known = `${text().replaceAll('NAME', `[127.0.0.1]:${sshd.port}`)}\n`;
    const { code, transport, file } = await attempt(known, { hostKeyPolicy: 'strict' });
    expect(code).toBe(openssh(known, transport.home));
    expect(readFileSync(file, 'utf8')).toBe(known);
  });
});

function hashed(text: string): string {
  const file = join(sshd.folder, 'to-hash');
  writeFileSync(file, `${text.replaceAll('NAME', `[127.0.0.1]:${sshd.port}`)}\n`);
  execFileSync('ssh-keygen', ['-q', '-H', '-f', file], { stdio: 'ignore' });
  return readFileSync(file, 'utf8').trim();
}

describe('a new host key', () => {
  test('is appended with one line of notice, and the file before it is unchanged', async () => {
    const before = `# mine\nother.example ${keys.other}`;
    const { code, transport, file } = await attempt(before);
    expect(code).toBe('ok');
    expect(readFileSync(file, 'utf8')).toBe(`${before}\n[127.0.0.1]:${sshd.port} ${keys.ed25519}\n`);
    expect(transport.notices).toEqual([`box: new host key ssh-ed25519 ${fingerprint}, added to ${file}`]);
    const again = await attempt(readFileSync(file, 'utf8'), { hostKeyPolicy: 'strict' });
    expect([again.code, again.transport.notices]).toEqual(['ok', []]);
  });

  test('is hashed where the configuration says so; ssh-keygen finds it', async () => {
    const { file } = await attempt(undefined, {}, 'HashKnownHosts yes\n');
    expect(readFileSync(file, 'utf8')).not.toContain('127.0.0.1');
    const found = execFileSync('ssh-keygen', ['-F', `[127.0.0.1]:${sshd.port}`, '-f', file], {
      encoding: 'utf8',
    });
    expect(found).toContain('found: line 1');
  });

  test('is accepted where it cannot be kept, and the notice says so', async () => {
    const nowhere = await attempt(undefined, {}, 'UserKnownHostsFile none\n');
    const folder = await attempt(undefined, {}, 'UserKnownHostsFile /proc/known_hosts\n');
    expect([nowhere.code, folder.code]).toEqual(['ok', 'ok']);
    expect(nowhere.transport.notices[0]).toMatch(/, not saved$/);
    expect(folder.transport.notices[0]).toMatch(/, not saved: .*\/proc\/known_hosts/);
  });

  test('is filed under the alias', async () => {
    const { file } = await attempt(undefined, {}, 'HostKeyAlias Cluster-Node\n');
    expect(readFileSync(file, 'utf8')).toBe(`cluster-node ${keys.ed25519}\n`);
  });

  test('is refused when strict, also when ssh_config says so', async () => {
    const strict = await attempt(undefined, { hostKeyPolicy: 'strict' });
    const configured = await attempt(undefined, {}, 'StrictHostKeyChecking yes\n');
    expect([strict.code, configured.code]).toEqual(['ssh.host-key-unknown', 'ssh.host-key-unknown']);
    expect(existsSync(strict.file)).toBe(false);
  });
});

describe('a changed host key', () => {
  test('is final, and the error holds the exact ssh-keygen line', async () => {
    const transport = testTransport();
    const file = join(transport.home, '.ssh/known_hosts');
    writeFileSync(file, `[127.0.0.1]:${sshd.port} ${keys.other}\n`);
    const target = {
      name: 'box',
      ssh: sshSpec({ address: '127.0.0.1', port: sshd.port, identityFile: sshd.clientKeyFile }),
    };
    const problem = await problemOf(transport.connect(target));
    expect(problem).toMatchObject({
      code: 'ssh.host-key-mismatch',
      host: 'box',
      expected: `ssh-ed25519 at ${file}:1`,
      seen: `ssh-ed25519 ${fingerprint}`,
    });
    const line = /ssh-keygen .*$/.exec(problem.next ?? '')?.[0] ?? '';
    execFileSync('sh', ['-c', line], { stdio: 'ignore' });
    await transport.connect(target);
    await transport.close();
  });
});

describe('keys pinned in the inventory', () => {
  test.each([
    ['as a fingerprint', () => [fingerprint], 'ok'],
    ['as a public key', () => [keys.ed25519], 'ok'],
    ['as a public key of another type than the server prefers', () => [keys.rsa], 'ok'],
    ['of another machine', () => [keys.other], 'ssh.host-key-mismatch'],
  ])('%s', async (_case, hostKeys, expected) => {
    const { code, file } = await attempt(undefined, { hostKeys: hostKeys() });
    expect(code).toBe(expected);
    expect(existsSync(file)).toBe(false);
  });

  test('count more than known_hosts', async () => {
    const { code } = await attempt(`[127.0.0.1]:${sshd.port} ${keys.ed25519}\n`, { hostKeys: [keys.other] });
    expect(code).toBe('ssh.host-key-mismatch');
  });
});

test('a host of a certificate authority is refused loudly, not taken for new', async () => {
  const { code } = await attempt(`@cert-authority * ${keys.other}\n`);
  expect(code).toBe('ssh.host-certificate');
});
