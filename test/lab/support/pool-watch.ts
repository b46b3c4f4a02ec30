import type { FakeControl } from '../../../practice/azure/control/control.ts';
import { until } from '../../../practice/lab/run.ts';

const everyMs = 200;

/** Records the states of agents over time, and which sessions the server refused. */
export class PoolWatch {
  readonly #control: FakeControl;
  readonly #timer: NodeJS.Timeout;
  /** Number of the last request that was already counted. */
  #counted = 0;
  /** By agent: when it stopped taking jobs; milliseconds. */
  readonly #downSince = new Map<string, number>();
  readonly #longest = new Map<string, number>();

  private constructor(control: FakeControl) {
    this.#control = control;
    this.#timer = setInterval(() => void this.#observe().catch(() => undefined), everyMs);
  }

  static async start(control: FakeControl): Promise<PoolWatch> {
    const watch = new PoolWatch(control);
    watch.#counted = (await control.requests()).at(-1)?.n ?? 0;
    return watch;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Returns the longest time, in seconds, in which each of these agents could not take a job. */
  async gapsDuring(names: readonly string[], work: () => Promise<void>): Promise<readonly number[]> {
    this.#longest.clear();
    await work();
    await this.#observe();
    return names.map((name) => (this.#longest.get(name) ?? 0) / 1000);
  }

  async online(names: readonly string[]): Promise<readonly string[]> {
    const up = (await this.#agents()).filter(({ status }) => status === 'online').map(({ name }) => name);
    return names.filter((name) => up.includes(name));
  }

  /** Returns the seconds from the start of `work` until all of these can take jobs; `work` need not wait for that. */
  async secondsUntilAble(names: readonly string[], work: () => Promise<unknown>): Promise<number> {
    const began = performance.now();
    const working = work();
    const able = until(
      `${names.join(', ')} to be online and enabled`,
      async () => {
        const up = (await this.#agents()).filter(({ status, enabled }) => status === 'online' && enabled);
        return names.every((name) => up.some((agent) => agent.name === name));
      },
      { everyMs },
    ).then(() => (performance.now() - began) / 1000);
    const [seconds] = await Promise.all([able, working]);
    return seconds;
  }

  /** Returns how many sessions were refused since the last call: each refusal means an older session was left open. */
  async conflicts(): Promise<number> {
    const requests = await this.#control.requests(this.#counted);
    this.#counted = requests.at(-1)?.n ?? this.#counted;
    return requests.filter(({ path, status }) => path.endsWith('/sessions') && status === 409).length;
  }

  async #agents() {
    return (await this.#control.overview()).pools.flatMap(({ agents }) => agents);
  }

  async #observe(): Promise<void> {
    const agents = await this.#agents();
    const now = Date.now();
    for (const { name, status, enabled } of agents) {
      if (status === 'online' && enabled) {
        this.#downSince.delete(name);
        continue;
      }
      const since = this.#downSince.get(name) ?? now;
      this.#downSince.set(name, since);
      this.#longest.set(name, Math.max(this.#longest.get(name) ?? 0, now - since));
    }
  }
}
