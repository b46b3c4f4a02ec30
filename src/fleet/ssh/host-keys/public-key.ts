import { createPublicKey } from 'node:crypto';

/** Bits of an RSA key that OpenSSH takes: fewer are weak, more are a way to keep it busy. */
const rsaBits = { min: 1024, max: 16_384 };

/** The type that a blob names has a shape; what has another one is no key. */
const shapes: Readonly<Record<string, (fields: readonly Buffer[]) => boolean>> = {
  'ssh-ed25519': (fields) => fields.length === 1 && fields[0]?.length === 32,
  'sk-ssh-ed25519@openssh.com': (fields) => fields.length === 2 && fields[0]?.length === 32,
  'ssh-rsa': (fields) => fields.length === 2 && fields.every(isNumber) && isRsaModulus(fields[1]),
  'ssh-dss': (fields) => fields.length === 4 && fields.every(isNumber),
  'ecdsa-sha2-nistp256': isCurve('nistp256', 'P-256'),
  'ecdsa-sha2-nistp384': isCurve('nistp384', 'P-384'),
  'ecdsa-sha2-nistp521': isCurve('nistp521', 'P-521'),
  'sk-ecdsa-sha2-nistp256@openssh.com': (fields) =>
    fields.length === 3 && isCurve('nistp256', 'P-256')(fields.slice(0, 2)),
};

/** Whether a public key as OpenSSH writes it is one: a type, and in base64 a blob of that type. */
export function isPublicKey(type: string, base64: string): boolean {
  const blob = Buffer.from(base64, 'base64');
  // As OpenSSH: padded, and nothing else in it.
  if (blob.toString('base64') !== base64) return false;
  const [name, ...fields] = fieldsOf(blob) ?? [];
  const own = name?.toString('latin1') ?? '';
  return keyType(own) === keyType(type) && shapes[keyType(own)]?.(fields) === true;
}

/** Signature algorithms by the type of key that makes them. */
export function keyType(algorithm: string): string {
  return algorithm.startsWith('rsa-sha2-') ? 'ssh-rsa' : algorithm;
}

/** Strings with their lengths before them; undefined when they do not fill it. */
function fieldsOf(blob: Buffer): Buffer[] | undefined {
  const fields: Buffer[] = [];
  for (let at = 0; at < blob.length;) {
    if (at + 4 > blob.length) return undefined;
    const end = at + 4 + blob.readUInt32BE(at);
    if (end > blob.length) return undefined;
    fields.push(blob.subarray(at + 4, end));
    at = end;
  }
  return fields;
}

/** A number that is not negative. */
function isNumber(field: Buffer): boolean {
  return field.length > 0 && (field[0] ?? 0x80) < 0x80;
}

function isRsaModulus(field: Buffer | undefined): boolean {
  const hex = field?.toString('hex').replace(/^0+/, '') ?? '';
  const bits = hex === '' ? 0 : (hex.length - 1) * 4 + Number.parseInt(hex[0] ?? '0', 16).toString(2).length;
  return bits >= rsaBits.min && bits <= rsaBits.max;
}

/** Its name, and a point on it, not compressed. */
function isCurve(name: string, crv: string): (fields: readonly Buffer[]) => boolean {
  return ([curve, point, ...more]) => {
    if (more.length > 0 || curve?.toString('latin1') !== name || point?.[0] !== 4) return false;
    const half = (point.length - 1) / 2;
    const [x, y] = [point.subarray(1, 1 + half), point.subarray(1 + half)];
    try {
      const key = { kty: 'EC', crv, x: x.toString('base64url'), y: y.toString('base64url') };
      createPublicKey({ key, format: 'jwk' });
      return true;
    } catch {
      return false;
    }
  };
}
