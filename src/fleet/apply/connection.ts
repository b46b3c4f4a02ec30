import type { Facts } from '../facts/facts.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { lockLost } from '../ssh/session/lock.ts';
import type { HostLock, LockOptions, Session } from '../ssh/transport.ts';
import type { HostTools } from './apply-tools.ts';

/** One host's session across cuts and reboots: opened when needed, and locked again when it was locked before. */
export class HostConnection {
  readonly #host: HostSpec;
  readonly #tools: HostTools;
  #session: Session | undefined;
  #lock: HostLock | undefined;
  /** Wanted on every connection from now on. */
  #locked = false;
  /** Once in a run: whom --break-lock was meant for was there when the run began. */
  #mayBreak: boolean;

  constructor(host: HostSpec, tools: HostTools) {
    this.#host = host;
    this.#tools = tools;
    this.#mayBreak = tools.options.breakLock;
  }

  /**
   * The session; a new one when the last was lost. Rejects with `ssh.lock-lost` where it was locked and somebody else has
   * had the lock meanwhile: what they changed was not seen, and nothing more is done here.
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

  /** Takes the host's lock; rejects naming the holder. */
  async lock(): Promise<void> {
    if (this.#locked) return;
    await this.#take(await this.session(), { break: this.#mayBreak });
    this.#mayBreak = false;
    this.#locked = true;
  }

  async #take(session: Session, how: Pick<LockOptions, 'again' | 'break'>): Promise<void> {
    const { owner, emit, signal } = this.#tools;
    const note = (text: string) => emit({ kind: 'note', host: this.#host.name, text });
    this.#lock = await session.lock(owner, { ...how, signal, onWait: note });
    const { broke } = this.#lock;
    if (broke !== undefined) note(`broke the lock of ${broke.who} (${broke.command}, since ${broke.since})`);
  }

  async unlock(): Promise<void> {
    this.#locked = false;
    if (this.#session?.closed.aborted === false) await this.#lock?.release();
    this.#lock = undefined;
  }

  /** Leaves the present session, so that the next one is a new connection. */
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

/** The facts, read through a session that cannot write. */
export async function readFacts(
  connection: HostConnection,
  host: HostSpec,
  tools: HostTools,
): Promise<Facts> {
  return tools.gather(readOnly(await connection.session()), host);
}

/** The session for reading facts: whatever would write through it is our bug, and stops here. */
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
