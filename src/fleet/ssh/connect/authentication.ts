import { readFileSync, statSync } from 'node:fs';

import ssh2, {
  type AnyAuthMethod,
  type AuthHandlerMiddleware,
  type BaseAgent,
  type NextAuthHandler,
  type ParsedKey,
  type SignCallback,
  type SigningRequestOptions,
} from 'ssh2';

import { foreignLine, foreignLines } from '../../../shared/base/foreign-text.ts';
import type { Secret } from '../../../shared/base/secret.ts';
import { quote } from '../../../shared/base/shell.ts';
import type { SecretSource } from '../../inventory/fleet.ts';
import type { ConnectionOptions } from '../config/options.ts';
import { type LeftOut, where } from '../failures.ts';
import type { Prompter, Question } from '../questions.ts';

/** A login in progress: ssh2's handler, and what has been tried so far, in words. */
export interface Login {
  readonly handler: AuthHandlerMiddleware;
  readonly tried: readonly string[];
  readonly leftOut: readonly LeftOut[];
}

interface LoginParts {
  readonly options: ConnectionOptions;
  readonly password: SecretSource | undefined;
  readonly keys: KeyRing;
  readonly prompter: Prompter;
  readonly turn: PromptTurn;
  /** Ends the connection, which another one will follow. */
  readonly hangUp: (error: HungUp) => void;
  /** Called around questions, so that no clock runs while a person thinks. */
  readonly pause: () => () => void;
}

type Attempt = { readonly say: string; readonly kind: Kind; readonly method: AnyAuthMethod };
type Kind = 'publickey' | 'password' | 'keyboard-interactive';

/**
 * Offers, in OpenSSH's order: keys of the agent that an identity file names, other agent keys (unless
 * IdentitiesOnly), plain key files, encrypted ones (asking once), keyboard-interactive, password.
 */
export function startLogin(parts: LoginParts): Login {
  const tried: string[] = [];
  const leftOut: LeftOut[] = [];
  const attempts = plan(parts, leftOut);
  /** ssh2 gives null for `left` at first, and takes false for "no more". */
  const choose = async (left: readonly string[] | null): Promise<AnyAuthMethod | false> => {
    for (;;) {
      // Not for-await: leaving such a loop would end the plan, which goes on with the next call.
      const step = await attempts.next();
      if (step.done === true) return false;
      const { say, kind, method } = step.value;
      if (left !== null && !left.includes(kind)) continue;
      tried.push(say);
      return method;
    }
  };
  const offer = async (left: readonly string[] | null, next: NextAuthHandler): Promise<void> => {
    const method = await choose(left).catch((error: unknown) => {
      if (error instanceof HungUp) parts.hangUp(error);
      return false as const;
    });
    next(method as AnyAuthMethod);
  };
  const handler: AuthHandlerMiddleware = (left, _partial, next) => void offer(left, next);
  return { handler, tried, leftOut };
}

async function* plan(parts: LoginParts, leftOut: LeftOut[]): AsyncGenerator<Attempt, void, undefined> {
  const { options, keys, prompter } = parts;
  const username = options.user;
  const named = options.identityFiles.map((file) => keys.publicBlob(file));
  const fromAgent = new Set<string>();
  if (options.agent !== undefined) {
    const { agent, keys: held } = await keys.agent(options.agent);
    const blob = (key: ParsedKey): string => key.getPublicSSH().toString('base64');
    const chosen = named.flatMap((one) => held.filter((key) => blob(key) === one));
    const others = options.identitiesOnly ? [] : held.filter((key) => !chosen.includes(key));
    for (const key of [...chosen, ...others]) {
      fromAgent.add(blob(key));
      yield {
        say: sayAgentKey(key, options.identityFiles[named.indexOf(blob(key))]),
        kind: 'publickey',
        method: { type: 'agent', username, agent: new OneKeyAgent(agent, key) },
      };
    }
  }
  const files = options.identityFiles.map((file) => keys.file(file));
  for (const [at, file] of files.entries()) {
    if (fromAgent.has(named[at] ?? '')) continue;
    const path = options.identityFiles[at] ?? '';
    if (file?.kind === 'unusable') leftOut.push({ key: path, ...file });
    if (file === undefined && options.identitiesNamed) leftOut.push(missing(path, options));
  }
  const own = options.identityOfInventory;
  const isDropped = own !== undefined && !options.identityFiles.includes(own) && keys.file(own) === undefined;
  if (isDropped && !fromAgent.has(keys.publicBlob(own) ?? '')) leftOut.push(missing(own, options));
  for (const file of files) {
    if (file?.kind !== 'ready' || fromAgent.has(file.key.getPublicSSH().toString('base64'))) continue;
    yield {
      say: `key ${file.file}`,
      kind: 'publickey',
      method: { type: 'publickey', username, key: file.key },
    };
  }
  for (const file of files) {
    if (file?.kind !== 'encrypted' || fromAgent.has(keys.publicBlob(file.file) ?? '')) continue;
    const resume = parts.pause();
    const key = await keys.unlock(file, options.name).finally(resume);
    if (key === undefined) {
      leftOut.push(locked(file.file));
      continue;
    }
    yield { say: `key ${file.file}`, kind: 'publickey', method: { type: 'publickey', username, key } };
  }
  const given = parts.password === undefined ? undefined : await prompter.resolve(parts.password);
  if (given !== undefined || prompter.canAsk) {
    yield { say: 'keyboard-interactive', kind: 'keyboard-interactive', method: keyboard(parts, given) };
    const password = given ?? (await askPerson(parts, passwordQuestion(options)));
    if (password === undefined) return;
    yield {
      say: 'password',
      kind: 'password',
      method: { type: 'password', username, password: password.reveal() },
    };
  }
}

