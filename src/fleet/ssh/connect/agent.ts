import { connect } from 'node:net';

import ssh2, {
  type GetStreamCallback,
  type ParsedKey,
  type SignCallback,
  type SigningRequestOptions,
} from 'ssh2';

import { type KeyRules, signatureFault } from './key-rules.ts';

/** Limits of an SSH agent, which may hang or be another program. */
export const agentLimits = {
  /** Milliseconds for the list of keys. */
  listMs: 5_000,
  /** Milliseconds for a signature: the user may have to confirm it (`ssh-add -c`) or to enter a PIN. */
  signMs: 60_000,
  /** Milliseconds of waiting for a signature after which the user is told. */
  quietMs: 2_000,
  /** Bytes of an answer, as in OpenSSH. */
  bytes: 256 * 1024,
} as const;

/**
 * Returns the keys that an agent holds. Rejects if the agent does not answer within the limits; the error has a `code`
 * if nothing listens on the socket.
 */
export function agentKeys(socket: string): Promise<readonly ParsedKey[]> {
  return new Promise((resolve, reject) => {
    new LimitedAgent(socket, agentLimits.listMs).getIdentities((error, keys) => {
      if (error) reject(error);
      else resolve((keys ?? []) as ParsedKey[]);
    });
  });
}

/** An agent for one operation, with limits. Its socket does not keep the process running. */
class LimitedAgent extends ssh2.OpenSSHAgent {
  readonly #path: string;
  readonly #limitMs: number;
  readonly #signal: AbortSignal | undefined;

  constructor(path: string, limitMs: number, signal?: AbortSignal) {
    super(path);
    this.#path = path;
    this.#limitMs = limitMs;
    this.#signal = signal;
  }

  override getStream(callback: GetStreamCallback): void {
    const socket = connect(this.#path).unref();
    const end = (why: string): void => void socket.destroy(new Error(why));
    const limit = setTimeout(() => end(`no answer in ${this.#limitMs / 1000} s`), this.#limitMs).unref();
    const abort = (): void => end('no longer needed');
    this.#signal?.addEventListener('abort', abort, { once: true });
    socket.once('close', () => {
      clearTimeout(limit);
      this.#signal?.removeEventListener('abort', abort);
    });
    socket.once('error', callback);
    socket.once('connect', () => {
      socket.removeListener('error', callback);
      // OpenSSHAgent reads, and handles errors, from here on.
      callback(undefined, socket);
      socket.on('data', () => {
        if (socket.bytesRead > agentLimits.bytes) end('an answer of more than 256 KiB');
      });
    });
  }
}

interface AgentKeyParts {
  readonly socket: string;
  readonly key: ParsedKey;
  readonly rules: KeyRules;
  /** Called around a signature, to pause time limits of the host. */
  readonly pause: () => () => void;
  /** Called once a signature takes long. */
  readonly onWait: () => void;
  /** Called instead of ssh2's error, which would end the connection: another key may work. */
  readonly onRefused: (why: string) => void;
  /** Ends a signature that is no longer needed. */
  readonly signal: AbortSignal;
}

/** An agent with one key: otherwise ssh2 would offer all keys in the agent's order, more than MaxAuthTries. */
export class OneKeyAgent extends ssh2.BaseAgent<ParsedKey> {
  readonly #parts: AgentKeyParts;

  constructor(parts: AgentKeyParts) {
    super();
    this.#parts = parts;
  }

  override getIdentities(callback: (error: undefined, keys: ParsedKey[]) => void): void {
    callback(undefined, [this.#parts.key]);
  }

  override sign(
    key: ParsedKey,
    data: Buffer,
    options: SigningRequestOptions | SignCallback,
    callback?: SignCallback,
  ): void {
    const { socket, rules, pause, onWait, onRefused, signal } = this.#parts;
    const done = typeof options === 'function' ? options : (callback ?? (() => undefined));
    const request = typeof options === 'function' ? {} : options;
    const fault = signatureFault(key, request.hash, rules);
    if (fault !== undefined) return onRefused(fault);
    const resume = pause();
    const waiting = setTimeout(onWait, agentLimits.quietMs).unref();
    const agent = new LimitedAgent(socket, agentLimits.signMs, signal);
    agent.sign(key, data, request, (error, signature) => {
      clearTimeout(waiting);
      resume();
      if (signal.aborted) return;
      if (error) onRefused(`the agent did not sign: ${error.message}`);
      else done(undefined, signature);
    });
  }
}
