import { constants, createPublicKey, publicEncrypt, type KeyObject } from 'node:crypto';

/** The RSA key that an agent is registered with: both parts in base64, as .NET writes them. */
interface AgentPublicKey {
  readonly exponent: string;
  readonly modulus: string;
}

/** Undefined: the parts are no key. */
export function publicKeyOf({ modulus, exponent }: AgentPublicKey): KeyObject | undefined {
  const url = (base64: string) => Buffer.from(base64, 'base64').toString('base64url');
  const [n, e] = [url(modulus), url(exponent)];
  if (n === '' || e === '') return undefined;
  try {
    return createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' });
  } catch {
    return undefined;
  }
}

/** In base64, as agents read the key of their session. Undefined: the key is none, or too short for so many bytes. */
export function encryptedFor(agentKey: AgentPublicKey, bytes: Buffer): string | undefined {
  const key = publicKeyOf(agentKey);
  if (key === undefined) return undefined;
  try {
    const padding = { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' };
    return publicEncrypt(padding, bytes).toString('base64');
  } catch {
    return undefined;
  }
}