function missing(file: string, { ofInventory }: ConnectionOptions): LeftOut {
  const wrong = ofInventory.has('identityfile')
    ? '"identityFile:" in the inventory'
    : 'IdentityFile in ~/.ssh/config';
  return { key: file, why: 'no such file', next: `correct ${wrong}: there is no ${file}` };
}

function locked(file: string): LeftOut {
  return {
    key: file,
    why: 'it needs a passphrase',
    next: `ssh-add ${quote(file)}   # or run this at a terminal, to be asked for its passphrase`,
  };
}

function sayAgentKey(key: ParsedKey, file: string | undefined): string {
  return file === undefined ? `agent key ${key.comment || key.type}` : `key ${file} (of the agent)`;
}

/** Asks when no other host is asking; until then this one hangs up. */
async function askPerson(parts: LoginParts, question: Question): Promise<Secret | undefined> {
  parts.turn.begin();
  const resume = parts.pause();
  return parts.prompter.ask(question).finally(resume);
}

function passwordQuestion(options: ConnectionOptions): Question {
  return { host: options.name, text: `Password for ${where(options)}:`, hidden: true };
}

/** Answers the server's questions: a password prompt from the inventory's secret, all others by the person. */
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
          const answer = await askPerson(parts, question);
          answers.push(answer?.reveal() ?? '');
        }
        finish(answers);
      })().catch((error: unknown) => (error instanceof HungUp ? parts.hangUp(error) : finish([])));
    },
  };
}

/** One key of an agent: ssh2 would otherwise offer all of them in the agent's order, past MaxAuthTries. */
class OneKeyAgent extends ssh2.BaseAgent<ParsedKey> {
  readonly #agent: BaseAgent;
  readonly #key: ParsedKey;

  constructor(agent: BaseAgent, key: ParsedKey) {
    super();
    this.#agent = agent;
    this.#key = key;
  }

  override getIdentities(callback: (error: undefined, keys: ParsedKey[]) => void): void {
    callback(undefined, [this.#key]);
  }

  override sign(
    key: ParsedKey,
    data: Buffer,
    options: SigningRequestOptions | SignCallback,
    callback?: SignCallback,
  ): void {
    const done = typeof options === 'function' ? options : (callback ?? (() => undefined));
    this.#agent.sign(key, data, typeof options === 'function' ? {} : options, done);
  }
}

const { utils, createAgent } = ssh2;

/** A private key from a file: usable, or waiting for its passphrase. */
type KeyFile =
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

  /** Undefined: there is no terminal, or the passphrase was wrong three times. */
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

/** The person's attention, for one host's questions at a time, in the order of asking. */
export class PromptQueue {
  #taken = false;
  readonly #waiting: (() => void)[] = [];

  /** Takes it when it is free. */
  take(): boolean {
    if (this.#taken) return false;
    this.#taken = true;
    return true;
  }

  /** Resolves when it is ours. */
  async wait(): Promise<void> {
    if (this.take()) return;
    await new Promise<void>((resolve) => void this.#waiting.push(resolve));
  }

  /** Hands it to who waits longest. */
  giveUp(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken = false;
    else next();
  }
}

/** A login hung up because the person is talking to another host: come back when it is its turn. */
export class HungUp extends Error {}

/**
 * One host's part of it. A login that needs the person while another host is asking hangs up and dials again when
 * it is its turn: an sshd gives up on a login that stands still, after two minutes by default.
 */
export class PromptTurn {
  readonly #queue: PromptQueue | undefined;
  #mine: boolean;

  /** Without a queue it may always ask: jump hosts, on which the host whose turn it is may be waiting. */
  constructor(queue: PromptQueue | undefined) {
    this.#queue = queue;
    this.#mine = queue === undefined;
  }

  /** Throws HungUp when another host is talking. */
  begin(): void {
    this.#mine ||= this.#queue?.take() ?? true;
    if (!this.#mine) throw new HungUp('the person is talking to another host');
  }

  async wait(): Promise<void> {
    if (this.#mine) return;
    await this.#queue?.wait();
    this.#mine = true;
  }

  end(): void {
    if (this.#mine) this.#queue?.giveUp();
    this.#mine = false;
  }
}

const longestInstructions = 2_000;
const mostLines = 20;
const longestPrompt = 300;

/** What a server wants to know before it has let anybody in: that it asks is said in our words, the rest is its own. */
export function serverQuestion(
  options: Pick<ConnectionOptions, 'name' | 'user' | 'hostname' | 'port'>,
  instructions: string,
  { prompt, echo }: { readonly prompt: string; readonly echo?: boolean | undefined },
): Question {
  const lines = foreignLines(instructions, longestInstructions)
    .split('\n')
    .map(closed)
    .filter((line) => line !== '');
  const shown = lines.length > mostLines ? [...lines.slice(0, mostLines), '…'] : lines;
  return {
    host: options.name,
    text: `${where(options)} asks, in its own words:`,
    said: [...shown, closed(foreignLine(prompt, longestPrompt))].join('\n'),
    hidden: echo !== true,
  };
}

/** Many spaces would look like the end of the line. */
function closed(line: string): string {
  return line.replaceAll(/[\s\u2800]+/g, ' ').trim();
}
