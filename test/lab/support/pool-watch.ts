import type { FakeControl } from '../../../practice/azure/control/control.ts';
import { until } from '../../../practice/lab/run.ts';

const everyMs = 200;

/** What the server shows of agents over time, and which sessions it refused. */
export class PoolWatch {
  readonly #control: FakeControl;
  readonly #timer: NodeJS.Timeout;
  /** The last request that is not counted any more. */
  #counted = 0;
  /** By agent: since when it could not take a job; milliseconds. */
  readonly #downSince = new Map<string, number>();
  readonly #longest = new Map<string, number>();

  private constructor(control: FakeControl) {
    this.#control = control;
    this.#timer = setInterval(() => void this.#look().catch(() => undefined), everyMs);
  }

  static async start(control: FakeControl): Promise<PoolWatch> {
    const watch = new PoolWatch(control);
    watch.#counted = (await control.requests()).at(-1)?.n ?? 0;
    return watch;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** For how many seconds on end each of these could not take a job, at the longest. */
  async gapsDuring(names: readonly string[], work: () => Promise<void>): Promise<readonly number[]> {
    this.#longest.clear();
    await work();
    await this.#look();
    return names.map((name) => (this.#longest.get(name) ?? 0) / 1000);
  }

  async online(names: readonly string[]): Promise<readonly string[]> {
    const up = (await this.#agents()).filter(({ status }) => status === 'online').map(({ name }) => name);
    return names.filter((name) => up.includes(name));
  }

  /** Seconds from the beginning of `work` until all of these can take jobs; `work` need not wait for it. */
  async secondsUntilAble(names: readonly string[], work: () => Promise<unknown>): Promise<number> {
    const began = performance.now();
    const working = work();
    const able = until(
      `${names.join(', ')} to be online and enabled`,
      async () => {
        const up = (await this.#agents()).filter(({ status, enabled }) => status === 'online' && enabled);
        return names.every((name) => up.some((agent) => agent.name === name));
      },
      { timeoutMs: 240_000, everyMs },
    ).then(() => (performance.now() - began) / 1000);
    const [seconds] = await Promise.all([able, working]);
    return seconds;
  }

  /** How many sessions were refused since the last call: each has one before it that was left behind. */
  async conflicts(): Promise<number> {
    const requests = await this.#control.requests(this.#counted);
    this.#counted = requests.at(-1)?.n ?? this.#counted;
    return requests.filter(({ path, status }) => path.endsWith('/sessions') && status === 409).length;
  }

  async #agents() {
    return (await this.#control.overview()).pools.flatMap(({ agents }) => agents);
  }

  async #look(): Promise<void> {
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
