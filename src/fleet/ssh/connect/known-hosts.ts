import { createHmac, randomBytes, createPublicKey } from 'node:crypto';
import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';

import pLimit from 'p-limit';

import { HashedName, HashInput } from './hashed-name.ts';

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

/** Parses known_hosts lines. As in OpenSSH, skips invalid lines and keys of another type than the line's. */
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

/** Returns a host's name in known_hosts: `host` on port 22, else `[host]:port`. */
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
  return HashedName.parse(first)?.matches(new HashInput(name)) === true;
}

export type HostKeyVerdict =
  | { readonly kind: 'known'; readonly line: KnownHostLine }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'changed'; readonly lines: readonly KnownHostLine[] }
  | { readonly kind: 'revoked'; readonly line: KnownHostLine };

/**
 * Compares a host's key with known_hosts. As in OpenSSH, a key of another type than the known ones counts as changed;
 * the known types are negotiated first, so that this does not happen by chance.
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

/** Returns the line of a certificate authority for a name: such a host has a certificate. */
export function authorityFor(lines: readonly KnownHostLine[], name: string): KnownHostLine | undefined {
  return lines.find((line) => line.marker === 'cert-authority' && lineMatches(line, name));
}

/** Returns the line for a new key. */
export function newKnownHost(name: string, key: { type: string; base64: string }, hashed: boolean): string {
  if (!hashed) return `${name} ${key.type} ${key.base64}\n`;
  const salt = randomBytes(20);
  const hash = createHmac('sha1', salt).update(name).digest('base64');
  return `|1|${salt.toString('base64')}|${hash} ${key.type} ${key.base64}\n`;
}

/** Matches as OpenSSH does: `*` is any text, `?` any character; nothing else is special. */
function matchPattern(text: string, pattern: string): boolean {
  if (!/[*?]/.test(pattern)) return text === pattern;
  const source = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll(/\*+/g, '[^]*')
    .replaceAll('?', '[^]');
  return new RegExp(`^${source}$`).test(text);
}

/** Matches a list of patterns: a matching `!` pattern excludes the text, otherwise one match is enough. */
function matchList(text: string, patterns: readonly string[]): boolean {
  let found = false;
  for (const pattern of patterns) {
    const negated = pattern.startsWith('!');
    if (!matchPattern(text, negated ? pattern.slice(1) : pattern)) continue;
    if (negated) return false;
    found = true;
  }
  return found;
}

/** Bits of an RSA key that OpenSSH accepts: fewer are weak, more cost too much time. */
const rsaBits = { min: 1024, max: 16_384 };

/** Validates the fields of a key by its type. */
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

/** Returns whether a public key is valid: a type, and a base64 blob of that type. */
function isPublicKey(type: string, base64: string): boolean {
  const blob = Buffer.from(base64, 'base64');
  // As in OpenSSH: padded, without other characters.
  if (blob.toString('base64') !== base64) return false;
  const [name, ...fields] = fieldsOf(blob) ?? [];
  const own = name?.toString('latin1') ?? '';
  return keyType(own) === keyType(type) && shapes[keyType(own)]?.(fields) === true;
}

/** Returns the key type of a signature algorithm. */
export function keyType(algorithm: string): string {
  return algorithm.startsWith('rsa-sha2-') ? 'ssh-rsa' : algorithm;
}

/** Splits a blob of strings, each with its length before it; undefined if they do not fill it. */
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

/** Returns whether a field is a non-negative number. */
function isNumber(field: Buffer): boolean {
  return field.length > 0 && (field[0] ?? 0x80) < 0x80;
}

function isRsaModulus(field: Buffer | undefined): boolean {
  const hex = field?.toString('hex').replace(/^0+/, '') ?? '';
  const bits = hex === '' ? 0 : (hex.length - 1) * 4 + Number.parseInt(hex[0] ?? '0', 16).toString(2).length;
  return bits >= rsaBits.min && bits <= rsaBits.max;
}

/** Returns a check for the curve's name and an uncompressed point on it. */
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

/** Lines with hashed names that are compared without a pause: about 2 ms. */
const slice = 2048;
/** One lookup at a time: several would each add a slice to a turn of the event loop. */
const lookups = pLimit(1);

interface HashedLine {
  readonly line: KnownHostLine;
  readonly name: HashedName;
}

