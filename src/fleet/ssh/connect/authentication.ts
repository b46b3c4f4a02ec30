import { readFileSync, statSync } from 'node:fs';

import ssh2, {
  type AnyAuthMethod,
  type AuthHandlerMiddleware,
  type Client,
  type NextAuthHandler,
  type ParsedKey,
} from 'ssh2';

import { foreignLine, foreignLines } from '../../../shared/base/foreign-text.ts';
import type { Secret } from '../../../shared/base/secret.ts';
import { quote } from '../../../shared/base/shell.ts';
import type { SecretSource } from '../../inventory/fleet.ts';
import type { ConnectionOptions, LoginMethod } from '../config/options.ts';
import { type LeftOut, where } from '../failures.ts';
import type { Prompter, Question } from '../questions.ts';
import { agentKeys, agentLimits, OneKeyAgent } from './agent.ts';
import { hostKeyOf } from './host-keys.ts';
import { keyFault, withAllowedSignature } from './key-rules.ts';

/** A login in progress: ssh2's handler, and descriptions of the attempts so far. */
export interface Login {
  readonly handler: AuthHandlerMiddleware;
  readonly tried: readonly string[];
  readonly leftOut: readonly LeftOut[];
  /** Methods of which the host wants one more, after a credential that it accepted; empty before that. */
  readonly missing: () => readonly string[];
  /** The credential of the last attempt: once the client is connected, the host has accepted it. */
  readonly accepted: () => string | undefined;
  /** Reads the host's answers, of which ssh2 reports too little. Call it once the client connects. */
  attach(client: Client): void;
  /** Ends waiting for an agent. */
  end(): void;
}

interface LoginParts {
  readonly options: ConnectionOptions;
  readonly password: SecretSource | undefined;
  readonly keys: KeyRing;
  readonly prompter: Prompter;
  readonly turn: PromptTurn;
  /** Ends the connection; a new one follows. */
  readonly hangUp: (error: HungUp) => void;
  /** Called around questions, to pause time limits while the user answers. */
  readonly pause: () => () => void;
  /** Shows one line. */
  readonly notice: (line: string) => void;
}

/** A credential that may be offered. */
interface Attempt {
  readonly description: string;
  readonly kind: LoginMethod;
  /** `SHA256:…` of its key, once it is offered. */
  readonly fingerprint?: () => string | undefined;
  /** Returns undefined if it cannot be offered: the user has no passphrase for the key. */
  readonly method: () => AnyAuthMethod | Promise<AnyAuthMethod | undefined>;
}

/** The part of an ssh2 client that gets the host's refusals. */
interface ClientInternals {
  readonly _protocol: {
    readonly _handlers: {
      USERAUTH_FAILURE: (protocol: unknown, left: readonly string[], partial: boolean) => void;
    };
  };
}

/** Maximum credentials that one host may want: a hostile one could ask for the same without end. */
const mostStages = 8;

/**
 * Starts a login with the methods that the SSH configuration allows, in its order: by default keys,
 * keyboard-interactive, password. Offers keys in OpenSSH's order: agent keys of the identity files, other agent keys
 * (unless IdentitiesOnly), unencrypted key files, encrypted ones (asks once). Where the host wants several
 * credentials (AuthenticationMethods), each stage may use all of them but keys that it has accepted; those not tried yet
 * come first, because MaxAuthTries counts the refusals of all stages. NumberOfPasswordPrompts also counts all stages.
 */
