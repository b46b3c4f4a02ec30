import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, test } from 'vitest';

import { withSshKeywords } from '../../../../../scripts/ssh-keywords-table.ts';
import type { SshSpec } from '../../../../../src/fleet/inventory/fleet.ts';
import { keywordGroups, keywordOf } from '../../../../../src/fleet/ssh/config/keywords.ts';
import type { ConnectionOptions } from '../../../../../src/fleet/ssh/config/options.ts';
import { SshResolver } from '../../../../../src/fleet/ssh/config/resolver.ts';
import { sshSpec } from '../../../../support/transport.ts';

// Each keyword is set in a file that the system's own ssh reads.

/** A value of each keyword that is no default. */
const values: Readonly<Record<string, string>> = {
  AddKeysToAgent: 'yes',
  AddressFamily: 'inet',
  BatchMode: 'yes',
  BindAddress: '127.0.0.1',
  BindInterface: 'lo',
  CanonicalDomains: 'lab.example',
  CanonicalizeFallbackLocal: 'no',
  CanonicalizeHostname: 'yes',
  CanonicalizeMaxDots: '2',
  CanonicalizePermittedCNAMEs: '*.a:*.b',
  CASignatureAlgorithms: 'ssh-ed25519',
  CertificateFile: '~/.ssh/c-cert.pub',
  ChannelTimeout: 'session=5m',
  CheckHostIP: 'yes',
  Ciphers: 'aes256-ctr',
  ClearAllForwardings: 'yes',
  Compression: 'yes',
  ConnectionAttempts: '3',
  ConnectTimeout: '7',
  ControlMaster: 'auto',
  ControlPath: '/run/control-%C',
  ControlPersist: '60',
  DynamicForward: '1080',
  EnableEscapeCommandline: 'yes',
  EnableSSHKeysign: 'yes',
  EscapeChar: 'none',
  ExitOnForwardFailure: 'yes',
  FingerprintHash: 'md5',
  ForkAfterAuthentication: 'yes',
  ForwardAgent: 'yes',
  ForwardX11: 'yes',
  ForwardX11Timeout: '60',
  ForwardX11Trusted: 'no',
  GatewayPorts: 'yes',
  GlobalKnownHostsFile: '/etc/known',
  GSSAPIAuthentication: 'yes',
  GSSAPIClientIdentity: 'ann@LAB',
  GSSAPIDelegateCredentials: 'yes',
  GSSAPIKexAlgorithms: 'gss-group16-sha512-',
  GSSAPIKeyExchange: 'yes',
  GSSAPIRenewalForcesRekey: 'yes',
  GSSAPIServerIdentity: 'host@lab',
  GSSAPITrustDns: 'yes',
  HashKnownHosts: 'yes',
  HostbasedAcceptedAlgorithms: 'ssh-ed25519',
  HostbasedAuthentication: 'yes',
  HostKeyAlgorithms: 'ssh-ed25519',
  HostKeyAlias: 'other',
  Hostname: '192.0.2.7',
  IdentitiesOnly: 'yes',
  IdentityAgent: 'none',
  IdentityFile: '/keys/one',
  IgnoreUnknown: 'never',
  IPQoS: 'none',
  KbdInteractiveAuthentication: 'no',
  KbdInteractiveDevices: 'pam',
  KexAlgorithms: 'curve25519-sha256',
  KnownHostsCommand: '/bin/keys %H',
  LocalCommand: 'true',
  LocalForward: '8080 localhost:80',
  LogVerbose: 'kex.c:*:1000',
  MACs: 'hmac-sha2-512',
  NoHostAuthenticationForLocalhost: 'yes',
  NumberOfPasswordPrompts: '1',
  ObscureKeystrokeTiming: 'no',
  PasswordAuthentication: 'no',
  PermitLocalCommand: 'yes',
  PermitRemoteOpen: 'localhost:80',
  PKCS11Provider: '/usr/lib/p11.so',
  Port: '2222',
  PreferredAuthentications: 'publickey',
  ProxyCommand: 'nc %h %p',
  ProxyJump: 'gate',
  ProxyUseFdpass: 'yes',
  PubkeyAcceptedAlgorithms: 'ssh-ed25519',
  PubkeyAuthentication: 'no',
  RekeyLimit: '1G 1h',
  RemoteCommand: 'true',
  RemoteForward: '8080 localhost:80',
  RequiredRSASize: '3072',
  RevokedHostKeys: '/etc/ssh/revoked',
  SecurityKeyProvider: '/usr/lib/sk.so',
  SendEnv: 'LANG',
  ServerAliveCountMax: '5',
  ServerAliveInterval: '30',
  SessionType: 'none',
  SetEnv: 'A=b',
  StdinNull: 'yes',
  StreamLocalBindMask: '0117',
  StreamLocalBindUnlink: 'yes',
  StrictHostKeyChecking: 'accept-new',
  SyslogFacility: 'AUTH',
  Tag: 'lab',
  TCPKeepAlive: 'no',
  Tunnel: 'yes',
  TunnelDevice: '1:1',
  UpdateHostKeys: 'ask',
  UseKeychain: 'yes',
  User: 'ann',
  UserKnownHostsFile: '/keys/known',
  VerifyHostKeyDNS: 'yes',
  VersionAddendum: 'lab',
  VisualHostKey: 'yes',
  WarnWeakCrypto: 'no',
  XAuthLocation: '/bin/xauth',
};
/** No options of a connection, an error of ssh itself, and what the arguments of `ssh -G` set. */
const unseen = ['Host', 'Match', 'Include', 'RefuseConnection', 'RequestTTY', 'LogLevel'];
/** Their defaults, and whether ssh has them, differ between builds. */
const ofBuild = ['ForwardX11Trusted', 'CheckHostIP', 'PKCS11Provider'];