/** The lines of one version of a file. */
class KnownHostsTable {
  /** Lines by plain name, for fast look-up in a large fleet. */
  readonly #byName = new Map<string, KnownHostLine[]>();
  /** Lines with patterns, which are all compared. */
  readonly #patterns: KnownHostLine[] = [];
  /** Lines with a hashed name that is not found yet; the others are in `#found`. */
  #hashed: HashedLine[] = [];
  /** Lines with a hashed name, by all names that were compared. */
  readonly #found = new Map<string, readonly KnownHostLine[]>();

  add(line: KnownHostLine): void {
    const [first = ''] = line.names;
    if (first.startsWith('|')) {
      const name = HashedName.parse(first);
      if (name !== undefined) this.#hashed.push({ line, name });
      return;
    }
    if (line.names.some((name) => /[*?!]/.test(name))) {
      this.#patterns.push(line);
      return;
    }
    for (const name of line.names.map((each) => each.toLowerCase())) {
      const lines = this.#byName.get(name);
      if (lines === undefined) this.#byName.set(name, [line]);
      else lines.push(line);
    }
  }

  /** Compares the hashed names with a name that was not compared yet. Yields between slices. */
  *compare(name: string): Generator<void, void, undefined> {
    if (this.#found.has(name)) return;
    const text = new HashInput(name);
    const matching: KnownHostLine[] = [];
    const others: HashedLine[] = [];
    for (const [index, each] of this.#hashed.entries()) {
      if (each.name.matches(text)) matching.push(each.line);
      else others.push(each);
      if (index % slice === slice - 1) yield;
    }
    // A hash has one name: these lines are not compared again.
    this.#hashed = others;
    this.#found.set(name, matching);
  }

  /** Returns the lines for a name that was compared. */
  linesOf(name: string): KnownHostLine[] {
    const patterned = this.#patterns.filter((line) => lineMatches(line, name));
    return [...(this.#byName.get(name) ?? []), ...patterned, ...(this.#found.get(name) ?? [])];
  }
}

/** One known_hosts file, read again only if it has changed. */
export class KnownHostsFile {
  readonly #path: string;
  #stamp = '';
  #table = new KnownHostsTable();

  constructor(path: string) {
    this.#path = path;
  }

  /** Compares hashed names with these, in slices that leave time for other hosts, so that `about` is fast. */
  prepare(names: readonly string[]): Promise<void> {
    return lookups(async () => {
      this.#refresh();
      for (const name of names) {
        for (const _pause of this.#table.compare(name)) await setImmediate();
      }
    });
  }

  /** Returns the lines for any of the names. */
  about(names: readonly string[]): KnownHostLine[] {
    this.#refresh();
    const lines = names.flatMap((name) => {
      for (const _pause of this.#table.compare(name));
      return this.#table.linesOf(name);
    });
    return [...new Set(lines)].sort((a, b) => a.line - b.line);
  }

  /** Appends a line; `name` is its plain name. Throws if the file cannot be written. */
  append(text: string, name: string): void {
    this.#refresh();
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    appendFileSync(this.#path, this.#endsOpen() ? `\n${text}` : text, { mode: 0o600 });
    for (const line of parseKnownHosts(text, this.#path)) this.#table.add({ ...line, names: [name] });
    this.#stamp = this.#currentStamp();
  }

  #refresh(): void {
    const stamp = this.#currentStamp();
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    this.#table = new KnownHostsTable();
    for (const line of parseKnownHosts(textOf(this.#path), this.#path)) this.#table.add(line);
  }

  /** Returns a text that changes with the file; empty without a file. */
  #currentStamp(): string {
    const stat = statSync(this.#path, { throwIfNoEntry: false });
    return stat === undefined ? '' : `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
  }

  /** Returns whether the last line lacks its newline, so that an appended entry would join it. */
  #endsOpen(): boolean {
    const size = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
    if (size === 0) return false;
    const last = Buffer.alloc(1);
    const descriptor = openSync(this.#path, 'r');
    try {
      readSync(descriptor, last, 0, 1, size - 1);
    } finally {
      closeSync(descriptor);
    }
    return last.toString() !== '\n';
  }
}

/** Reads a file; as in OpenSSH, one that cannot be read counts as empty. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