export function startLogin(parts: LoginParts): Login {
  const tried: string[] = [];
  const leftOut: LeftOut[] = [];
  const over = new AbortController();
  let waiting: Attempt[] | undefined;
  let made: Attempt[] = [];
  /** Attempts of all stages. */
  const counts = new Map<LoginMethod, number>();
  const mayTry = ({ kind }: Attempt): boolean =>
    left?.includes(kind) !== false &&
    (kind === 'publickey' || (counts.get(kind) ?? 0) < parts.options.login.prompts);
  /** What the host accepts; undefined until it has said so. */
  let left: readonly string[] | undefined;
  let missing: readonly string[] = [];
  let stages = 1;
  let skip = (): void => undefined;

  const nextStage = (): void => {
    const accepted = made.pop();
    const again = accepted === undefined || accepted.kind === 'publickey' ? made : [...made, accepted];
    stages += 1;
    waiting = stages > mostStages ? [] : [...(waiting ?? []), ...again];
    made = [];
    missing = left ?? [];
  };
  const choose = async (): Promise<AnyAuthMethod | false> => {
    waiting ??= await attemptsOf(parts, { leftOut, skip: () => skip(), signal: over.signal });
    for (;;) {
      const attempt = waiting.find(mayTry);
      if (attempt === undefined) return false;
      waiting.splice(waiting.indexOf(attempt), 1);
      const method = await attempt.method();
      if (method === undefined) continue;
      made.push(attempt);
      counts.set(attempt.kind, (counts.get(attempt.kind) ?? 0) + 1);
      if (!tried.includes(attempt.description)) tried.push(attempt.description);
      return method;
    }
  };
  const offer = async (next: NextAuthHandler): Promise<void> => {
    const method = await choose().catch((error: unknown) => {
      if (error instanceof HungUp) parts.hangUp(error);
      return false as const;
    });
    if (!over.signal.aborted) next(method as AnyAuthMethod);
  };
  return {
    handler: (_left, _partial, next) => void offer(next),
    tried,
    leftOut,
    missing: () => missing,
    accepted: () => made.at(-1)?.fingerprint?.() ?? made.at(-1)?.kind,
    attach(client) {
      const { _protocol: protocol } = client as unknown as ClientInternals;
      const handlers = protocol._handlers;
      const refused = handlers.USERAUTH_FAILURE;
      handlers.USERAUTH_FAILURE = (from, methods, partial) => {
        left = methods;
        if (partial) nextStage();
        refused(from, methods, partial);
      };
      skip = () => refused(protocol, left ?? [], false);
    },
    end: () => over.abort(),
  };
}

interface AttemptParts {
  readonly leftOut: LeftOut[];
  /** Continues with the next attempt. */
  readonly skip: () => void;
  readonly signal: AbortSignal;
}

/** Returns what may be offered, in the order of the methods. */
async function attemptsOf(parts: LoginParts, more: AttemptParts): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  for (const method of parts.options.login.methods) {
    const ofMethod =
      method === 'publickey' ? await keyAttempts(parts, more) : passwordAttempts(parts, method);
    attempts.push(...ofMethod);
  }
  return attempts;
}

/** Returns the keys to offer, and adds the others to `leftOut`. */
async function keyAttempts(parts: LoginParts, more: AttemptParts): Promise<Attempt[]> {
  const { options, keys } = parts;
  const { leftOut } = more;
  const named = options.identityFiles.map((file) => keys.publicBlob(file));
  const held = options.agent === undefined ? [] : await keys.agent(options.agent, parts.notice);
  const chosen = named.flatMap((one) => held.filter((key) => blobOf(key) === one));
  const others = options.identitiesOnly ? [] : held.filter((key) => !chosen.includes(key));
  const offered = [...chosen, ...others];
  const fromAgent = new Set(offered.map(blobOf));
  const ofAgent = offered.flatMap((key) =>
    agentAttempt(parts, more, key, options.identityFiles[named.indexOf(blobOf(key))]),
  );
  const files = options.identityFiles.map((file) => keys.file(file));
  for (const [at, file] of files.entries()) {
    if (fromAgent.has(named[at] ?? '')) continue;
    const path = options.identityFiles[at] ?? '';
    if (file?.kind === 'unusable') leftOut.push({ key: path, ...file });
    if (file === undefined && options.identitiesNamed) leftOut.push(missingFile(path, options));
  }
  const own = options.identityOfInventory;
  const isDropped = own !== undefined && !options.identityFiles.includes(own) && keys.file(own) === undefined;
  if (isDropped && !fromAgent.has(keys.publicBlob(own) ?? '')) leftOut.push(missingFile(own, options));
  const ofFile = (file: string, key: () => ParsedKey | Promise<ParsedKey | undefined>): Attempt => {
    let offeredKey: ParsedKey | undefined;
    return {
      description: `key ${file}`,
      kind: 'publickey',
      fingerprint: () => offeredKey && fingerprintOf(offeredKey),
      async method() {
        const found = await key();
        if (found === undefined || !isAllowed(found, file, parts, leftOut)) return undefined;
        offeredKey = found;
        return {
          type: 'publickey',
          username: options.user,
          key: withAllowedSignature(found, options.login),
        };
      },
    };
  };
  const ready = files.flatMap((file) =>
    file?.kind !== 'ready' || fromAgent.has(blobOf(file.key)) ? [] : [ofFile(file.file, () => file.key)],
  );
  const encrypted = files.flatMap((file) => {
    if (file?.kind !== 'encrypted' || fromAgent.has(keys.publicBlob(file.file) ?? '')) return [];
    const unlock = async (): Promise<ParsedKey | undefined> => {
      const key = await unlocked(parts, file);
      if (key === undefined) leftOut.push(locked(file.file));
      return key;
    };
    return [ofFile(file.file, unlock)];
  });
  return [...ofAgent, ...ready, ...encrypted];
}

