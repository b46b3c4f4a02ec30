import { readFileSync, statSync } from 'node:fs';

import ssh2, { type BaseAgent, type ParsedKey } from 'ssh2';

import { quote } from '../../../shared/base/shell.ts';
import type { Prompter } from '../ask.ts';

const { utils, createAgent } = ssh2;

/** A private key from a file: usable, or waiting for its passphrase. */
export type KeyFile =
  | { readonly kind: 'ready'; readonly file: string; readonly key: ParsedKey }
  | { readonly kind: 'encrypted'; readonly file: string; readonly text: Buffer }
  | { readonly kind: 'unusable'; readonly file: string; readonly why: string; readonly next?: string };

/** Bits of a mode that let others at a file. */
const others = 0o077;

/** Reads key files and agents once for all connections; a passphrase is asked for once per file. */
export class KeyRing {
  readonly #prompter: Prompter;
  readonly #files = new Map<string, KeyFile | undefined>();
  readonly #unlocked = new Map<string, Promise<ParsedKey | undefined>>();
  readonly #agents = new Map<
    string,
    Promise<{ readonly agent: BaseAgent; readonly keys: readonly ParsedKey[] }>
  >();

  constructor(prompter: Prompter) {
    this.#prompter = prompter;
  }

  /** Undefined: no such file. */
  file(path: string): KeyFile | undefined {
    if (!this.#files.has(path)) this.#files.set(path, load(path));
    return this.#files.get(path);
  }

  /** The public half, known without a passphrase when `PATH.pub` lies beside. Base64 blob. */
  publicBlob(path: string): string | undefined {
    const file = this.file(path);
    if (file?.kind === 'ready') return file.key.getPublicSSH().toString('base64');
    try {
      return readFileSync(path.endsWith('.pub') ? path : `${path}.pub`, 'utf8').split(' ')[1];
    } catch {
      return undefined;
    }
  }

  /** Undefined: nobody could be asked, or the passphrase was wrong three times. */
  unlock(file: KeyFile & { readonly kind: 'encrypted' }, host: string): Promise<ParsedKey | undefined> {
    let unlocked = this.#unlocked.get(file.file);
    if (unlocked === undefined) {
      unlocked = this.#askPassphrase(file, host);
      this.#unlocked.set(file.file, unlocked);
    }
    return unlocked;
  }

  async #askPassphrase(
    file: KeyFile & { readonly kind: 'encrypted' },
    host: string,
  ): Promise<ParsedKey | undefined> {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const again = attempt === 0 ? '' : ' (the last one was wrong)';
      const passphrase = await this.#prompter.ask({
        host,
        text: `Passphrase for ${file.file}${again}:`,
        hidden: true,
      });
      if (passphrase === undefined) return undefined;
      const key = utils.parseKey(file.text, passphrase.reveal());
      if (!(key instanceof Error)) return key;
    }
    return undefined;
  }

  /** The agent's keys; an agent that does not answer has none. */
  agent(socket: string): Promise<{ readonly agent: BaseAgent; readonly keys: readonly ParsedKey[] }> {
    let known = this.#agents.get(socket);
    if (known === undefined) {
      const agent = createAgent(socket);
      known = new Promise((resolve) => {
        agent.getIdentities((error, keys) =>
          resolve({ agent, keys: error ? [] : ((keys ?? []) as ParsedKey[]) }),
        );
      });
      this.#agents.set(socket, known);
    }
    return known;
  }
}

/** As ssh judges it: a file of ours that others may read or write; another owner's is theirs to judge. */
function isOpen(path: string): boolean {
  const { uid, mode } = statSync(path);
  return uid === process.getuid?.() && (mode & others) !== 0;
}

/** The two halves lie beside each other. */
function namePrivate(path: string): string {
  const half = path.endsWith('.pub') ? `: ${path.slice(0, -'.pub'.length)}` : '';
  return `name the private key in its place${half}`;
}

function load(path: string): KeyFile | undefined {
  let text: Buffer;
  try {
    text = readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? undefined : { kind: 'unusable', file: path, why: code ?? String(error) };
  }
  const key = utils.parseKey(text);
  if (!(key instanceof Error) && !key.isPrivateKey())
    return { kind: 'unusable', file: path, why: 'a public key', next: namePrivate(path) };
  if (isOpen(path))
    return {
      kind: 'unusable',
      file: path,
      why: 'others can read it',
      next: `chmod 600 ${quote(path)}`,
    };
  if (!(key instanceof Error)) return { kind: 'ready', file: path, key };
  if (/encrypted|passphrase/i.test(key.message)) return { kind: 'encrypted', file: path, text };
  return {
    kind: 'unusable',
    file: path,
    why: key.message,
    next: `name a private key as OpenSSH writes it; one of PuTTY becomes one by: puttygen ${quote(path)} -O private-openssh -o NEW`,
  };
}
