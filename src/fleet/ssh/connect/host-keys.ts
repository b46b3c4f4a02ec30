import { createHash } from 'node:crypto';

import { FleetError, usageError } from '../../../shared/base/errors.ts';
import { quote } from '../../../shared/base/shell.ts';
import type { ConnectionOptions } from '../config/options.ts';
import { connectError, reviewKey } from '../failures.ts';
import { rsaBits } from './key-rules.ts';
import {
  authorityFor,
  checkHostKey,
  type KnownHostLine,
  knownName,
  newKnownHost,
  KnownHostsFile,
} from './known-hosts.ts';

export interface HostKey {
  /** `ssh-ed25519` */
  readonly type: string;
  readonly base64: string;
  /** `SHA256:…` as ssh-keygen prints it. */
  readonly fingerprint: string;
}

/** Reads the key's type out of the blob that a server sends. */
export function hostKeyOf(blob: Buffer): HostKey {
  return {
    type: blob.subarray(4, 4 + blob.readUInt32BE(0)).toString('latin1'),
    base64: blob.toString('base64'),
    fingerprint: `SHA256:${createHash('sha256').update(blob).digest('base64').replaceAll('=', '')}`,
  };
}

/** Returns the name that a host's key is filed under: the alias unchanged, else host name and port. */
export function filedName(options: ConnectionOptions): string {
  return options.hostKeyAlias ?? knownName(options.hostname, options.port);
}

/** Decides on host keys by the user's and the system's known_hosts files; appends new ones, rewrites nothing. */
export class HostKeyStore {
  readonly #files = new Map<string, KnownHostsFile>();