/** Returns the attempt with a key of the agent; none if it is excluded. `file`: the identity file with this key. */
function agentAttempt(
  parts: LoginParts,
  { leftOut, skip, signal }: AttemptParts,
  key: ParsedKey,
  file: string | undefined,
): Attempt[] {
  const { options, keys, pause, notice } = parts;
  const name = key.comment || key.type;
  const { agent: socket = '', login: rules, user: username } = options;
  if (!isAllowed(key, file ?? name, parts, leftOut)) return [];
  const onRefused = (why: string): void => {
    leftOut.push({ key: name, why });
    skip();
  };
  const onWait = (): void => keys.sayWaiting(socket, notice);
  const agent = new OneKeyAgent({ socket, key, rules, pause, onWait, onRefused, signal });
  const method = (): AnyAuthMethod => ({ type: 'agent', username, agent });
  const fingerprint = (): string => fingerprintOf(key);
  return [{ description: describeAgentKey(key, file), kind: 'publickey', fingerprint, method }];
}

/** Returns whether the SSH configuration allows a key; adds it to `leftOut` if not. */
function isAllowed(key: ParsedKey, name: string, { options }: LoginParts, leftOut: LeftOut[]): boolean {
  const why = keyFault(key, options.login);
  if (why !== undefined) leftOut.push({ key: name, why });
  return why === undefined;
}

/** Returns the base64 blob of a public key, as in its file. */
function blobOf(key: ParsedKey): string {
  return key.getPublicSSH().toString('base64');
}

/** Returns `SHA256:…`, as ssh-keygen prints it. */
function fingerprintOf(key: ParsedKey): string {
  return hostKeyOf(key.getPublicSSH()).fingerprint;
}

function unlocked(
  { keys, options, pause }: LoginParts,
  file: KeyFile & { readonly kind: 'encrypted' },
): Promise<ParsedKey | undefined> {
  const resume = pause();
  return keys.unlock(file, options.name, options.login.prompts).finally(resume);
}

function passwordAttempts(parts: LoginParts, kind: Exclude<LoginMethod, 'publickey'>): Attempt[] {
  const { options, password: source, prompter } = parts;
  if (source === undefined && !prompter.canAsk) return [];
  const given = async (): Promise<Secret | undefined> => source && prompter.resolve(source);
  if (kind === 'keyboard-interactive')
    return [{ description: kind, kind, method: async () => keyboard(parts, await given()) }];
  const method = async (): Promise<AnyAuthMethod | undefined> => {
    const password = (await given()) ?? (await askUser(parts, passwordQuestion(options)));
    return password && { type: kind, username: options.user, password: password.reveal() };
  };
  return [{ description: kind, kind, method }];
}

function missingFile(file: string, { ofInventory }: ConnectionOptions): LeftOut {
  const wrong = ofInventory.has('identityfile')
    ? '"identityFile:" in the inventory'
    : 'IdentityFile in ~/.ssh/config';
  return { key: file, why: 'no such file', next: `correct ${wrong}: there is no ${file}` };
}

function locked(file: string): LeftOut {
  return {
    key: file,
    why: 'needs a passphrase',
    next: `ssh-add ${quote(file)}   # or run this at a terminal, to be asked for its passphrase`,
  };
}

function describeAgentKey(key: ParsedKey, file: string | undefined): string {
  return file === undefined ? `agent key ${key.comment || key.type}` : `key ${file} (of the agent)`;
}

