import { createHmac, randomBytes } from 'node:crypto';

import { matchList } from './pattern.ts';
import { isPublicKey, keyType } from './public-key.ts';

/** One usable line of a known_hosts file. */
export interface KnownHostLine {
  readonly marker: 'revoked' | 'cert-authority' | undefined;
  /** Plain patterns, or one hashed name. */
  readonly names: readonly string[];
  readonly type: string;
  /** Base64. */
  readonly key: string;
  readonly file: string;
  readonly line: number;
}

/** What does not parse, or is a key of another type than the line says, is no key, as with OpenSSH. */
export function parseKnownHosts(text: string, file: string): KnownHostLine[] {
  const lines: KnownHostLine[] = [];
  for (const [index, source] of text.split('\n').entries()) {
    const words = source
      .replace(/^[ \t]+/, '')
      .replace(/\r$/, '')
      .split(/[ \t]+/);
    if (words[0] === '' || words[0]?.startsWith('#')) continue;
    const marker = words[0]?.startsWith('@') ? words.shift() : undefined;
    const [names, type, key] = words;
    if (names === undefined || type === undefined || key === undefined) continue;
    if (marker !== undefined && marker !== '@revoked' && marker !== '@cert-authority') continue;
    if (!isPublicKey(type, key)) continue;
    lines.push({
      marker: marker === undefined ? undefined : marker === '@revoked' ? 'revoked' : 'cert-authority',
      names: names.split(','),
      type: keyType(type),
      key,
      file,
      line: index + 1,
    });
  }
  return lines;
}

/** The name under which OpenSSH files a host: bare on port 22, `[host]:port` elsewhere. */
export function knownName(host: string, port: number): string {
  const name = host.toLowerCase();
  return port === 22 ? name : `[${name}]:${port}`;
}

export function lineMatches(line: KnownHostLine, name: string): boolean {
  const [first = ''] = line.names;
  if (!first.startsWith('|'))
    return matchList(
      name,
      line.names.map((pattern) => pattern.toLowerCase()),
    );
  const [, version, salt = '', hash] = first.split('|');
  return version === '1' && hashName(name, salt) === hash;
}

export type HostKeyVerdict =
  | { readonly kind: 'known'; readonly line: KnownHostLine }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'changed'; readonly lines: readonly KnownHostLine[] }
  | { readonly kind: 'revoked'; readonly line: KnownHostLine };

/**
 * What the files say of a key that a host showed. A key of another type than those on file counts as
 * changed, as with OpenSSH; the types on file are offered first so that this does not happen by chance.
 */
export function checkHostKey(
  lines: readonly KnownHostLine[],
  name: string,
  key: { readonly type: string; readonly base64: string },
): HostKeyVerdict {
  const revoked = lines.find(
    (line) => line.marker === 'revoked' && line.key === key.base64 && lineMatches(line, name),
  );
  if (revoked !== undefined) return { kind: 'revoked', line: revoked };
  const own = lines.filter((line) => line.marker === undefined && lineMatches(line, name));
  const exact = own.find((line) => line.key === key.base64);
  if (exact !== undefined) return { kind: 'known', line: exact };
  return own.length === 0 ? { kind: 'unknown' } : { kind: 'changed', lines: own };
}

/** Whether a certificate authority is on file for the name: keys of such a host are certificates. */
export function authorityFor(lines: readonly KnownHostLine[], name: string): KnownHostLine | undefined {
  return lines.find((line) => line.marker === 'cert-authority' && lineMatches(line, name));
}

/** The line to append for a new key. */
export function newKnownHost(name: string, key: { type: string; base64: string }, hashed: boolean): string {
  if (!hashed) return `${name} ${key.type} ${key.base64}\n`;
  const salt = randomBytes(20).toString('base64');
  return `|1|${salt}|${hashName(name, salt)} ${key.type} ${key.base64}\n`;
}

function hashName(name: string, salt: string): string {
  return createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest('base64');
}
