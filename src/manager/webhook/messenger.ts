import type { Fetch } from '../../shared/azure/http/proxy.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { timestamp } from '../../shared/base/clock.ts';
import type { Secret } from '../../shared/base/secret.ts';
import { causeOf } from '../causes.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import { changesSince, openEpisodes, type Episode, type SlotOutlook } from './episodes.ts';
import { changeMessage, testMessage } from './message.ts';
import { post, type Answer } from './post.ts';

/** Unscaled milliseconds between two messages that were taken: a slot that flaps fills no room. */
const leastPauseMs = 60_000;
/** How often what has changed is given to a receiver that does not take it, over some two hours, until it is let be. */
const mostTries = 15;
const longestPauseMs = 600_000;

/** `isAway`: nobody is there to take the slot's jobs, and somebody should be. */
export interface SlotLook extends Omit<SlotOutlook, 'awayAt'> {
  readonly isAway: boolean;
}

export interface MessengerTools extends Pick<ManagerDeps, 'clock' | 'log' | 'config' | 'signal'> {
  readonly fetch: Fetch;
  readonly address: () => Promise<Secret>;
  /** The episodes that earlier processes reported. */
  readonly state: {
    readonly value: { readonly told: readonly Episode[] };
    note(change: () => { readonly told: readonly Episode[] }): Promise<void>;
  };
  readonly metrics: { webhookAnswered(result: 'taken' | 'failed'): void };
}

/**
 * Reports to a webhook what has begun and what has ended. It compares with the state's list of reported episodes: nothing
 * is reported twice, not even after a restart; changes that a receiver missed are one message later, and an episode that
 * began and ended in that time is none.
 */
export class Messenger {
  readonly #tools: MessengerTools;
  #open: readonly Episode[];
  /** By slot, monotonic: since when nobody has been there. */
  #away = new Map<string, number>();
  #notBefore = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #complaint = '';

  constructor(tools: MessengerTools) {
    this.#tools = tools;
    this.#open = tools.state.value.told;
  }

  /** What a look has shown; sends nothing itself. */
  look(slots: readonly SlotLook[]): void {
    const { clock, config } = this.#tools;
    if (config.webhook === undefined) return;
    const now = clock.monotonic();
    const away = slots.flatMap(({ slot, isAway }) =>
      isAway ? [[slot.name, this.#away.get(slot.name) ?? now] as const] : [],
    );
    this.#away = new Map(away);
    const { offlineS, queueWaitS } = config.webhook;
    this.#open = openEpisodes(
      this.#open,
      slots.map((each) => ({ ...each, awayAt: this.#away.get(each.slot.name) })),
      { awayMs: clock.scaled(offlineS * 1000), queueWaitS },
      { now, at: timestamp(clock) },
    );
  }

  /** Sends changes when they are due. Never rejects; takes at most one exchange. */
  async deliver(): Promise<void> {
    const { clock, config, state } = this.#tools;
    if (config.webhook === undefined || clock.monotonic() < this.#notBefore) return;
    const open = this.#open;
    const changes = changesSince(state.value.told, open);
    if (changes.begun.length === 0 && changes.ended.length === 0) return;
    const answer = await this.#send(changeMessage(changes, { host: config.host, at: timestamp(clock) }));
    if (answer.kind === 'taken') {
      this.#failures = 0;
      this.#complaint = '';
      this.#notBefore = clock.monotonic() + clock.scaled(leastPauseMs);
      await state.note(() => ({ told: open }));
      return;
    }
    this.#failures += 1;
    this.#complain(answer.problem);
    this.#notBefore = clock.monotonic() + clock.scaled(pauseMs(this.#failures, answer));
    if (this.#failures < mostTries && answer.kind !== 'refused') return;
    this.#failures = 0;
    this.#tools.log.log('warn', 'what has changed is not told: the webhook does not take it', {
      events: changes.begun.length + changes.ended.length,
    });
    await state.note(() => ({ told: open }));
  }

  /** Sends a message that says it is a test, now. Rejects with why it was not taken. */
  async test(): Promise<void> {
    const { clock, config } = this.#tools;
    if (config.webhook === undefined)
      throw new FleetError({
        code: 'webhook.none',
        what: `no webhook is set for ${config.host}`,
        next: 'set webhook: { url: … } for it in the inventory, then azp-fleet provision',
      });
    const answer = await this.#send(testMessage({ host: config.host, at: timestamp(clock) }));
    if (answer.kind !== 'taken') throw answer.problem;
  }

  async #send(body: string): Promise<Answer> {
    const { fetch, address, clock, signal, metrics } = this.#tools;
    const answer = await address().then(
      (url) => post(fetch, url, body, { wall: clock.wall(), signal }),
      (error: unknown): Answer => ({
        kind: 'later',
        problem: error instanceof FleetError ? error : new FleetError(causeOf(error)),
        afterMs: undefined,
      }),
    );
    metrics.webhookAnswered(answer.kind === 'taken' ? 'taken' : 'failed');
    return answer;
  }

  /** Logs a problem once, not at each try. */
  #complain(problem: FleetError): void {
    const cause = causeOf(problem);
    if (cause.what !== this.#complaint) this.#tools.log.log('warn', 'a message was not taken', { ...cause });
    this.#complaint = cause.what;
  }
}

/** Unscaled milliseconds: 10, 20, 40 … 600 s, or as long as the receiver asks, an hour at most. Pure. */
export function pauseMs(failures: number, answer: Exclude<Answer, { kind: 'taken' }>): number {
  const own = Math.min(5000 * 2 ** failures, longestPauseMs);
  const asked = answer.kind === 'later' ? (answer.afterMs ?? 0) : 0;
  return Math.max(own, Math.min(asked, 3_600_000));
}
