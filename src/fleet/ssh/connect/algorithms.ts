import type { Algorithms } from 'ssh2';
import type { ConnectionOptions } from '../config/options.ts';
import { connectError } from '../failures.ts';
import { filedName } from './host-keys.ts';
import { type KnownHostLine, lineMatches, keyType } from './known-hosts.ts';

/**
 * What ssh2 1.17 can do, in its order of preference; the lists of ssh's configuration are cut down to these. Host keys
 * strongest first: SHA-1 signatures are not among them.
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
 * The algorithm lists for ssh2; one that the configuration leaves alone stays with ssh2's defaults. Throws where it leaves
 * nothing that ssh2 can do: whoever restricts a list is not given what is outside it.
 */
export function algorithmsFor(options: ConnectionOptions, lines: readonly KnownHostLine[]): Algorithms {
  const { ciphers, kex, macs, hostKey } = options.algorithms;
  const { cipher, hmac, kex: exchanges, serverHostKey } = supportedAlgorithms;
  const common = (option: string, wanted: readonly string[] | undefined, supported: readonly string[]) => {
    const left = wanted?.filter((one) => supported.includes(one)) ?? supported;
    if (left.length === 0) throw nothingLeft(options, option, wanted ?? [], supported);
    return [...new Set(left)];
  };
  return {
    serverHostKey: knownFirst(common('HostKeyAlgorithms', hostKey, serverHostKey), options, lines),
    ...(ciphers === undefined ? {} : { cipher: common('Ciphers', ciphers, cipher) }),
    ...(kex === undefined ? {} : { kex: common('KexAlgorithms', kex, exchanges) }),
    ...(macs === undefined ? {} : { hmac: common('MACs', macs, hmac) }),
  } as Algorithms;
}

/**
 * Host key algorithms in the order we ask for them: those of the keys on file (or pinned) first, or a host
 * known by RSA would show its Ed25519 key and look like another machine.
 */
function knownFirst(
  wanted: readonly string[],
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
    ...wanted.filter((one) => known.has(keyType(one))),
    ...wanted.filter((one) => !known.has(keyType(one))),
  ];
}

function nothingLeft(
  options: ConnectionOptions,
  option: string,
  wanted: readonly string[],
  supported: readonly string[],
): Error {
  return connectError(options, {
    code: 'ssh.handshake',
    what: `${option} of the SSH configuration leaves nothing that the built-in client can do`,
    expected: `one of ${supported.join(', ')}`,
    seen: wanted.join(', '),
    next: `correct ${option} for this host, or set "transport: openssh" for it in the inventory`,
  });
}
