import type { Fetch } from '../../shared/azure/http/proxy.ts';
import { codeOf, FleetError } from '../../shared/base/errors.ts';
import { timestamp, unscaled } from '../../shared/base/clock.ts';
import type { Logger } from '../../shared/base/log.ts';
import { Secret } from '../../shared/base/secret.ts';
import { type Answer, post } from '../../shared/webhook/post.ts';
import { causeOf } from '../causes.ts';
import { readText } from '../machine/files.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import { changesSince, openEpisodes, type Episode, type SlotObservation } from './episodes.ts';
import { changeMessage, testMessage } from './message.ts';

/** Least time between two accepted messages in unscaled milliseconds, so that a flapping slot does not flood a channel. */
const minPauseMs = 60_000;
/** Most attempts to send changes, over about two hours; then they are dropped. */
const maxTries = 15;
const longestPauseMs = 600_000;

/** The state of a slot. `isUnavailable`: no agent can take its jobs, and one is expected. */
export interface SlotReport extends Omit<SlotObservation, 'closedMs' | 'unavailableSince'> {
  readonly isUnavailable: boolean;
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
 * Reports episodes to a webhook when they begin and end. The state keeps the reported episodes, so that none is reported twice,
 * also after a restart. Changes that a receiver missed are in one later message, without episodes that ended by then.
 */
export class Messenger {
  readonly #tools: MessengerTools;
  #open: readonly Episode[];
  /** Slot → since when no agent can take its jobs; monotonic. */
  #unavailable = new Map<string, number>();
  /** Slot and code of its cause → since when it is closed; monotonic. */
  #closed = new Map<string, number>();
  #notBefore = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #lastProblem = '';

  constructor(tools: MessengerTools) {
    this.#tools = tools;
    this.#open = tools.state.value.told;
  }

  /** Updates the open episodes from a check of the slots. Sends no message. */
  observe(slots: readonly SlotReport[]): void {
    const { clock, config } = this.#tools;
    if (config.webhook === undefined) return;
    const now = clock.monotonic();
    const unavailable = slots.flatMap(({ slot, isUnavailable }) =>
      isUnavailable ? [[slot.name, this.#unavailable.get(slot.name) ?? now] as const] : [],
    );
    this.#unavailable = new Map(unavailable);
    const closed = slots.flatMap(({ slot, hold }) => {
      if (hold?.state !== 'quarantined') return [];
      const key = `${slot.name} ${hold.cause.code}`;
      return [[key, this.#closed.get(key) ?? now] as const];
    });
    this.#closed = new Map(closed);
    const closedMs = ({ slot, hold }: SlotReport): number =>
      unscaled(clock, now - (this.#closed.get(`${slot.name} ${hold?.cause.code}`) ?? now));
    const { offlineS, queueWaitS } = config.webhook;
    this.#open = openEpisodes(
      this.#open,
      slots.map((each) => ({
        ...each,
        closedMs: closedMs(each),
        unavailableSince: this.#unavailable.get(each.slot.name),
      })),
      { offlineMs: clock.scaled(offlineS * 1000), queueWaitS },
      { now, at: timestamp(clock) },
    );
  }

  /** Sends changes when they are due, in at most one call. Never rejects. */
  async deliver(): Promise<void> {
    const { clock, config, state } = this.#tools;
    if (config.webhook === undefined || clock.monotonic() < this.#notBefore) return;
    const open = this.#open;
    const changes = changesSince(state.value.told, open);
    if (changes.begun.length === 0 && changes.ended.length === 0) return;
    const answer = await this.#send(changeMessage(changes, { host: config.host, at: timestamp(clock) }));
    if (answer.kind === 'taken') {
      this.#failures = 0;
      this.#lastProblem = '';
      this.#notBefore = clock.monotonic() + clock.scaled(minPauseMs);
      await state.note(() => ({ told: open }));
      return;
    }
    this.#failures += 1;
    this.#report(answer.problem);
    this.#notBefore = clock.monotonic() + clock.scaled(pauseMs(this.#failures, answer));
    if (this.#failures < maxTries && answer.kind !== 'refused') return;
    this.#failures = 0;
    this.#tools.log.log('warn', 'changes are not reported: the webhook does not accept them', {
      events: changes.begun.length + changes.ended.length,
    });
    await state.note(() => ({ told: open }));
  }

  /** Sends a test message now. Rejects if it is not accepted. */
  async test(): Promise<void> {
    const { clock, config } = this.#tools;
    if (config.webhook === undefined)
      throw new FleetError({
        code: 'webhook.none',
        what: `no webhook is set for ${config.host}`,
        next: 'set webhook: { url: … } for it in the inventory, then run `azp-fleet provision`',
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

  /** Logs a problem once, not at each attempt. */
  #report(problem: FleetError): void {
    const cause = causeOf(problem);
    if (cause.what !== this.#lastProblem)
      this.#tools.log.log('warn', 'the webhook did not accept a message', { ...cause });
    this.#lastProblem = cause.what;
  }
}

/** Returns the pause after failures in unscaled milliseconds: 10, 20, 40 … 600 s, or the receiver's, at most an hour. Pure. */
export function pauseMs(failures: number, answer: Exclude<Answer, { kind: 'taken' }>): number {
  const own = Math.min(5000 * 2 ** failures, longestPauseMs);
  const asked = answer.kind === 'later' ? (answer.afterMs ?? 0) : 0;
  return Math.max(own, Math.min(asked, 3_600_000));
}

/**
 * Returns a function that reads the webhook's address each time, so that a new one needs no restart. The address is a secret,
 * because it permits posting: the log hides it, and the part after the host name.
 */
export function addressReader(path: string, log: Logger): () => Promise<Secret> {
  return async () => {
    const text = await readText(path).catch((error: unknown) => {
      throw unusable(path, codeOf(error));
    });
    const address = new Secret(text.trim());
    log.redact(address);
    const url = URL.parse(address.reveal());
    if (url === null || !['https:', 'http:'].includes(url.protocol)) throw unusable(path, 'no address in it');
    for (const part of [`${url.pathname}${url.search}`, url.search, url.password])
      log.redact(new Secret(part));
    return address;
  };
}

function unusable(path: string, seen: string): FleetError {
  return new FleetError({
    code: 'webhook.unusable',
    what: `the address of the webhook cannot be read from ${path}`,
    expected: 'one http(s) address',
    seen,
    next: 'write it again: azp-fleet provision',
  });
}
