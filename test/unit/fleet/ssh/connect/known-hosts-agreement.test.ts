import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { buildOptions, noConfig } from '../../../../../src/fleet/ssh/config/options.ts';
import { hostKeyOf, HostKeyStore } from '../../../../../src/fleet/ssh/connect/host-keys.ts';
import { makeKey, type OwnSshd, publicKey, startOwnSshd } from '../../../../support/own-sshd.ts';
import { problemOf, sshSpec } from '../../../../support/transport.ts';

// Compares the verdict on a host key with that of the system's ssh at a real connection, for each known_hosts file.

const folder = mkdtempSync(join(tmpdir(), 'azp-known-agreement-'));
const local = { home: folder, user: 'ann', uid: 1000, host: 'laptop', env: {} };
let sshd: OwnSshd;
beforeAll(async () => {
  sshd = await startOwnSshd();
});
afterAll(async () => {
  await sshd.stop();
  rmSync(folder, { recursive: true });
});

const key = (name: string, type = 'ed25519') => publicKey(makeKey(join(folder, name), type));
const blobOf = (line: string) => Buffer.from(line.split(' ')[1] ?? '', 'base64');
const other = key('other');
const rsa = key('rsa', 'rsa');
const ecdsa = key('ecdsa', 'ecdsa');

function field(bytes: Buffer | string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, Buffer.from(bytes)]);
}
/** Returns a line's type and key from the fields of its blob. */
const made = (type: string, ...fields: (Buffer | string)[]) =>
  `${type} ${Buffer.concat([type, ...fields].map(field)).toString('base64')}`;
const number = (bytes: number) => Buffer.concat([Buffer.of(0), Buffer.alloc(bytes, 0xff)]);
const e = Buffer.of(1, 0, 1);
const blob64 = (line: string, more: string) =>
  Buffer.concat([blobOf(line), Buffer.from(more)]).toString('base64');

/** N: the host's name in the file; OWN, OTHER: type and key, of the host and of another one. */
const lines: readonly (readonly [string, string | (() => string)])[] = [
  ['the key', 'N OWN'],
  ['nothing', ''],
  ['another key', 'N OTHER'],
  ['another key with a comment', 'N OTHER root@somewhere else'],
  ['one of another type', () => `N ${rsa}`],
  [
    'one of another type under the name of its signature',
    () => `N ${rsa.replace('ssh-rsa', 'rsa-sha2-512')}`,
  ],
  ['one of a curve', () => `N ${ecdsa}`],
  ['one of a curve under another one’s name', () => `N ${ecdsa.replace('p256', 'p384')}`],
  ['the key under another type', 'N ssh-rsa OWNBLOB'],
  ['another key under another type', 'N ssh-rsa OTHERBLOB'],
  ['the key under an unknown type', 'N ssh-foo OWNBLOB'],
  ['the key under the short name of its type', 'N ED25519 OWNBLOB'],
  ['the type in capitals', 'N SSH-ED25519 OTHERBLOB'],
  ['a key cut short', () => `N ${other.slice(0, 60)}`],
  ['the key cut short', 'N OWNCUT'],
  ['a key with extra bytes', () => `N ssh-ed25519 ${blob64(other, 'xyz')}`],
  ['a key with an invalid character after it', 'N OTHER!!'],
  ['a key with wrong padding', 'N OTHER=='],
  ['a blank within a key', () => `N ${other.slice(0, 40)} ${other.slice(40)}`],
  ['no key', 'N ssh-ed25519'],
  ['words', 'N foo bar'],
  ['a line of SSH 1', 'N 1024 35 123456789'],
  ['31 bytes', () => `N ${made('ssh-ed25519', Buffer.alloc(31, 7))}`],
  ['32 bytes', () => `N ${made('ssh-ed25519', Buffer.alloc(32, 7))}`],
  ['a weak RSA key', () => `N ${made('ssh-rsa', e, number(64))}`],
  ['an RSA key one bit too short', () => `N ${made('ssh-rsa', e, number(127))}`],
  ['the shortest RSA key that is accepted', () => `N ${made('ssh-rsa', e, number(128))}`],
  ['an endless RSA key', () => `N ${made('ssh-rsa', e, number(4096))}`],
  ['a negative RSA key', () => `N ${made('ssh-rsa', e, Buffer.alloc(256, 0xff))}`],
  ['an RSA key with more', () => `N ${made('ssh-rsa', e, number(256), 'x')}`],
  ['a point that is on no curve', () => `N ${made('ecdsa-sha2-nistp256', 'nistp256', Buffer.alloc(65, 4))}`],
  ['a point cut short', () => `N ${made('ecdsa-sha2-nistp256', 'nistp256', Buffer.alloc(31, 4))}`],
  ['a security key', () => `N ${made('sk-ssh-ed25519@openssh.com', Buffer.alloc(32, 7), 'ssh:')}`],
  ['a certificate', () => `N ssh-ed25519-cert-v01@openssh.com ${other.split(' ')[1] ?? ''}`],
  ['an unknown marker', '@foo N OWN'],
  ['two markers', '@revoked @cert-authority N OTHER'],
  ['the key revoked', '@revoked N OWN'],
  ['the key revoked for all', '@revoked * OWN\nN OWN'],
  ['the key revoked for others', '@revoked elsewhere OWN\nN OWN'],
  ['another key revoked', '@revoked N OTHER'],
  ['the key revoked under another type', '@revoked N ssh-rsa OWNBLOB\nN OWN'],
  ['tabs', 'N\tOWN'],
  ['blanks before it', ' \t N OWN'],
  ['a line of Windows', 'N OWN\r'],
  ['a line of Windows with a comment', 'N OTHER c\r'],
  ['a form feed', 'N\fOWN'],
  ['a vertical tab before it', '\vN OWN'],
  ['a byte order mark', '\ufeffN OWN'],
  ['a comment', '#N OTHER'],
  ['quotes', '"N" OTHER'],
  ['among other names', 'a,N,b OTHER'],
  ['a list with a blank', 'a, N OTHER'],
  ['a pattern', '[127.0.0.?]:PORT OTHER'],
  ['a pattern for all', '* OTHER'],
  ['all but this host', '*,!N OTHER'],
  ['all but this host, with the key', '*,!N OWN'],
  ['the bare name', '127.0.0.1 OWN'],
  ['another key under the bare name', '127.0.0.1 OTHER'],
  ['an invalid hash', '|1|xx|yy OTHER'],
  ['the key and then another', 'N OWN\nN OTHER'],
  ['another key and then it', 'N OTHER\nN OWN'],
  ['the key after invalid lines', 'N ssh-rsa OTHERBLOB\nnonsense\nN OWN'],
  ['a very long line', () => `N OTHER ${'x'.repeat(100_000)}`],
];

