import type { TryConnect } from '../../shared/azure/http/proxy.ts';
import { type AzureError, unreachable } from '../../shared/azure/http/errors.ts';
import { timestamp, unscaled, type Clock } from '../../shared/base/clock.ts';
import { defined } from '../../shared/base/objects.ts';
import { minuteOf } from '../../shared/contract/drain.ts';
import type { ConnectionStatus } from '../../shared/contract/status.ts';
import { causeOf } from '../causes.ts';
import type { Cause } from '../model.ts';

/** Mean time between the starts of two tests; real milliseconds. */
const everyMs = 30_000;
/** Deadline of a test; real milliseconds. With the interval, two failures in a row take 82 s at most. */
const limitMs = 10_000;
/** Failures in a row that count: a single one may be a lost packet. */
const countedFailures = 2;

interface ConnectionTools {
  readonly connect: TryConnect;
  readonly clock: Clock;
  /** URL of the organization. */
  readonly organization: string;
}

interface Failure {
  /** Start of the first failed test, ISO 8601. */
  readonly since: string;
  /** Failed tests in a row. */
  readonly count: number;
  /** Of the last test. */
  readonly error: AzureError;
}

/**
 * Tests whether this host can connect to the organization's server, on real time whatever the speed of the clock. An idle
 * agent notices a lost connection only after minutes, because its long poll hangs. No request is sent.
 */
export class ConnectionWatch {
  readonly #tools: ConnectionTools;
  readonly #url: URL;
  readonly #to: string;
  #checkedAt: string | undefined;
  #failure: Failure | undefined;

  constructor(tools: ConnectionTools) {
    this.#tools = tools;
    this.#url = new URL(tools.organization);
    const { hostname, port, protocol } = this.#url;
    this.#to = `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`;
  }

  get status(): ConnectionStatus {
    return {
      to: this.#to,
      ...defined({
        checkedAt: this.#checkedAt,
        failingSince: this.#counted?.since,
        why: this.#failure?.error.problem.seen,
      }),
    };
  }

  get problem(): Cause | undefined {
    const failure = this.#counted;
    if (failure === undefined) return undefined;
    const { code, seen = '', next = '' } = failure.error.problem;
    if (code === 'azure.certificate') return causeOf(failure.error);
    const since = minuteOf(failure.since) ?? failure.since;
    return {
      code: 'azure.no-connection',
      what: `no connection to ${this.#to} since ${since}: ${seen}`,
      next,
    };
  }

  /** Tests until the signal is aborted. `changed`: the connection was lost, or is back. */
  async run(signal: AbortSignal, changed: (isBack: boolean) => void): Promise<void> {
    const { clock } = this.#tools;
    while (!signal.aborted) {
      // From start to start, so that a test that takes its whole deadline does not delay the next one.
      const due = clock.monotonic() + everyMs * (0.8 + Math.random() * 0.4);
      const wasLost = this.#counted !== undefined;
      await this.#test(signal);
      const isLost = this.#counted !== undefined;
      if (isLost !== wasLost && !signal.aborted) changed(wasLost);
      await clock.wait(unscaled(clock, Math.max(0, due - clock.monotonic())), signal);
    }
  }

  /** The failure, once it counts. */
  get #counted(): Failure | undefined {
    return this.#failure !== undefined && this.#failure.count >= countedFailures ? this.#failure : undefined;
  }

  async #test(signal: AbortSignal): Promise<void> {
    const { clock, organization } = this.#tools;
    const started = timestamp(clock);
    const error = await this.#connect(signal);
    if (signal.aborted) return;
    this.#checkedAt = timestamp(clock);
    if (error === undefined) {
      this.#failure = undefined;
      return;
    }
    const { since = started, count = 0 } = this.#failure ?? {};
    this.#failure = { since, count: count + 1, error: unreachable(organization, operation, error) };
  }

  /** Returns why a connection is not possible; undefined: it is. Some peers accept a connection and never answer. */
  async #connect(signal: AbortSignal): Promise<Error | undefined> {
    const { connect, clock } = this.#tools;
    const end = new AbortController();
    const either = AbortSignal.any([signal, end.signal]);
    const late = clock.wait(unscaled(clock, limitMs), either).then(() => noAnswer);
    const tried = connect(this.#url, either).then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    );
    try {
      return await Promise.race([tried, late]);
    } finally {
      end.abort();
    }
  }
}

const noAnswer = new Error(`no answer in ${limitMs / 1000} s`);

const operation = { what: 'connect to Azure DevOps', permission: '' };