  /** Returns the known_hosts lines of a host, under the name that its key is filed under. */
  async lines(options: ConnectionOptions): Promise<KnownHostLine[]> {
    return (await this.#prepared(options, filedName(options)))();
  }

  /** Compares the hashed names of the files with a name. Returns a function that reads its lines without a pause. */
  async #prepared(options: ConnectionOptions, name: string): Promise<() => KnownHostLine[]> {
    const files = [...options.userKnownHosts, ...options.globalKnownHosts].map((path) => this.#file(path));
    for (const file of files) await file.prepare([name]);
    return () => files.flatMap((file) => file.about([name]));
  }

  /**
   * Accepts the key, or throws. `before`: the lines at the start of the connection. Appends a new key to the first user
   * file under `accept-new`, and under `ask` if the user accepts it, and returns a message about it.
   */
  async check(
    options: ConnectionOptions,
    before: readonly KnownHostLine[],
    key: HostKey,
    ask: (key: HostKey) => Promise<boolean>,
  ): Promise<string | undefined> {
    const bits = rsaBits(Buffer.from(key.base64, 'base64'));
    if (bits !== undefined && bits < options.login.minimumRsaBits) throw tooShort(options, key, bits);
    if (options.pinned.length > 0) {
      if (!options.pinned.some((pin) => pinMatches(pin, key))) throw pinnedMismatch(options, key);
      return undefined;
    }
    const name = filedName(options);
    let lines = before;
    if (checkHostKey(before, name, key).kind === 'unknown') {
      if (await this.#isKnownOnAnyPort(options, key)) return undefined;
      // Another connection to the same host may have added the key since this one began.
      lines = (await this.#prepared(options, name))();
    }
    const verdict = checkHostKey(lines, name, key);
    if (verdict.kind === 'known') return undefined;
    if (verdict.kind === 'revoked') throw revoked(options, key, verdict.line);
    if (verdict.kind === 'changed') throw changed(options, key, name, verdict.lines);
    const authority = authorityFor(lines, name);
    if (authority !== undefined) throw certificateOnly(options, authority);
    if (options.hostKeyPolicy === 'strict') throw unknown(options, key, 'new keys are not accepted (strict)');
    if (options.hostKeyPolicy === 'ask' && !(await ask(key)))
      throw unknown(options, key, 'it was not accepted (StrictHostKeyChecking ask)');
    return `${options.name}: new host key ${key.type} ${key.fingerprint}, ${this.#append(options, name, key)}`;
  }

  /** As in OpenSSH, a key for the name without port is valid on any port. */
  async #isKnownOnAnyPort(options: ConnectionOptions, key: HostKey): Promise<boolean> {
    if (options.hostKeyAlias !== undefined || options.port === 22) return false;
    const name = knownName(options.hostname, 22);
    return checkHostKey((await this.#prepared(options, name))(), name, key).kind === 'known';
  }

  #file(path: string): KnownHostsFile {
    const file = this.#files.get(path) ?? new KnownHostsFile(path);
    this.#files.set(path, file);
    return file;
  }

  /** Appends a key. Returns the result as text: a file that cannot be written is no error. */
  #append(options: ConnectionOptions, name: string, key: HostKey): string {
    const [path] = options.userKnownHosts;
    if (path === undefined || path === '/dev/null') return 'not saved';
    try {
      this.#file(path).append(newKnownHost(name, key, options.hashKnownHosts), name);
    } catch (error) {
      return `not saved: ${(error as Error).message}`;
    }
    return `added to ${path}`;
  }
}

function tooShort(options: ConnectionOptions, key: HostKey, bits: number): FleetError {
  return connectError(options, {
    code: 'ssh.host-key-short',
    what: `the RSA host key of ${options.hostname} is too short`,
    expected: `at least ${options.login.minimumRsaBits} bits (RequiredRSASize)`,
    seen: `${key.type} ${key.fingerprint} with ${bits} bits`,
    next: 'create a longer or an Ed25519 host key on the machine: ssh-keygen -A after removing the old one',
  });
}

function pinMatches(pin: string, key: HostKey): boolean {
  if (pin.startsWith('SHA256:')) return pin.replaceAll('=', '') === key.fingerprint;
  const [type, base64] = pin.trim().split(/\s+/);
  return type === key.type && base64 === key.base64;
}

function changed(
  options: ConnectionOptions,
  key: HostKey,
  name: string,
  lines: readonly KnownHostLine[],
): FleetError {
  const files = [...new Set(lines.map((line) => line.file))];
  return connectError(options, {
    code: 'ssh.host-key-mismatch',
    what: `the host key of ${name} is not the one on file: the machine was reinstalled, or another machine answers`,
    expected: lines.map((line) => `${line.type} at ${line.file}:${line.line}`).join(', '),
    seen: `${key.type} ${key.fingerprint}`,
    next: `compare the fingerprint at the machine's console, then: ${files
      .map((file) => `ssh-keygen -f ${quote(file)} -R ${quote(name)}`)
      .join(' && ')}`,
  });
}

function revoked(options: ConnectionOptions, key: HostKey, line: KnownHostLine): FleetError {
  return connectError(options, {
    code: 'ssh.host-key-revoked',
    what: `the host key of ${options.hostname} is marked @revoked`,
    expected: 'a key that is not revoked',
    seen: `${key.type} ${key.fingerprint}, revoked at ${line.file}:${line.line}`,
    next: 'create a new host key on the machine (ssh-keygen -A after removing the old one); do not log in before that',
  });
}

function unknown(options: ConnectionOptions, key: HostKey, why: string): FleetError {
  return connectError(options, {
    code: 'ssh.host-key-unknown',
    what: `the host key of ${filedName(options)} is not on file, and ${why}`,
    expected: `an entry in ${options.userKnownHosts.join(' or ')}`,
    seen: `${key.type} ${key.fingerprint}`,
    next: reviewKey(options),
  });
}

function pinnedMismatch(options: ConnectionOptions, key: HostKey): FleetError {
  return connectError(options, {
    code: 'ssh.host-key-mismatch',
    what: `the host key of ${options.name} is not the one pinned in the inventory`,
    expected: options.pinned.join(', '),
    seen: `${key.type} ${key.fingerprint}`,
    next: `compare with "ssh-keygen -lf /etc/ssh/ssh_host_${key.type.replace(/^ssh-|-sha2.*$/g, '')}_key.pub" at the machine's console, then: azp-fleet trust ${options.name}`,
  });
}

function certificateOnly(options: ConnectionOptions, line: KnownHostLine): FleetError {
  return connectError(options, {
    code: 'ssh.host-certificate',
    what: `${options.hostname} uses host certificates, which the built-in client does not support`,
    expected: `a certificate signed by the authority at ${line.file}:${line.line}`,
    next: `set "transport: openssh" for this host in the inventory`,
  });
}

/**
 * Returns pinned keys as lines of a known_hosts file, under `alias`. Throws `ssh.pin` for a fingerprint: ssh compares
 * keys.
 */
export function pinnedLines(
  { name, pinned }: Pick<ConnectionOptions, 'name' | 'pinned'>,
  alias: string,
  user: string,
): string {
  if (pinned.some((pin) => pin.startsWith('SHA256:'))) {
    throw usageError({
      code: 'ssh.pin',
      host: name,
      what: `${user} needs whole public keys under hostKeys, not fingerprints`,
      next: `azp-fleet trust --limit ${name}   # collects them`,
    });
  }
  return pinned.map((pin) => `${alias} ${pin.trim()}\n`).join('');
}