const folder = mkdtempSync(join(tmpdir(), 'azp-keywords-'));
const { homedir: home, username: user } = userInfo();
const resolvers: SshResolver[] = [];
function resolver(path = process.env['PATH']): SshResolver {
  const env = { ...process.env, PATH: path };
  const one = new SshResolver({ home, user, env, notice: () => undefined, hosts: [] });
  resolvers.push(one);
  return one;
}
afterAll(() => {
  for (const one of resolvers) one.close();
  rmSync(folder, { recursive: true });
});

let files = 0;
function fileOf(text: string): string {
  const file = join(folder, `config-${(files += 1)}`);
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}
async function resolve(text: string, spec: Partial<SshSpec> = {}): Promise<ConnectionOptions> {
  return resolver().resolve('box', sshSpec({ ...spec, sshConfig: fileOf(text) }));
}
const namesOf = (options: ConnectionOptions): readonly string[] =>
  options.refused.map(({ keyword }) => keyword);

/** The release of this machine's ssh: 9.2 is 902. */
const release = (() => {
  const [, major, minor] =
    /OpenSSH_(\d+)\.(\d+)/.exec(spawnSync('ssh', ['-V'], { encoding: 'utf8' }).stderr) ?? [];
  return Number(major) * 100 + Number(minor);
})();
const number = (since: string): number => {
  const [major = 0, minor = 0] = since.split('.').map(Number);
  return major * 100 + minor;
};

const walked = keywordGroups.flatMap(({ outcome, keywords }) =>
  keywords
    .filter(({ name }) => !unseen.includes(name))
    .map(({ name, since }) => ({ name, since, outcome, value: values[name] })),
);

test('each keyword of the table is there once, and has a value here', () => {
  const names = walked.map(({ name }) => name);
  expect(names.toSorted()).toEqual(Object.keys(values).toSorted());
  const all = keywordGroups.flatMap(({ keywords }) =>
    keywords.flatMap(({ name, former = [] }) => [name, ...former]),
  );
  expect(new Set(all.map((name) => name.toLowerCase())).size).toBe(all.length);
});

describe('a keyword', () => {
  const one = resolver();
  const empty = fileOf('');
  test.each(walked)('$name: $outcome', async ({ name, since, outcome, value = '' }) => {
    // Options that this ssh does not know are read from no file.
    const file = fileOf(`IgnoreUnknown ${name}\n${name} ${value}\n`);
    const at = (sshConfig: string) => one.resolve('box', sshSpec({ address: '127.0.0.1', sshConfig }));
    const options = await at(file);
    const always = (await at(empty)).ofSsh;
    const isOwn = (option: string): boolean =>
      option === name.toLowerCase() || !(option === 'ignoreunknown' || always.has(option));
    const set = [...options.ofSsh].filter(isOwn);
    if (set.length === 0) {
      // Only a keyword that this release or this build does not have.
      expect(since !== undefined || ofBuild.includes(name) || name.startsWith('GSSAPI')).toBe(true);
      if (/^\d/.test(since ?? '')) expect(number(since ?? '')).toBeGreaterThan(release);
      return;
    }
    expect(set.filter((option) => !keywordOf(option).isListed)).toEqual([]);
    expect(set.map((option) => keywordOf(option).name)).toContain(name);
    const [refused] = options.refused;
    expect(options.refused.map(({ keyword }) => keyword)).toEqual(outcome === 'refused' ? [name] : []);
    if (outcome === 'refused') expect(refused?.places).toEqual([`${file}:2`]);
    expect(options.unsupported).toEqual(outcome === 'unused' ? [name.toLowerCase()] : []);
  });
});

