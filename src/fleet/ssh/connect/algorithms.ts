import type { Algorithms } from 'ssh2';
import type { ConnectionOptions } from '../config/options.ts';
import { connectError } from '../failures.ts';
import { filedName } from './host-keys.ts';
import { type KnownHostLine, lineMatches, keyType } from './known-hosts.ts';

/**
 * Algorithms of ssh2 1.17, in its order of preference; lists of the SSH configuration are reduced to these. Host keys
 * strongest first, without SHA-1 signatures.
 */
const supportedAlgorithms = {
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
  serverHostKey: [
    'ssh-ed25519',
    'ecdsa-sha2-nistp256',
    'ecdsa-sha2-nistp384',
    'ecdsa-sha2-nistp521',
    'rsa-sha2-512',
    'rsa-sha2-256',
  ],
} as const;

/**
 * Returns the algorithm lists for ssh2; a list that is not configured keeps ssh2's defaults. Throws if ssh2 supports
 * none of a configured list: it never uses algorithms outside the list.
 */
export function algorithmsFor(options: ConnectionOptions, lines: readonly KnownHostLine[]): Algorithms {
  const { ciphers, kex, macs, hostKey } = options.algorithms;
  const { cipher, hmac, kex: exchanges, serverHostKey } = supportedAlgorithms;
  const common = (
    option: string,
    configured: readonly string[] | undefined,
    supported: readonly string[],
  ) => {
    const usable = configured?.filter((one) => supported.includes(one)) ?? supported;
    if (usable.length === 0) throw noneSupported(options, option, configured ?? [], supported);
    return [...new Set(usable)];
  };
  return {
    serverHostKey: knownFirst(common('HostKeyAlgorithms', hostKey, serverHostKey), options, lines),
    ...(ciphers === undefined ? {} : { cipher: common('Ciphers', ciphers, cipher) }),
    ...(kex === undefined ? {} : { kex: common('KexAlgorithms', kex, exchanges) }),
    ...(macs === undefined ? {} : { hmac: common('MACs', macs, hmac) }),
  } as Algorithms;
}

/**
 * Returns host key algorithms, those of the known (or pinned) keys first: otherwise a host known by its RSA key would
 * show its Ed25519 key and look like another machine.
 */
function knownFirst(
  algorithms: readonly string[],
  options: ConnectionOptions,
  lines: readonly KnownHostLine[],
): string[] {
  const name = filedName(options);
  const known = new Set(
    options.pinned.length > 0
      ? options.pinned.map((pin) => pin.split(' ')[0] ?? '')
      : lines.filter((line) => line.marker === undefined && lineMatches(line, name)).map((line) => line.type),
  );
  return [
    ...algorithms.filter((one) => known.has(keyType(one))),
    ...algorithms.filter((one) => !known.has(keyType(one))),
  ];
}

function noneSupported(
  options: ConnectionOptions,
  option: string,
  configured: readonly string[],
  supported: readonly string[],
): Error {
  return connectError(options, {
    code: 'ssh.handshake',
    what: `the built-in client supports no algorithm of ${option} in the SSH configuration`,
    expected: `one of ${supported.join(', ')}`,
    seen: configured.join(', '),
    next: `correct ${option} for this host, or set "transport: openssh" for it in the inventory`,
  });
}
