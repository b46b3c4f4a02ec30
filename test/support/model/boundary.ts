import type { Chance } from './chance.ts';
import type { Timeline } from './timeline.ts';

/** One process of the manager. */
export interface Mortal {
  /** It was killed: nothing it asks for happens any more, and it gets no answers. */
  over: boolean;
}

/**
 * What goes wrong with a call: `refused` and `silent` (until its time is over) are not carried out; `unanswered` is, and
 * has no answer; `late` has one, after the caller has given up.
 */
export type Mishap = 'refused' | 'silent' | 'unanswered' | 'late';

/** How the next calls fail whose names match. */
export interface Fault {
  readonly calls: RegExp;
  left: number;
  readonly how: Mishap;
  /** The caller's result. */
  error(call: string): unknown;
}

export type Moment = 'before' | 'after' | 'answered';

/** Something is to be done at the n-th change from now that the manager makes outside itself. */
export interface Ambush {
  left: number;
  readonly moment: Moment;
  readonly act: () => void;
}

/** What changes nothing outside has a name of these. */
const looks =
  /\.(?:find|list|get|unfinished|version|info|exit|logs|readTails|image|isRunning|show|take|networksNamed)/;

interface Call {
  readonly life: Mortal;
  carryOut(): void;
}

/**
 * Between the manager and everything else. Each call takes its time before it is carried out and before it is answered, so
 * that others overtake it; a call of a life that is over is not carried out, but for what was on its way.
 */
export class Boundary {
  readonly faults: Fault[] = [];
  readonly ambushes: Ambush[] = [];
  /** Called for each call that changes something, or fails. */
  onCall: (told: string) => void = () => undefined;
  /** How many calls have been carried out or failed. */
  calls = 0;
  /** When a call whose name begins so failed last, by the part before the dot. */
  readonly failedAt = new Map<string, number>();
  readonly #timeline: Timeline;
  readonly #chance: Chance;
  readonly #pending = new Set<Call>();

  constructor(timeline: Timeline, chance: Chance) {
    this.#timeline = timeline;
    this.#chance = chance;
  }

  call<Value>(life: Mortal, name: string, work: () => Value): Promise<Value> {
    return new Promise((resolve, reject) => {
      if (life.over) return;
      const call: Call = {
        life,
        carryOut: () => {
          this.#pending.delete(call);
          this.calls += 1;
          this.#spring(name, 'before');
          if (life.over && !this.#chance.is(0.5)) return;
          const { outcome, ms } = this.#happen(name, work);
          this.#spring(name, 'after');
          this.#timeline.after(ms, () => {
            if (life.over) return;
            if ('error' in outcome) reject(outcome.error);
            else resolve(outcome.value);
            if (this.ambushes.length > 0) queueMicrotask(() => this.#spring(name, 'answered'));
          });
        },
      };
      this.#pending.add(call);
      this.#timeline.after(this.#delay(), () => {
        if (this.#pending.has(call)) call.carryOut();
      });
    });
  }

  /** The process is gone: of what it had sent, chance decides whether it arrives. */
  die(life: Mortal): void {
    life.over = true;
    for (const call of this.#pending) {
      if (call.life !== life) continue;
      this.#pending.delete(call);
      if (this.#chance.is(0.6)) call.carryOut();
    }
  }

  #happen<Value>(
    name: string,
    work: () => Value,
  ): { readonly outcome: { readonly value: Value } | { readonly error: unknown }; readonly ms: number } {
    const fault = this.faults.find(({ calls, left }) => left > 0 && calls.test(name));
    const quick = this.#chance.between(0, 15);
    const answered = this.#chance.is(0.03) ? this.#chance.between(100, 4_000) : quick;
    if (fault === undefined) {
      const outcome = attempt(work);
      if ('error' in outcome) this.#noteFailure(name);
      if ('error' in outcome || !looks.test(name))
        this.onCall(`${name}${'error' in outcome ? ' fails' : ''}`);
      return { outcome, ms: answered };
    }
    fault.left -= 1;
    this.#noteFailure(name);
    this.onCall(`${name} ${fault.how}`);
    const outcome = { error: fault.error(name) };
    if (fault.how === 'refused') return { outcome, ms: quick };
    const patience = this.#chance.is(0.5) ? quick : 30_000;
    if (fault.how === 'unanswered') attempt(work);
    if (fault.how === 'late')
      this.#timeline.after(patience + this.#chance.between(0, 5_000), () => attempt(work));
    return { outcome, ms: patience };
  }

  #noteFailure(name: string): void {
    this.failedAt.set(name.split('.')[0] ?? '', this.#timeline.now);
  }

  #delay(): number {
    const luck = this.#chance.real();
    if (luck < 0.85) return this.#chance.between(1, 30);
    return luck < 0.99 ? this.#chance.between(30, 500) : this.#chance.between(500, 8_000);
  }

  #spring(name: string, moment: Moment): void {
    if (looks.test(name)) return;
    const [ambush] = this.ambushes;
    if (ambush === undefined || ambush.moment !== moment) return;
    ambush.left -= 1;
    if (ambush.left > 0) return;
    this.ambushes.shift();
    ambush.act();
  }
}

function attempt<Value>(work: () => Value): { readonly value: Value } | { readonly error: unknown } {
  try {
    return { value: work() };
  } catch (error) {
    return { error };
  }
}
