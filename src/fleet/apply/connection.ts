import type { AuditEntry } from '../audit/entry.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { lockLost } from '../ssh/session/lock.ts';
import type { HostLock, LockOptions, Session } from '../ssh/transport.ts';
import type { HostTools } from './apply-tools.ts';

/** One host's session across lost connections and reboots: opened when needed, and locked again if it was locked before. */
export class HostConnection {
  readonly #host: HostSpec;
  readonly #tools: HostTools;
  #session: Session | undefined;
  #lock: HostLock | undefined;
  #audit: AuditEntry | undefined;
  /** Every new connection takes the lock. */
  #locked = false;
  /** Once in a run: --break-lock is meant for the holder at the run's start. */
  #mayBreak: boolean;

  constructor(host: HostSpec, tools: HostTools) {
    this.#host = host;
    this.#tools = tools;
    this.#mayBreak = tools.options.breakLock;
  }

  /**
   * Returns the session; a new one if the last was lost. Rejects with `ssh.lock-lost` if it was locked and another user has had the
   * lock since: their changes are unknown, so this run must not continue on the host.
   */
  async session(): Promise<Session> {
    if (this.#session !== undefined && !this.#session.closed.aborted) {
      if (this.#lock?.lost() === true) throw lockLost(this.#host.name);
      return this.#session;
    }
    const { transport, signal } = this.#tools;
    const session = await transport.connect({ name: this.#host.name, ssh: this.#host.ssh }, { signal });
    try {
      if (this.#locked) await this.#take(session, { again: true });
    } catch (error) {
      await session.close().catch(() => undefined);
      throw error;
    }
    this.#session = session;
    return session;
  }

  /** Takes the host's lock; rejects with the holder's name. `audit`: what will be done, for the host's audit file. */
  async lock(audit?: AuditEntry): Promise<void> {
    if (this.#locked) return;
    this.#audit = audit;
    await this.#take(await this.session(), { break: this.#mayBreak });
    this.#mayBreak = false;
    this.#locked = true;
  }

  async #take(session: Session, how: Pick<LockOptions, 'again' | 'break'>): Promise<void> {
    const { owner, emit, signal } = this.#tools;
    const note = (text: string) => emit({ kind: 'note', host: this.#host.name, text });
    this.#lock = await session.lock(owner, { ...how, signal, onWait: note, audit: this.#audit });
    const { broke } = this.#lock;
    if (broke !== undefined) note(`broke the lock of ${broke.who} (${broke.command}, since ${broke.since})`);
  }

  /** The key, or the method, of the login that took the lock. */
  get key(): string | undefined {
    return this.#lock?.key;
  }

  /** `outcome`: for the host's audit file. */
  async unlock(outcome?: string): Promise<void> {
    this.#locked = false;
    this.#audit = undefined;
    if (this.#session?.closed.aborted === false) await this.#lock?.release(outcome);
    this.#lock = undefined;
  }

  /** Closes the current session, so that the next one is a new connection. */
  async drop(): Promise<void> {
    await this.#session?.close().catch(() => undefined);
    this.#session = undefined;
    this.#lock = undefined;
  }

  async close(): Promise<void> {
    await this.unlock().catch(() => undefined);
    await this.drop();
  }
}

/** Reads the facts through a session that cannot write. */
export async function readFacts(
  connection: HostConnection,
  host: HostSpec,
  tools: HostTools,
): Promise<GatheredFacts> {
  return tools.gather(readOnly(await connection.session()), host);
}

/** Returns the session for reading facts: a write through it is a bug, and throws. */
export function readOnly(session: Session): Session {
  const refuse = (what: string) => () => {
    throw new Error(`${what} while only reading from ${session.host}`);
  };
  return {
    host: session.host,
    closed: session.closed,
    script: (text, options) => session.script(text, options),
    follow: (id, options) => session.follow(id, options),
    socketAgent: (path) => session.socketAgent(path),
    upload: refuse('upload'),
    durable: refuse('durable change'),
    lock: refuse('lock'),
    close: () => session.close(),
  };
}
