import type { Cause, Hold } from '../model.ts';
import type { Judgement } from './judge.ts';

interface Verdict {
  readonly cause: Cause;
  /** Who or what it is about; while that stays, so do the words, which the pool has as the reason. */
  readonly about: string;
  /** It closes the slot; else nothing is started until the next look. */
  readonly sure: boolean;
}

/** What of each slot's GPUs was found in the way, as long as it is. */
export class Verdicts {
  readonly #of = new Map<string, Verdict>();

  /** `cause`: absent where nothing is in the way. True: something else is in the way than before, or nothing is any more. */
  note(slot: string, judgement: Judgement, cause: Cause | undefined): boolean {
    const before = this.#of.get(slot);
    if (cause === undefined) return this.#of.delete(slot);
    const next = nextVerdict(before, judgement, cause);
    this.#of.set(slot, next);
    return before?.about !== next.about;
  }

  hold(slot: string): Hold | undefined {
    const verdict = this.#of.get(slot);
    if (verdict === undefined) return undefined;
    return { kind: verdict.sure ? 'close' : 'pause', state: 'waiting', cause: verdict.cause };
  }

  /** Something may be over in a moment. */
  get hasPassing(): boolean {
    return [...this.#of.values()].some(({ cause }) => cause.code !== 'gpu.in-use');
  }

  /** Slots that are gone are forgotten. */
  keep(slots: readonly string[]): void {
    for (const slot of this.#of.keys()) if (!slots.includes(slot)) this.#of.delete(slot);
  }
}

/** A process that somebody else has is a fact; memory that ended a moment ago, and what was just killed, takes a second look. Pure. */
function nextVerdict(before: Verdict | undefined, judgement: Judgement, cause: Cause): Verdict {
  const about = subjectOf(judgement);
  const isSame = before?.about === about;
  return {
    about,
    cause: isSame ? before.cause : cause,
    sure: judgement.kind === 'held' || isSame,
  };
}

function subjectOf(judgement: Judgement): string {
  if (judgement.kind === 'clean') return '';
  const processes = judgement.by.map(({ pid, process }) => `${pid}@${process?.startTicks}`).sort();
  return [judgement.kind, judgement.gpu, ...processes].join(' ');
}