/** Asks the user. Throws HungUp while another host is asking. */
async function askUser(parts: LoginParts, question: Question): Promise<Secret | undefined> {
  parts.turn.begin();
  const resume = parts.pause();
  return parts.prompter.ask(question).finally(resume);
}

function passwordQuestion(options: ConnectionOptions): Question {
  return { host: options.name, text: `Password for ${where(options)}:`, hidden: true };
}

/** Answers the server's questions: a password prompt by the inventory's secret, all others by the user. */
function keyboard(parts: LoginParts, given: Secret | undefined): AnyAuthMethod {
  let used = false;
  return {
    type: 'keyboard-interactive',
    username: parts.options.user,
    prompt(_name, instructions, _lang, prompts, finish) {
      void (async () => {
        const answers: string[] = [];
        for (const { prompt, echo } of prompts) {
          if (given !== undefined && !used && !echo && /password/i.test(prompt)) {
            used = true;
            answers.push(given.reveal());
            continue;
          }
          const question = serverQuestion(parts.options, instructions, { prompt, echo });
          const answer = await askUser(parts, question);
          answers.push(answer?.reveal() ?? '');
        }
        finish(answers);
      })().catch((error: unknown) => (error instanceof HungUp ? parts.hangUp(error) : finish([])));
    },
  };
}

const { utils } = ssh2;

/** A private key from a file: ready, encrypted, or unusable. */
type KeyFile =
  | { readonly kind: 'ready'; readonly file: string; readonly key: ParsedKey }
  | { readonly kind: 'encrypted'; readonly file: string; readonly text: Buffer }
  | { readonly kind: 'unusable'; readonly file: string; readonly why: string; readonly next?: string };

/** Mode bits that give other users access to a file. */
const others = 0o077;

/** Reads key files and agents once for all connections; asks for a passphrase once per file. */
export class KeyRing {
  readonly #prompter: Prompter;
  readonly #files = new Map<string, KeyFile | undefined>();
  readonly #unlocked = new Map<string, Promise<ParsedKey | undefined>>();
  readonly #agents = new Map<string, Promise<readonly ParsedKey[]>>();
  readonly #slowAgents = new Set<string>();

  constructor(prompter: Prompter) {
    this.#prompter = prompter;
  }

