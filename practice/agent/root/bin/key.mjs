// The agent's key, in the form of its file: standard base64, each part of its exact length.
import { generateKeyPairSync } from 'node:crypto';

export function newKey() {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = privateKey.export({ format: 'jwk' });
  const part = (name, length = 0) => {
    const bytes = Buffer.from(jwk[name], 'base64url');
    return Buffer.concat([Buffer.alloc(Math.max(0, length - bytes.length)), bytes]).toString('base64');
  };
  return {
    d: part('d', 256),
    dp: part('dp', 128),
    dq: part('dq', 128),
    exponent: part('e'),
    inverseQ: part('qi', 128),
    modulus: part('n', 256),
    p: part('p', 128),
    q: part('q', 128),
  };
}