test('all that this machine’s ssh prints is in the table', () => {
  const printed = [['-F', 'none'], []].flatMap((args) =>
    execFileSync('ssh', ['-T', ...args, '-G', 'box'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
      .split('\n')
      .map((line) => line.split(' ')[0] ?? '')
      .filter((option) => option !== ''),
  );
  expect(printed.length).toBeGreaterThan(100);
  expect(printed.filter((option) => !keywordOf(option).isListed)).toEqual([]);
});

test.each([
  ['yes', ['futurecheck']],
  ['no', []],
])('an option of a later ssh that a file sets is refused: futurecheck %s', async (value, refused) => {
  const bin = mkdtempSync(join(folder, 'bin-'));
  const script = `#!/bin/sh\ncase "$*" in *"-F none"*) echo futurecheck no ;; *) echo futurecheck ${value} ;; esac\n`;
  writeFileSync(join(bin, 'ssh'), script, { mode: 0o755 });
  const options = await resolver(`${bin}:/usr/bin:/bin`).resolve('box', sshSpec({ sshConfig: fileOf('') }));
  expect(namesOf(options)).toEqual(refused);
});

describe('what is refused depends on the value', () => {
  test.each<[string, string, Partial<SshSpec>, readonly string[]]>([
    ['a check that is off', 'RevokedHostKeys none\nVerifyHostKeyDNS no\nBindInterface none\n', {}, []],
    ['RekeyLimit as by default', 'RekeyLimit default none\n', {}, []],
    [
      'sources of host keys beside pinned ones',
      'VerifyHostKeyDNS yes\nRevokedHostKeys /r\n',
      { hostKeys: ['SHA256:abc'] },
      ['RevokedHostKeys'],
    ],
    ['host-bound keys', 'PubkeyAuthentication host-bound\n', {}, ['PubkeyAuthentication']],
    [
      'only methods that are not here',
      'PreferredAuthentications gssapi-with-mic\n',
      {},
      ['PreferredAuthentications'],
    ],
    ['no method left', 'PubkeyAuthentication no\nBatchMode yes\n', {}, ['BatchMode', 'PubkeyAuthentication']],
    ['a key of another user', 'IdentityFile ~root/key\n', {}, ['IdentityFile']],
    ['known hosts of another user', 'GlobalKnownHostsFile /a ~root/b\n', {}, ['GlobalKnownHostsFile']],
    ['files of this user', 'IdentityFile ~/key\nGlobalKnownHostsFile ~/b\n', {}, []],
  ])('%s', async (_, text, spec, refused) => {
    expect(namesOf(await resolve(text, spec)).toSorted()).toEqual(refused);
  });

  test.each(['none', undefined])(
    'a key of another user in the inventory, sshConfig %s',
    async (sshConfig) => {
      const spec = sshSpec({ identityFile: '~root/key', sshConfig: sshConfig ?? fileOf('') });
      expect((await resolver().resolve('box', spec)).refused).toEqual([
        { keyword: 'IdentityFile', value: '~root/key', places: ['identityFile: in the inventory'] },
      ]);
    },
  );
});

test('the login obeys the configuration', async () => {
  const login = async (text: string) => (await resolve(text)).login;
  expect(await login('')).toEqual({
    methods: ['publickey', 'keyboard-interactive', 'password'],
    asks: true,
    prompts: 3,
    keyAlgorithms: undefined,
    minimumRsaBits: 1024,
  });
  expect((await login('PasswordAuthentication no\n')).methods).toEqual(['publickey', 'keyboard-interactive']);
  expect(await login('NumberOfPasswordPrompts 0\n')).toMatchObject({ methods: ['publickey'], prompts: 0 });
  expect(await login('NumberOfPasswordPrompts 1\n')).toMatchObject({ prompts: 1 });
  expect(await login('BatchMode yes\n')).toMatchObject({ methods: ['publickey'], asks: false, prompts: 0 });
  expect((await login('PreferredAuthentications password,hostbased,publickey\n')).methods).toEqual([
    'password',
    'publickey',
  ]);
});

test('with BatchMode, a key that ssh would ask about is refused', async () => {
  expect((await resolve('StrictHostKeyChecking ask\n')).hostKeyPolicy).toBe('ask');
  expect((await resolve('StrictHostKeyChecking ask\nBatchMode yes\n')).hostKeyPolicy).toBe('strict');
});

test('docs/ssh.md has the table', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../../docs/ssh.md'), 'utf8');
  expect(withSshKeywords(page)).toBe(page);
});
