import type { ParsedKey } from 'ssh2';

import type { ConnectionOptions } from '../config/options.ts';

/** What the SSH configuration demands of keys: PubkeyAcceptedAlgorithms and RequiredRSASize. */
export type KeyRules = Pick<ConnectionOptions['login'], 'keyAlgorithms' | 'minimumRsaBits'>;

/** Returns the length of an RSA key's modulus in bits, from its public blob. Undefined: another type of key. */
export function rsaBits(blob: Buffer): number | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; at + 4 <= blob.length && parts.length < 3;) {
    const end = at + 4 + blob.readUInt32BE(at);
    parts.push(blob.subarray(at + 4, end));
    at = end;
  }
  const [type, , modulus] = parts;
  if (type?.toString('latin1') !== 'ssh-rsa' || modulus === undefined) return undefined;
  const first = modulus.findIndex((byte) => byte !== 0);
  if (first === -1) return 0;
  return (modulus.length - first) * 8 - Math.clz32(modulus[first] ?? 0) + 24;
}

/** Signature algorithms of an RSA key, by the hash that ssh2 asks for. */
const rsaAlgorithms: Readonly<Record<string, string>> = { sha256: 'rsa-sha2-256', sha512: 'rsa-sha2-512' };

/** Returns why a user's key may not be offered; undefined: it may. */
export function keyFault(key: ParsedKey, { keyAlgorithms, minimumRsaBits }: KeyRules): string | undefined {
  const bits = rsaBits(key.getPublicSSH());
  if (bits !== undefined && bits < minimumRsaBits)
    return `RSA with ${bits} bits; RequiredRSASize is ${minimumRsaBits}`;
  // ssh2 prefers this one wherever the server accepts it.
  const algorithm = key.type === 'ssh-rsa' ? 'rsa-sha2-256' : key.type;
  return keyAlgorithms?.includes(algorithm) === false
    ? `${algorithm} is not in PubkeyAcceptedAlgorithms`
    : undefined;
}

/**
 * Returns why a key may not sign with a hash, which ssh2 selects by the server's algorithms; undefined: it may. No hash
 * means SHA-1 with RSA keys.
 */
export function signatureFault(
  { type }: ParsedKey,
  hash: string | undefined,
  { keyAlgorithms }: KeyRules,
): string | undefined {
  const algorithm = type === 'ssh-rsa' ? (rsaAlgorithms[hash ?? ''] ?? 'ssh-rsa') : type;
  return keyAlgorithms?.includes(algorithm) === false
    ? `the server asks for ${algorithm}, which is not in PubkeyAcceptedAlgorithms`
    : undefined;
}

/** Returns the same key, which does not sign with an algorithm that the rules exclude. */
export function withAllowedSignature(key: ParsedKey, rules: KeyRules): ParsedKey {
  if (rules.keyAlgorithms === undefined) return key;
  return Object.create(key, {
    sign: {
      value(data: Buffer | string, hash?: string): Buffer | Error {
        const why = signatureFault(key, hash, rules);
        return why === undefined ? key.sign(data, hash) : new Error(why);
      },
    },
  }) as ParsedKey;
}
