import { createPrivateKey, randomUUID, sign, X509Certificate, type KeyObject } from 'node:crypto';

import { Secret } from '../../base/secret.ts';

/** A certificate with its private key: signs assertions for Microsoft Entra ID. */
interface SigningCertificate {
  readonly key: KeyObject;
  /** base64url of the certificate's digests. */
  readonly sha1: string;
  readonly sha256: string;
  /** Milliseconds since the epoch. */
  readonly validFrom: number;
  readonly validTo: number;
}

/** Why a text is no certificate that can sign: what is seen, and what to do. */
interface CertificateMistake {
  readonly seen: string;
  readonly next: string;
}

/** The shortest RSA key that Microsoft Entra ID accepts, in bits. */
const leastBits = 2048;

const together = 'write private key and certificate, both as PEM, into the file';

/** Reads a PEM text with an RSA key and its certificate. Pure; quotes nothing of the text. */
export function readCertificate(text: string): SigningCertificate | CertificateMistake {
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(text))
    return {
      seen: 'the private key has a passphrase',
      next: 'remove it, since the hosts cannot ask for it: openssl pkey -in OLD -out NEW',
    };
  const key = keyIn(text);
  if (key === undefined) return { seen: 'no private key', next: together };
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType !== 'rsa' || bits < leastBits)
    return {
      seen: key.asymmetricKeyType === 'rsa' ? `an RSA key of ${bits} bits` : 'a key that is not RSA',
      next: `create a certificate with an RSA key of at least ${leastBits} bits`,
    };
  const certificates = certificatesIn(text);
  const own = certificates.find((each) => each.checkPrivateKey(key));
  if (own === undefined)
    return {
      seen: certificates.length === 0 ? 'no certificate' : 'a certificate of another key',
      next: together,
    };
  return {
    key,
    sha1: thumbprint(own.fingerprint),
    sha256: thumbprint(own.fingerprint256),
    validFrom: Date.parse(own.validFrom),
    validTo: Date.parse(own.validTo),
  };
}

/** Returns the mistake of a certificate that is not valid at this time. Pure. */
export function timeMistake(
  { validFrom, validTo }: SigningCertificate,
  now: number,
): CertificateMistake | undefined {
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  if (validTo <= now)
    return {
      seen: `the certificate ended on ${day(validTo)}`,
      next: 'create a new one, add it to the application, and write it to the same file',
    };
  if (validFrom > now)
    return {
      seen: `the certificate begins on ${day(validFrom)}`,
      next: 'check the clock of this machine',
    };
  return undefined;
}

function keyIn(text: string): KeyObject | undefined {
  try {
    return createPrivateKey(text);
  } catch {
    return undefined;
  }
}

function certificatesIn(text: string): X509Certificate[] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return [];
    }
  });
}

function thumbprint(fingerprint: string): string {
  return Buffer.from(fingerprint.replaceAll(':', ''), 'hex').toString('base64url');
}

/** How long an assertion is valid: Microsoft Entra ID accepts at most ten minutes. */
const assertionS = 5 * 60;
/** For a clock that is a little ahead of the server's. */
const skewS = 60;

/** Returns a JSON Web Token that proves possession of the key. A new one for each request: the server accepts each once. */
export function clientAssertion(
  { key, sha1, sha256 }: SigningCertificate,
  { clientId, audience, now }: { readonly clientId: string; readonly audience: string; readonly now: number },
): Secret {
  const seconds = Math.floor(now / 1000);
  const header = { alg: 'RS256', typ: 'JWT', x5t: sha1, 'x5t#S256': sha256 };
  const claims = {
    aud: audience,
    iss: clientId,
    sub: clientId,
    jti: randomUUID(),
    nbf: seconds - skewS,
    exp: seconds + assertionS,
  };
  const signed = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const signature = sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url');
  return new Secret(`${signed}.${signature}`);
}
