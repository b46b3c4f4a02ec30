import type { Algorithms } from 'ssh2';
import type { ConnectionOptions } from '../config/resolve.ts';
import { filedName } from '../host-keys/store.ts';
import { type KnownHostLine, lineMatches } from '../host-keys/known-hosts.ts';

/** Host key algorithms that ssh2 can check, strongest first; SHA-1 signatures are not among them. */
const hostKeyAlgorithms = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
] as const;

/**
 * Host key algorithms in the order we ask for them: those of the keys on file (or pinned) first, or a host
 * known by RSA would show its Ed25519 key and look like another machine.
 */
function serverHostKeyOrder(options: ConnectionOptions, lines: readonly KnownHostLine[]): string[] {
  const name = filedName(options);
  const known = new Set(
    options.pinned.length > 0
      ? options.pinned.map((pin) => pin.split(' ')[0] ?? '')
      : lines.filter((line) => line.marker === undefined && lineMatches(line, name)).map((line) => line.type),
  );
  const wanted = adjust(options.algorithms.hostKey, hostKeyAlgorithms);
  return [
    ...wanted.filter((one) => known.has(keyType(one))),
    ...wanted.filter((one) => !known.has(keyType(one))),
  ];
}

/** The algorithm lists for ssh2; an option that ssh_config does not set stays with ssh2's defaults. */
export function algorithmsFor(
  options: ConnectionOptions,
  lines: readonly KnownHostLine[],
  supported: Readonly<Record<'cipher' | 'kex' | 'hmac', readonly string[]>>,
): Algorithms {
  const { ciphers, kex, macs } = options.algorithms;
  return {
    serverHostKey: serverHostKeyOrder(options, lines),
    ...(ciphers === undefined ? {} : { cipher: adjust(ciphers, supported.cipher) }),
    ...(kex === undefined ? {} : { kex: adjust(kex, supported.kex) }),
    ...(macs === undefined ? {} : { hmac: adjust(macs, supported.hmac) }),
  } as Algorithms;
}

/** OpenSSH's list notation (`a,b`, `+a`, `-a*`, `^a`) over what we support; names we lack are left out. */
export function adjust(text: string | undefined, supported: readonly string[]): string[] {
  if (text === undefined) return [...supported];
  const names = text.replace(/^[-+^]/, '').split(',');
  const has = (one: string): boolean => names.some((name) => wildcard(name).test(one));
  if (text.startsWith('-')) return supported.filter((one) => !has(one));
  if (text.startsWith('+')) return [...supported];
  if (text.startsWith('^')) return [...supported.filter(has), ...supported.filter((one) => !has(one))];
  return names.filter((name) => supported.includes(name));
}

function wildcard(name: string): RegExp {
  return new RegExp(
    `^${name
      .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
  );
}

function keyType(algorithm: string): string {
  return algorithm.startsWith('rsa-sha2-') ? 'ssh-rsa' : algorithm;
}

/** What ssh2 1.17 can do, in its order of preference; ssh_config's lists are cut down to these. */
export const supportedAlgorithms = {
  kex: [
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
    'diffie-hellman-group-exchange-sha256',
    'diffie-hellman-group14-sha256',
    'diffie-hellman-group16-sha512',
    'diffie-hellman-group18-sha512',
    'diffie-hellman-group14-sha1',
  ],
  cipher: [
    'chacha20-poly1305@openssh.com',
    'aes128-gcm@openssh.com',
    'aes256-gcm@openssh.com',
    'aes128-ctr',
    'aes192-ctr',
    'aes256-ctr',
  ],
  hmac: [
    'hmac-sha2-256-etm@openssh.com',
    'hmac-sha2-512-etm@openssh.com',
    'hmac-sha1-etm@openssh.com',
    'hmac-sha2-256',
    'hmac-sha2-512',
    'hmac-sha1',
  ],
} as const;