  /** Returns undefined if there is no such file. */
  file(path: string): KeyFile | undefined {
    if (!this.#files.has(path)) this.#files.set(path, load(path));
    return this.#files.get(path);
  }

  /** Returns the base64 blob of the public key, without a passphrase if `PATH.pub` exists. */
  publicBlob(path: string): string | undefined {
    const file = this.file(path);
    if (file?.kind === 'ready') return file.key.getPublicSSH().toString('base64');
    try {
      return readFileSync(path.endsWith('.pub') ? path : `${path}.pub`, 'utf8').split(' ')[1];
    } catch {
      return undefined;
    }
  }

  /** Returns undefined without a terminal, or after so many wrong passphrases. */
  unlock(
    file: KeyFile & { readonly kind: 'encrypted' },
    host: string,
    prompts: number,
  ): Promise<ParsedKey | undefined> {
    if (prompts === 0) return Promise.resolve(undefined);
    let unlocked = this.#unlocked.get(file.file);
    if (unlocked === undefined) {
      unlocked = this.#askPassphrase(file, host, prompts);
      this.#unlocked.set(file.file, unlocked);
    }
    return unlocked;
  }

  async #askPassphrase(
    file: KeyFile & { readonly kind: 'encrypted' },
    host: string,
    prompts: number,
  ): Promise<ParsedKey | undefined> {
    for (let attempt = 0; attempt < prompts; attempt += 1) {
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

  /** Returns the agent's keys; none, with one line to the user, if it does not answer. */
  agent(socket: string, notice: (line: string) => void): Promise<readonly ParsedKey[]> {
    let known = this.#agents.get(socket);
    if (known === undefined) {
      known = agentKeys(socket).catch((error: unknown) => {
        const { code, message } = error as NodeJS.ErrnoException;
        // As with ssh, a socket without a listener is no agent.
        if (code === undefined) notice(`the SSH agent at ${socket} is not used: ${message}`);
        return [];
      });
      this.#agents.set(socket, known);
    }
    return known;
  }

  /** Tells the user, once, that a signature of an agent takes long. */
  sayWaiting(socket: string, notice: (line: string) => void): void {
    if (this.#slowAgents.has(socket)) return;
    this.#slowAgents.add(socket);
    const limit = `${agentLimits.signMs / 1000} s`;
    notice(`waiting up to ${limit} for the SSH agent at ${socket}: confirm the use of the key there`);
  }
}

/** Returns whether other users can access a file of this user; like ssh, ignores files of other owners. */
function isOpen(path: string): boolean {
  const { uid, mode } = statSync(path);
  return uid === process.getuid?.() && (mode & others) !== 0;
}

/** Suggests the private key beside a public one. */
function suggestPrivateKey(path: string): string {
  const half = path.endsWith('.pub') ? `: ${path.slice(0, -'.pub'.length)}` : '';
  return `use the private key instead${half}`;
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
    return { kind: 'unusable', file: path, why: 'a public key', next: suggestPrivateKey(path) };
  if (isOpen(path))
    return {
      kind: 'unusable',
      file: path,
      why: 'readable by other users',
      next: `chmod 600 ${quote(path)}`,
    };
  if (!(key instanceof Error)) return { kind: 'ready', file: path, key };
  if (/encrypted|passphrase/i.test(key.message)) return { kind: 'encrypted', file: path, text };
  return {
    kind: 'unusable',
    file: path,
    why: key.message,
    next: `use a private key in OpenSSH format; convert a PuTTY key: puttygen ${quote(path)} -O private-openssh -o NEW`,
  };
}

/** Lets one host at a time ask the user, in the order of asking. */
export class PromptQueue {
  #busy = false;
  readonly #waiting: (() => void)[] = [];

  /** Takes the turn if it is free. */
  take(): boolean {
    if (this.#busy) return false;
    this.#busy = true;
    return true;
  }

  /** Waits for the turn. */
  async wait(): Promise<void> {
    if (this.take()) return;
    await new Promise<void>((resolve) => void this.#waiting.push(resolve));
  }

  /** Passes the turn to the host that has waited longest. */
  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#busy = false;
    else next();
  }
}

/** A login was interrupted because the user is answering another host: dial again when it is this host's turn. */
export class HungUp extends Error {}

/**
 * One host's turn. A login that has a question while another host is asking hangs up, and dials again when it is its
 * turn: by default, sshd ends an idle login after two minutes.
 */
export class PromptTurn {
  readonly #queue: PromptQueue | undefined;
  #hasTurn: boolean;

  /** Without a queue it may always ask: for jump hosts, because the host whose turn it is may need them. */
  constructor(queue: PromptQueue | undefined) {
    this.#queue = queue;
    this.#hasTurn = queue === undefined;
  }

  /** Throws HungUp while another host is asking. */
  begin(): void {
    this.#hasTurn ||= this.#queue?.take() ?? true;
    if (!this.#hasTurn) throw new HungUp('the user is answering another host');
  }

  async wait(): Promise<void> {
    if (this.#hasTurn) return;
    await this.#queue?.wait();
    this.#hasTurn = true;
  }

  end(): void {
    if (this.#hasTurn) this.#queue?.release();
    this.#hasTurn = false;
  }
}

const longestInstructions = 2_000;
const mostLines = 20;
const longestPrompt = 300;

/** Returns a question of the server during login: our text first, then the server's, marked as such. */
export function serverQuestion(
  options: Pick<ConnectionOptions, 'name' | 'user' | 'hostname' | 'port'>,
  instructions: string,
  { prompt, echo }: { readonly prompt: string; readonly echo?: boolean | undefined },
): Question {
  const lines = foreignLines(instructions, longestInstructions)
    .split('\n')
    .map(withoutGaps)
    .filter((line) => line !== '');
  const shown = lines.length > mostLines ? [...lines.slice(0, mostLines), '…'] : lines;
  return {
    host: options.name,
    text: `${where(options)} asks, in its own words:`,
    said: [...shown, withoutGaps(foreignLine(prompt, longestPrompt))].join('\n'),
    hidden: echo !== true,
  };
}

/** Joins spaces: many of them would look like the end of the line. */
function withoutGaps(line: string): string {
  return line.replaceAll(/[\s\u2800]+/g, ' ').trim();
}
