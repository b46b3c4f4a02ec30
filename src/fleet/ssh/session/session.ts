import type { Agent } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

import pLimit, { type LimitFunction } from 'p-limit';

import type { Clock } from '../../../shared/base/clock.ts';
import { sha256 } from '../../../shared/base/digest.ts';
import { defined } from '../../../shared/base/objects.ts';
import { FleetError } from '../../../shared/base/errors.ts';
import type { Logger } from '../../../shared/base/log.ts';
import { followChange, startChange } from './durable-change.ts';
import { connectionLost, isConnectionLost } from '../failures.ts';
import { type LockRequest, takeLock, lockLost } from './lock.ts';
import { runScript, type RunParts } from './run-script.ts';
import { pipeScript, pipeStream, SocketAgent } from './socket-agent.ts';
import { startScript } from './start.ts';
import type { Sudo } from './sudo.ts';
import type {
  DurableResult,
  DurableSpec,
  HostLock,
  LockOptions,
  LockOwner,
  ScriptOptions,
  ScriptResult,
  Session,
  UploadOptions,
  UploadSource,
} from '../transport.ts';
import { type UploadLimiter, upload, type UploadParts } from './upload.ts';
import type { Wire } from '../wire/wire.ts';

/**
 * Attempts to open a channel that the host refuses while none of ours ends, with growing pauses: about ten seconds in all.
 */
const channelAttempts = 20;

export interface SessionParts {
  readonly host: string;
  readonly wire: Wire;
  readonly sudo: Sudo;
  readonly log: Logger;
  readonly clock: Clock;
  /** Opens a new connection to the same host; the deadline is on the clock's monotonic scale. */
  readonly redial: (deadline: number, signal: AbortSignal | undefined) => Promise<Wire>;
  /** Shared by all hosts. */
  readonly uploads: UploadLimiter;
}

/** A Session over any Wire. */
export class HostSession implements Session {
  readonly host: string;
  readonly #parts: SessionParts;
  readonly #channels: LimitFunction;
  #wire: Wire;
  /** Whether `close` was called: no reconnect for a followed change. */
  #isClosed = false;
  /** Channels that were open and have ended: a host that refuses one has room again. */
  #ended = 0;
  #lock: { readonly request: Pick<LockRequest, 'owner' | 'id' | 'audit'>; held: HostLock } | undefined;

  constructor(parts: SessionParts) {
    this.host = parts.host;
    this.#parts = parts;
    this.#wire = parts.wire;
    this.#channels = pLimit(parts.wire.channels);
  }

  get closed(): AbortSignal {
    return this.#wire.closed;
  }

  script(text: string, options: ScriptOptions = {}): Promise<ScriptResult> {
    return this.#run({ text, options });
  }

