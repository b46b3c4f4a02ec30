import type { Verdict } from '../../../shared/health/verdict.ts';
import type { Standing } from '../../plan/waves/wave.ts';
import { afterWave, type WaveFleet } from '../../plan/waves/waves.ts';
import type { HostOutcome } from '../outcome.ts';
import { judge, type Judgement } from './judge.ts';

/** Which hosts are left and which do no work, as a run goes on. */
export class RunStanding {
  readonly #before: ReadonlyMap<string, Verdict | undefined>;
  #now: Standing;

  /** `before`: the verdict on each host before the run. */
  constructor(fleet: WaveFleet, before: ReadonlyMap<string, Verdict | undefined>) {
    this.#before = before;
    this.#now = { ...fleet, proven: new Set() };
  }

  get now(): Standing {
    return this.#now;
  }

  judge(outcome: HostOutcome): Judgement {
    return judge(outcome, this.#before.get(outcome.host));
  }

  /** A host of a wave has ended. */
  ended(outcome: HostOutcome): Judgement {
    const { host } = outcome;
    const judgement = this.judge(outcome);
    if (judgement === 'healthy') this.#now = afterWave(this.#now, [host]);
    else {
      const pending = this.#now.pending.filter((each) => each.host !== host);
      // One that answers and was not touched is as it was.
      const lost = judgement === 'failed' || outcome.state === 'unreachable';
      this.#now = { ...this.#now, pending, down: new Set([...this.#now.down, ...(lost ? [host] : [])]) };
    }
    return judgement;
  }

  /** A host beside the waves has ended; one that was down may work now. */
  besides(outcome: HostOutcome): void {
    const down = new Set(this.#now.down);
    if (this.judge(outcome) === 'healthy') down.delete(outcome.host);
    this.#now = { ...this.#now, down };
  }
}
