import type { Chance } from './chance.ts';
import type { Timeline } from './timeline.ts';

/** One process of the manager. */
export interface Killable {
  /** The process was killed: its calls have no effect and get no answer. */
  over: boolean;
}

/**
 * How a call fails: `refused` and `silent` (until it times out) are not carried out; `unanswered` is, without an answer;
 * `late` is carried out after the caller has given up.
 */
export type Mishap = 'refused' | 'silent' | 'unanswered' | 'late';

/** How the next calls with a matching name fail. */
export interface Fault {
  readonly calls: RegExp;
  left: number;
  readonly how: Mishap;
  /** The caller's result. */
  error(call: string): unknown;
}

export type Moment = 'before' | 'after' | 'answered';

/** An act at the n-th change from now that the manager makes outside itself. */
export interface ScheduledAct {
  left: number;
  readonly moment: Moment;
  readonly act: () => void;
}

/** Matches calls that change nothing. */
const readOnlyCall =
  /\.(?:find|list|get|unfinished|version|info|exit|logs|readTails|image|isRunning|show|take|networksNamed)/;

interface Call {
  readonly daemon: Killable;
  carryOut(): void;
}

/**
 * The boundary between the manager and everything else. Each call is delayed before it is carried out and before it is
 * answered, so that others overtake it; calls of a killed process are not carried out unless they were already sent.
 */
export class Boundary {
  readonly faults: Fault[] = [];
  readonly scheduledActs: ScheduledAct[] = [];
  /** Called for each call that changes something, or fails. */
  onCall: (call: string) => void = () => undefined;
  /** Number of calls that were carried out or failed. */
  calls = 0;
  /** Time of the last failed call, by the part of its name before the dot. */
  readonly failedAt = new Map<string, number>();
  readonly #timeline: Timeline;
  readonly #chance: Chance;
  readonly #pending = new Set<Call>();

  constructor(timeline: Timeline, chance: Chance) {
    this.#timeline = timeline;
    this.#chance = chance;
  }

  call<Value>(daemon: Killable, name: string, work: () => Value): Promise<Value> {
    return new Promise((resolve, reject) => {
      if (daemon.over) return;
      const call: Call = {
        daemon,
        carryOut: () => {
          this.#pending.delete(call);
          this.calls += 1;
          this.#runScheduledAct(name, 'before');
          if (daemon.over && !this.#chance.is(0.5)) return;
          const { outcome, ms } = this.#happen(name, work);
          this.#runScheduledAct(name, 'after');
          this.#timeline.after(ms, () => {
            if (daemon.over) return;
            if ('error' in outcome) reject(outcome.error);
            else resolve(outcome.value);
            if (this.scheduledActs.length > 0) queueMicrotask(() => this.#runScheduledAct(name, 'answered'));
          });
        },
      };
      this.#pending.add(call);
      this.#timeline.after(this.#delay(), () => {
        if (this.#pending.has(call)) call.carryOut();
      });
    });
  }

  /** Kills the process: chance decides which of its pending calls arrive. */
  kill(daemon: Killable): void {
    daemon.over = true;
    for (const call of this.#pending) {
      if (call.daemon !== daemon) continue;
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
      if ('error' in outcome) this.noteFailure(name);
      if ('error' in outcome || !readOnlyCall.test(name))
        this.onCall(`${name}${'error' in outcome ? ' fails' : ''}`);
      return { outcome, ms: answered };
    }
    fault.left -= 1;
    this.noteFailure(name);
    this.onCall(`${name} ${fault.how}`);
    const outcome = { error: fault.error(name) };
    if (fault.how === 'refused') return { outcome, ms: quick };
    const patience = this.#chance.is(0.5) ? quick : 30_000;
    if (fault.how === 'unanswered') attempt(work);
    if (fault.how === 'late')
      this.#timeline.after(patience + this.#chance.between(0, 5_000), () => attempt(work));
    return { outcome, ms: patience };
  }

  /** Notes the failure of a call, also of one that is not sent. */
  noteFailure(name: string): void {
    this.failedAt.set(name.split('.')[0] ?? '', this.#timeline.now);
  }

  #delay(): number {
    const luck = this.#chance.real();
    if (luck < 0.85) return this.#chance.between(1, 30);
    return luck < 0.99 ? this.#chance.between(30, 500) : this.#chance.between(500, 8_000);
  }

  #runScheduledAct(name: string, moment: Moment): void {
    if (readOnlyCall.test(name)) return;
    const [scheduled] = this.scheduledActs;
    if (scheduled === undefined || scheduled.moment !== moment) return;
    scheduled.left -= 1;
    if (scheduled.left > 0) return;
    this.scheduledActs.shift();
    scheduled.act();
  }
}

function attempt<Value>(work: () => Value): { readonly value: Value } | { readonly error: unknown } {
  try {
    return { value: work() };
  } catch (error) {
    return { error };
  }
}