test.each(lines)('%s', async (_, line) => {
  const [type = '', blob = ''] = sshd.hostKey.split(' ');
  const text = (typeof line === 'string' ? line : line())
    .replaceAll('OWNBLOB', blob)
    .replaceAll('OTHERBLOB', other.split(' ')[1] ?? '')
    .replaceAll('OWNCUT', `${type} ${blob.slice(0, 40)}`)
    .replaceAll('OWN', sshd.hostKey)
    .replaceAll('OTHER', other)
    .replaceAll('PORT', String(sshd.port))
    .replaceAll(/\bN(?=[\s",])|(?<=[!,"\s@#\v\ufeff]|^)N(?=[\s",])/g, `[127.0.0.1]:${sshd.port}`);
  const file = join(folder, 'known_hosts');
  writeFileSync(file, `${text}\n`);
  expect(await ours(file)).toBe(await theirs(file));
});

const verdicts: Readonly<Record<string, Verdict>> = {
  known: 'known',
  'ssh.host-key-unknown': 'unknown',
  'ssh.host-key-mismatch': 'changed',
  'ssh.host-key-revoked': 'revoked',
};
type Verdict = 'known' | 'unknown' | 'changed' | 'revoked' | 'something else';

async function ours(file: string): Promise<Verdict> {
  const options = {
    ...buildOptions('box', sshSpec({ address: '127.0.0.1', port: sshd.port }), noConfig, local),
    hostKeyPolicy: 'strict' as const,
    userKnownHosts: [file],
    globalKnownHosts: [],
  };
  const store = new HostKeyStore();
  const shown = hostKeyOf(blobOf(readFileSync(`${sshd.hostKeyFile}.pub`, 'utf8')));
  const checked = store.check(options, await store.lines(options), shown, () => Promise.resolve(false));
  const code = await checked.then(
    () => 'known',
    async () => (await problemOf(checked)).code,
  );
  return verdicts[code] ?? 'something else';
}

async function theirs(file: string): Promise<Verdict> {
  const options = {
    BatchMode: 'yes',
    StrictHostKeyChecking: 'yes',
    UserKnownHostsFile: file,
    GlobalKnownHostsFile: 'none',
    HostKeyAlgorithms: 'ssh-ed25519',
    PubkeyAuthentication: 'no',
    Port: sshd.port,
  };
  const flags = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const child = spawn('ssh', ['-F', 'none', '-T', ...flags, '127.0.0.1', 'true'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [said] = await Promise.all([text(child.stderr), once(child, 'close')]);
  if (/is marked as revoked/.test(said)) return 'revoked';
  if (/HOST IDENTIFICATION HAS CHANGED/.test(said)) return 'changed';
  if (/No ED25519 host key is known/.test(said)) return 'unknown';
  return /Permission denied/.test(said) ? 'known' : 'something else';
}
