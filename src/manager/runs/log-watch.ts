import type { Engine } from '../../shared/engine/engine.ts';
import { emptyTranscript, read, type Transcript } from './transcript.ts';

/**
 * Between two looks that what agents print asks for: a job decides how often that is. The end of a run is told by the
 * engine's events, at once.
 */
const paceMs = 250;

/** Follows the output of running agents, so that a slot's phase is known the moment it changes. */
export class LogWatch {
  readonly #engine: Pick<Engine, 'followLogs' | 'logs'>;
  readonly #onChange: () => void;
  readonly #onListening: () => void;
  readonly #pace: Pace;
  readonly #following = new Map<string, AbortController>();
  /** Of which it is being asked whether they have said anything. */
  readonly #asking = new Set<string>();
  readonly #transcripts = new Map<string, Transcript>();

  constructor(engine: Pick<Engine, 'followLogs' | 'logs'>, onChange: () => void) {
    this.#engine = engine;
    this.#pace = new Pace(onChange, paceMs);
    this.#onListening = onChange;
    this.#onChange = () => this.#pace.tell();
  }

  of(container: string): Transcript | undefined {
    return this.#transcripts.get(container);
  }

  /** Follows these containers from now on; what is known of others is forgotten. */
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

  /** One that has said nothing yet is known to connect; without this it could be in the middle of a job. */
  async #noteSilence(id: string): Promise<void> {
    if (this.#asking.has(id)) return;
    this.#asking.add(id);
    try {
      const said = await this.#engine.logs(id, 1);
      if (said === '' && this.#following.has(id) && !this.#transcripts.has(id))
        this.#transcripts.set(id, emptyTranscript);
    } catch {
      // The engine went away, or the container: the next pass asks again.
    } finally {
      this.#asking.delete(id);
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
        // Once a container, whatever it prints.
        if (listens) this.#onListening();
        else this.#onChange();
      }
      ended = !controller.signal.aborted;
    } catch {
      // The engine went away; the next pass follows again from the start.
    } finally {
      this.#following.delete(id);
      if (ended) this.#onChange();
    }
  }
}

/** Passes something on at once, and then no more often than every `ms` milliseconds; what came meanwhile is told together. */
export class Pace {
  readonly #tell: () => void;
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;
  #pending = false;

  constructor(tell: () => void, ms: number) {
    this.#tell = tell;
    this.#ms = ms;
  }

  tell(): void {
    if (this.#timer !== undefined) {
      this.#pending = true;
      return;
    }
    this.#tell();
    this.#timer = setTimeout(() => this.#over(), this.#ms);
  }

  /** Nothing is told any more. */
  close(): void {
    clearTimeout(this.#timer);
    this.#pending = false;
  }

  #over(): void {
    this.#timer = undefined;
    if (!this.#pending) return;
    this.#pending = false;
    this.tell();
  }
}