  upload(source: UploadSource, path: string, options: UploadOptions): Promise<boolean> {
    const { uploads } = this.#parts;
    const parts = (): UploadParts => ({ ...this.#base(), limiter: uploads });
    return uploads.run(() => this.#channel(() => upload(parts(), source, path, options)));
  }

  durable(spec: DurableSpec, options: Pick<ScriptOptions, 'onLine' | 'signal'> = {}): Promise<DurableResult> {
    return startChange(this.#durableHost(), spec, options);
  }

  follow(
    id: string,
    options: Pick<ScriptOptions, 'onLine' | 'signal'> = {},
  ): Promise<DurableResult | undefined> {
    return followChange(this.#durableHost(), id, options);
  }

  socketAgent(path: string): Agent {
    const wire = this.#wire;
    let direct = true;
    const open = async (): Promise<Duplex> => {
      if (direct) {
        try {
          return await wire.openSocket(path);
        } catch (error) {
          if (wire.closed.aborted) throw error;
          direct = false;
        }
      }
      return this.#pipe(path);
    };
    return new SocketAgent(open, wire.closed);
  }

  async lock(owner: LockOwner, options: LockOptions = {}): Promise<HostLock> {
    // Identifies the run: it may replace its own lock after a lost connection.
    const login = defined({ key: this.#wire.credential });
    const audit = options.audit && { ...options.audit, ...login };
    const request = { owner, id: sha256(JSON.stringify(owner)).slice(0, 16), ...defined({ audit }) };
    const way = options.again === true ? 'again' : options.break === true ? 'break' : 'first';
    const { signal, onWait } = options;
    const held = await takeLock(this.#base(), { ...request, way, signal, ...defined({ onWait }) });
    const lock = { request, held };
    this.#lock = lock;
    return {
      ...defined({ broke: held.broke }),
      ...login,
      lost: () => lock.held.lost(),
      release: async (outcome) => {
        this.#lock = undefined;
        await lock.held.release(outcome);
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#lock?.held.release();
    await this.#wire.close();
  }

  /** Waits for a free channel, also if sshd allows fewer than we expect (a smaller MaxSessions). */
  async #channel<T>(work: () => Promise<T>): Promise<T> {
    if (this.#lock?.held.lost() === true && !this.closed.aborted) throw lockLost(this.host);
    let ended = this.#ended;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const result = await this.#channels(work);
        this.#ended += 1;
        return result;
      } catch (error) {
        const full = error instanceof FleetError && error.problem.code === 'ssh.no-session';
        if (!full) this.#ended += 1;
        if (this.#ended !== ended) attempt = 0;
        if (!full || attempt === channelAttempts) throw error;
        ended = this.#ended;
        await sleep(attempt * 50 + Math.random() * 100);
      }
    }
  }

  #base(): Pick<RunParts, 'wire' | 'sudo' | 'host' | 'clock'> {
    const { sudo, clock } = this.#parts;
    return { wire: this.#wire, sudo, host: this.host, clock };
  }

  #run(parts: Pick<RunParts, 'text' | 'options' | 'onErrorLine' | 'tap'>): Promise<ScriptResult> {
    return this.#channel(async () => {
      const base = this.#base();
      const result = await runScript({ ...base, ...parts }).catch((error: unknown) => {
        // Such a host may continue to send, even if the channel is closed.
        if (error instanceof FleetError && error.problem.code === 'ssh.output-too-long') base.wire.cut();
        throw error;
      });
      this.#parts.log.log('debug', 'script', {
        host: this.host,
        bytes: parts.text.length,
        code: result.code,
        ms: result.durationMs,
        ...(result.code === 0
          ? {}
          : { stdout: result.stdout.slice(-2000), stderr: result.stderr.slice(-2000) }),
      });
      return result;
    });
  }

  #durableHost(): Parameters<typeof followChange>[0] {
    return {
      host: this.host,
      clock: this.#parts.clock,
      run: (parts) => this.#run(parts),
      reconnect: async (deadline, signal) => {
        for (;;) {
          if (this.#isClosed) throw connectionLost(this.host, 'a change, which continues on the host');
          this.#wire = await this.#parts.redial(deadline, signal);
          if (this.#lock === undefined) return;
          try {
            this.#lock.held = await takeLock(this.#base(), { ...this.#lock.request, way: 'again', signal });
            return;
          } catch (error) {
            // The new connection may be lost, too: a host that loses its power answers for a moment.
            if (!isConnectionLost(error) || this.#parts.clock.monotonic() > deadline) throw error;
          }
        }
      },
    };
  }

  async #pipe(path: string): Promise<Duplex> {
    const early: Buffer[] = [];
    let receive = (chunk: Buffer): void => void early.push(chunk);
    let stderr = '';
    const running = await startScript(this.#wire, this.#parts.sudo, {
      host: this.host,
      script: pipeScript(path),
      as: 'root',
      input: true,
      limitS: undefined,
      signal: undefined,
      onStdout: (chunk) => receive(chunk),
      onStderr: (chunk) => {
        stderr = (stderr + chunk.toString()).slice(-1000);
      },
    });
    const pipe = pipeStream(running);
    receive = (chunk) => pipe.receive(chunk);
    for (const chunk of early) pipe.receive(chunk);
    void running.ended.then((ending) => {
      if (ending.code === 0 || ending.code === null) return;
      pipe.stream.destroy(
        new FleetError({
          code: 'ssh.socket',
          host: this.host,
          what: `${path} cannot be reached`,
          seen: stderr.trim() || `exit code ${ending.code}`,
          next: `ls -l ${path}   # on the host: does the service run?`,
        }),
      );
    });
    return pipe.stream;
  }
}
