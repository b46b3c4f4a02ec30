import type {
  AnyAuthMethod,
  AuthHandlerMiddleware,
  BaseAgent,
  NextAuthHandler,
  ParsedKey,
  SignCallback,
  SigningRequestOptions,
} from 'ssh2';
import ssh2 from 'ssh2';

import type { Secret } from '../../../shared/base/secret.ts';
import { quote } from '../../../shared/base/shell.ts';
import type { SecretSource } from '../../inventory/fleet.ts';
import type { Prompter, Question } from '../ask.ts';
import type { ConnectionOptions } from '../config/connection-options.ts';
import { type LeftOut, where } from '../failures.ts';
import { type PromptTurn, HungUp } from './prompt-turn.ts';
import type { KeyRing } from './keys.ts';
import { serverQuestion } from './server-question.ts';

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
    why: 'it has a passphrase that nobody gave',
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
