import { EventEmitter } from 'node:events';
import files from 'node:fs/promises';
import http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { Readable } from 'node:stream';
import timers from 'node:timers/promises';
import type { Chance } from './chance.ts';
import type { Timeline } from './timeline.ts';

/** Paths below it belong to the world; each manager process sees its machine under a separate name. */
export const worldRoot = '/model/';

/** The parts of Node that the world replaces. */
export interface Replacements {
  readonly timeline: Timeline;
  readonly chance: Chance;
  /** Calls a file function; `path` is `NUMBER/path`, with the number of the process. */
  readonly file: (path: string, name: string, given: readonly unknown[]) => Promise<unknown>;
}

type Handler = (request: Readable, response: object) => void;
type Members = Record<string, unknown>;

/**
 * Replaces timers, files below `worldRoot`, sockets there and Math.random by the world's while `work` runs. The program
 * under test imports them from Node and notices no difference.
 */
export async function within<Value>(replacements: Replacements, work: () => Promise<Value>): Promise<Value> {
  const restore = [
    replace(globalThis, timersOf(replacements.timeline)),
    replace(timers, { setTimeout: sleepOf(replacements.timeline) }),
    replace(files, filesOf(replacements)),
    replace(http, sockets()),
    replace(Math, { random: replacements.chance.real }),
  ];
  syncBuiltinESMExports();
  try {
    return await work();
  } finally {
    for (const put of restore) put();
    syncBuiltinESMExports();
  }
}

function replace(target: object, members: Members): () => void {
  const before = Object.fromEntries(Object.keys(members).map((name) => [name, Reflect.get(target, name)]));
  Object.assign(target, members);
  return () => void Object.assign(target, before);
}

class Timer {
  readonly cancel: () => void;
  constructor(cancel: () => void) {
    this.cancel = cancel;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
}

function timersOf(timeline: Timeline): Members {
  const { clearTimeout: clearReal } = globalThis;
  return {
    setTimeout: (work: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) =>
      new Timer(timeline.after(ms, () => work(...given)).cancel),
    clearTimeout: (timer: unknown) => {
      if (timer instanceof Timer) timer.cancel();
      else clearReal(timer as NodeJS.Timeout | undefined);
    },
  };
}

function sleepOf(timeline: Timeline) {
  return (ms = 0, value?: unknown, { signal }: { readonly signal?: AbortSignal } = {}): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const stop = (): void => {
        appointment.cancel();
        reject(signal?.reason as Error);
      };
      const appointment = timeline.after(ms, () => {
        signal?.removeEventListener('abort', stop);
        resolve(value);
      });
      if (signal?.aborted === true) stop();
      else signal?.addEventListener('abort', stop, { once: true });
    });
}

/** Returns every function of the module: the world's for its paths, else the machine's, for which time waits. */
function filesOf({ timeline, file }: Replacements): Members {
  const functions = Object.entries(files).filter(([, member]) => typeof member === 'function');
  return Object.fromEntries(
    functions.map(([name, real]) => [
      name,
      (...given: readonly unknown[]): unknown => {
        const [path] = given;
        if (typeof path === 'string' && path.startsWith(worldRoot))
          return file(path.slice(worldRoot.length), name, given);
        const done: unknown = Reflect.apply(real as (...all: unknown[]) => unknown, files, given);
        return done instanceof Promise ? timeline.outside(done) : done;
      },
    ]),
  );
}

/** Servers on sockets of the world, and their clients. */
function sockets(): Members {
  const listening = new Map<string, Handler>();
  return {
    createServer: (_: object, handler: Handler) => new Server(listening, handler),
    request: (
      { socketPath, method, path }: http.RequestOptions,
      onAnswer: (answer: EventEmitter) => void,
    ) => {
      const outgoing = new EventEmitter();
      return Object.assign(outgoing, {
        destroy: (): void => undefined,
        end: (body?: string): void => {
          const handler = listening.get(socketPath ?? '');
          if (handler === undefined) {
            queueMicrotask(() => outgoing.emit('error', new Error(`connect ENOENT ${socketPath}`)));
            return;
          }
          const incoming = Object.assign(Readable.from(body === undefined ? [] : [body]), {
            method,
            url: path,
          });
          handler(incoming, answerTo(onAnswer));
        },
      });
    },
  };
}

class Server extends EventEmitter {
  readonly #listening: Map<string, Handler>;
  readonly #handler: Handler;
  #path = '';

  constructor(listening: Map<string, Handler>, handler: Handler) {
    super();
    this.#listening = listening;
    this.#handler = handler;
  }

  listen(path: string, ...rest: readonly unknown[]): this {
    this.#path = path;
    this.#listening.set(path, this.#handler);
    const ready = rest.at(-1);
    if (typeof ready === 'function') queueMicrotask(() => void Reflect.apply(ready, undefined, []));
    return this;
  }

  close(): void {
    if (this.#listening.get(this.#path) === this.#handler) this.#listening.delete(this.#path);
  }

  closeAllConnections(): void {
    this.close();
  }
}

function answerTo(onAnswer: (answer: EventEmitter) => void): object {
  const answer = Object.assign(new EventEmitter(), { statusCode: 0, setEncoding: (): void => undefined });
  const response = {
    writeHead: (status: number): object => {
      answer.statusCode = status;
      return response;
    },
    end: (text: string): void => {
      queueMicrotask(() => {
        onAnswer(answer);
        answer.emit('data', text);
        answer.emit('end');
      });
    },
  };
  return response;
}
