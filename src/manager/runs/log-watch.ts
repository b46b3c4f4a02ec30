import type { Engine } from '../../shared/engine/engine.ts';
import { emptyTranscript, read, type Transcript } from './transcript.ts';

/**
 * Shortest time between two passes because of agents' output, since jobs may print any amount. The engine's events report
 * the end of a run at once.
 */
const paceMs = 250;

/** Follows the output of running agents, so that a slot's phase is known the moment it changes. */
export class LogWatch {
  readonly #engine: Pick<Engine, 'followLogs' | 'logs'>;
  readonly #onChange: () => void;
  readonly #onListening: () => void;
  readonly #pace: Pace;
  readonly #following = new Map<string, AbortController>();
  /** Containers whose first line of output is being read. */
  readonly #readingFirst = new Set<string>();
  readonly #transcripts = new Map<string, Transcript>();

  constructor(engine: Pick<Engine, 'followLogs' | 'logs'>, onChange: () => void) {
    this.#engine = engine;
    this.#pace = new Pace(onChange, paceMs);
    this.#onListening = onChange;
    this.#onChange = () => this.#pace.request();
  }

  of(container: string): Transcript | undefined {
    return this.#transcripts.get(container);
  }

  /** Follows these containers from now on, and forgets all others. */
  follow(running: readonly string[], present: readonly string[]): void {
    for (const id of running) {
      if (!this.#transcripts.has(id)) void this.#noteSilence(id);
      if (!this.#following.has(id)) void this.#read(id);
    }
    for (const id of this.#transcripts.keys()) if (!present.includes(id)) this.#transcripts.delete(id);
    for (const [id, controller] of this.#following) if (!present.includes(id)) controller.abort();
  }

  close(): void {
    for (const controller of this.#following.values()) controller.abort();
    this.#pace.close();
  }

  /** Notes that an agent without output is connecting. Without a transcript it might run a job. */
  async #noteSilence(id: string): Promise<void> {
    if (this.#readingFirst.has(id)) return;
    this.#readingFirst.add(id);
    try {
      const lastLine = await this.#engine.logs(id, 1);
      if (lastLine === '' && this.#following.has(id) && !this.#transcripts.has(id))
        this.#transcripts.set(id, emptyTranscript);
    } catch {
      // The engine does not answer, or the container was removed: the next pass tries again.
    } finally {
      this.#readingFirst.delete(id);
    }
  }

  async #read(id: string): Promise<void> {
    const controller = new AbortController();
    this.#following.set(id, controller);
    let transcript = emptyTranscript;
    let ended = false;
    try {
      for await (const line of this.#engine.followLogs(id, controller.signal)) {
        const next = read(transcript, line);
        if (next === transcript && this.#transcripts.has(id)) continue;
        const listens = transcript.phase === 'connecting' && next.phase === 'listening';
        transcript = next;
        this.#transcripts.set(id, next);
        // Once per container, whatever it prints.
        if (listens) this.#onListening();
        else this.#onChange();
      }
      ended = !controller.signal.aborted;
    } catch {
      // The engine does not answer; the next pass follows again from the start.
    } finally {
      this.#following.delete(id);
      if (ended) this.#onChange();
    }
  }
}

/** Calls a function at once, and then at most every `ms` milliseconds; calls in between are joined. */
export class Pace {
  readonly #call: () => void;
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;
  #pending = false;

  constructor(call: () => void, ms: number) {
    this.#call = call;
    this.#ms = ms;
  }

  request(): void {
    if (this.#timer !== undefined) {
      this.#pending = true;
      return;
    }
    this.#call();
    this.#timer = setTimeout(() => this.#over(), this.#ms);
  }

  /** Ends all calls. */
  close(): void {
    clearTimeout(this.#timer);
    this.#pending = false;
  }

  #over(): void {
    this.#timer = undefined;
    if (!this.#pending) return;
    this.#pending = false;
    this.request();
  }
}
