import { agentsToFind, listPools, poolsSeen, describeEach } from '../../fleet/status/collect.ts';
import { hostDetail } from '../../fleet/status/detail.ts';
import { followHosts } from '../../fleet/status/follow.ts';
import { jobsView, type Observation, statusRow } from '../../fleet/status/row.ts';
import { supportOnHost } from '../../fleet/status/support.ts';
import type { AgentsIn } from '../../fleet/verdict/host-view.ts';
import { plainPools } from '../../fleet/inventory/pool-pattern.ts';
import { readParallelJobs } from '../../shared/azure/parallel-jobs.ts';
import { systemClock } from '../../shared/base/clock.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, type Problem, usageError } from '../../shared/base/errors.ts';
import { foreignLine, foreignValue } from '../../shared/base/foreign-text.ts';
import { hostProblem } from '../../shared/base/host-trouble.ts';
import { limitedLogger } from '../../shared/base/log.ts';
import { defined } from '../../shared/base/objects.ts';
import type { CommandInput } from '../command.ts';
import { painter } from '../render/color.ts';
import type { Progress } from '../render/progress.ts';
import { jobsTrouble } from '../render/trouble.ts';
import type { Result } from '../result.ts';
import { openFleet, type OpenFleet } from '../run/fleet.ts';
import { connected, type Connected, overSsh } from '../run/hosts.ts';
import { keysOf, pressed } from './keys.ts';
import { emptyState, type Report, reported, type WatchState } from './state.ts';
import { WholeTerminal } from './terminal.ts';
import { type Size, watchLines } from './view.ts';

/** The terminal's time is the machine's, also where a practice clock runs faster. */
const pace = systemClock(1);
/** Milliseconds between two redraws, at least. */
const redrawMs = 250;
/** Milliseconds between two redraws without a change: ages and the time. */
const tickMs = 1000;
/** Milliseconds between two questions for a pool. */
const poolEveryMs = 60_000;
/** Milliseconds that the first question for a pool waits for the first answers of the hosts, which name agents and pools. */
const firstPoolMs = 5000;

/** Entries of the debug log, which gets some for each host and minute. */
const mostLogged = 50_000;

/** Shows the fleet on the whole terminal until `q` or Ctrl-C. Changes nothing. */
export async function watch(context: Context, input: CommandInput): Promise<Result> {
  if (context.stdin.isTTY !== true || context.stdout.isTTY !== true || context.env['TERM'] === 'dumb')
    throw usageError({
      code: 'usage.no-terminal',
      what: '--watch needs a terminal',
      next: 'run azp-fleet status, or for programs azp-fleet status --json',
    });
  const stop = new AbortController();
  const signal = AbortSignal.any([context.signal, stop.signal]);
  // At `q` nothing waits for a host or a server that does not answer.
  const stoppable: Context = { ...context, signal, log: limitedLogger(context.log, mostLogged) };
  const open = await openFleet(stoppable, input);
  const screen = new WatchScreen(
    context,
    open.hosts.map(({ name }) => name),
  );
  const wiring = { ...overSsh, draw: () => screen.progress };
  const parallel = input.options.integer('parallel', { min: 1, max: 1000 }) ?? 50;
  const exitCode = await connected(stoppable, input, open, wiring, async (fleet) => {
    const sources = new Sources(stoppable, fleet, screen, parallel);
    // They run as long as the screen: only a bug ends them.
    sources.follow().catch((error: unknown) => screen.fail(error));
    return screen.untilEnd().finally(() => stop.abort());
  });
  return { exitCode, json: {} };
}

/** The state on the screen: reports and keys change it, and it is redrawn at most four times a second. */
class WatchScreen {
  readonly #context: Context;
  readonly #terminal: WholeTerminal;
  readonly #ended = Promise.withResolvers<ExitCode>();
  #state: WatchState;
  #timer: NodeJS.Timeout | undefined;
  #isEnded = false;
  #dueAt = 0;
  #drawnAt = -Infinity;

  constructor(context: Context, hosts: readonly string[]) {
    this.#context = context;
    this.#state = emptyState(hosts);
    this.#terminal = new WholeTerminal(context, {
      keys: (chunk) => this.#press(chunk),
      resize: () => this.#redrawSoon(0),
    });
  }

  /** Shows notes and questions of the connections. */
  readonly progress: Progress = {
    sink: (event) => {
      if (event.kind === 'note')
        this.report({ kind: 'note', text: foreignLine(event.text), at: this.#now() });
    },
    aside: async (question) => {
      this.#terminal.close();
      try {
        return await question();
      } catch (error) {
        // Ctrl-C at the question.
        if (error instanceof Error && error.name === 'ExitPromptError')
          this.#ended.resolve(ExitCode.interrupted);
        throw error;
      } finally {
        // At once: the next question may follow.
        if (!this.#isEnded) {
          this.#terminal.open();
          clearTimeout(this.#timer);
          this.#redraw();
        }
      }
    },
    finish: () => {
      this.#isEnded = true;
      clearTimeout(this.#timer);
      this.#terminal.close();
      return Promise.resolve();
    },
  };

  report(report: Report): void {
    this.#state = reported(this.#state, report);
    this.#redrawSoon(0);
  }

  /** Shows the screen until a key or a signal ends it. */
  async untilEnd(): Promise<ExitCode> {
    const { signal, stdin } = this.#context;
    const interrupted = (): void => this.#ended.resolve(ExitCode.interrupted);
    signal.addEventListener('abort', interrupted, { once: true });
    stdin.once('end', interrupted);
    try {
      if (signal.aborted) return ExitCode.interrupted;
      this.#terminal.open();
      this.#redrawSoon(0);
      return await this.#ended.promise;
    } finally {
      signal.removeEventListener('abort', interrupted);
      stdin.off('end', interrupted);
      await this.progress.finish();
    }
  }

  /** Ends the screen with an error. */
  fail(error: unknown): void {
    this.#ended.reject(error);
  }

  #now(): number {
    return this.#context.clock.monotonic();
  }

  #size(): Size {
    const { stdout, env, clock } = this.#context;
    const { columns: width = 80, rows: height = 24 } = stdout;
    return { width, height, paint: painter(stdout, env), now: clock.monotonic(), wall: clock.wall() };
  }

  #press(chunk: string): void {
    for (const key of keysOf(chunk)) {
      const next = pressed(this.#state, key, this.#size());
      if (next === 'quit') return this.#ended.resolve(ExitCode.ok);
      if (next === 'interrupt') return this.#ended.resolve(ExitCode.interrupted);
      this.#state = next;
    }
    this.#redrawSoon(0);
  }

  /** Redraws after this many milliseconds, or sooner if that is due already; never sooner than `redrawMs` after the last one. */
  #redrawSoon(ms: number): void {
    if (this.#isEnded) return;
    const now = pace.monotonic();
    const due = Math.max(now + ms, this.#drawnAt + redrawMs);
    if (this.#timer !== undefined && this.#dueAt <= due) return;
    clearTimeout(this.#timer);
    this.#dueAt = due;
    this.#timer = setTimeout(() => this.#redraw(), due - now);
  }

  #redraw(): void {
    this.#timer = undefined;
    this.#drawnAt = pace.monotonic();
    try {
      this.#terminal.draw(watchLines(this.#state, this.#size()));
    } catch (error) {
      return this.fail(error);
    }
    this.#redrawSoon(tickMs);
  }
}

interface Seen {
  readonly observation: Observation;
  readonly at: number;
}

/** The hosts and the pools, which report to the screen. */
class Sources {
  readonly #context: Context;
  readonly #fleet: OpenFleet & Connected;
  readonly #screen: WatchScreen;
  readonly #parallel: number;
  /** The last one of each host, with its time on the monotonic clock. */
  readonly #observations = new Map<string, Seen>();
  readonly #allSeen = Promise.withResolvers<void>();
  #agentsIn: AgentsIn = () => undefined;

  constructor(context: Context, fleet: OpenFleet & Connected, screen: WatchScreen, parallel: number) {
    this.#context = context;
    this.#fleet = fleet;
    this.#screen = screen;
    this.#parallel = parallel;
  }

  async follow(): Promise<void> {
    const { root, clock, log, signal } = this.#context;
    const { hosts, transport } = this.#fleet;
    const tools = { transport, root, clock, log, signal, parallel: this.#parallel };
    await Promise.all([
      followHosts(hosts, tools, (observation) => this.#seen(observation)),
      this.#followPools(),
    ]);
  }

  #seen(observation: Observation): void {
    const seen = { observation, at: pace.monotonic() };
    this.#observations.set(observation.host.name, seen);
    if (this.#observations.size === this.#fleet.hosts.length) this.#allSeen.resolve();
    this.#describe(seen);
  }

  /** Reports what is known of a host with the pools as they were read last. */
  #describe({ observation, at }: Seen): void {
    const { clock, log } = this.#context;
    const wall = clock.wall();
    const { rows } = describeEach([observation], log, (described): Report => {
      const { facts } = described;
      const row = statusRow(described, this.#agentsIn, wall);
      if (facts === undefined) return { kind: 'lost', row, at: clock.monotonic() };
      const detail = hostDetail(described, this.#agentsIn, wall);
      const support = supportOnHost(facts, wall);
      const answer = { row: { ...row, support }, detail, at, now: facts.time ?? wall };
      return { kind: 'answer', answer, at: clock.monotonic() };
    });
    for (const report of rows) this.#screen.report(foreignValue(report, (text) => foreignLine(text)));
  }

  async #followPools(): Promise<void> {
    const { clock, log, signal } = this.#context;
    await Promise.race([this.#allSeen.promise, clock.wait(firstPoolMs, signal)]);
    while (!signal.aborted) {
      await this.#askPools().catch((error: unknown) => {
        if (signal.aborted) return;
        this.#reportPools({ queues: [], problems: [hostProblem('Azure DevOps', error, log)] });
      });
      await clock.wait(poolEveryMs, signal);
    }
  }

  async #askPools(): Promise<void> {
    const { clock, log, signal } = this.#context;
    const { azure, hosts, fleet } = this.#fleet;
    const names = plainPools(hosts);
    const observed = [...this.#observations.values()].map(({ observation }) => observation);
    const all = [...new Set([...names, ...observed.flatMap(poolsSeen)])];
    const wanted = (pool: string) => Promise.resolve(agentsToFind(observed, pool));
    const [pools, parallel] = await Promise.all([
      listPools(azure, all, wanted, clock.wall()),
      readParallelJobs(azure, log),
    ]);
    if (signal.aborted) return;
    this.#agentsIn = (pool) => pools.agents.get(pool);
    for (const seen of this.#observations.values()) this.#describe(seen);
    const rows = observed.map((each) => statusRow(each, this.#agentsIn, clock.wall()));
    const jobs = jobsView(rows, parallel);
    this.#reportPools({ ...pools, ...defined({ jobs: jobs && jobsTrouble(jobs, fleet.organization) }) });
  }

  #reportPools({ queues, problems, jobs }: PoolReport): void {
    const at = pace.monotonic();
    const report: Report = { kind: 'pools', queues, problems, jobs, at };
    this.#screen.report(foreignValue(report, (text) => foreignLine(text)));
  }
}

interface PoolReport extends Pick<Extract<Report, { readonly kind: 'pools' }>, 'queues'> {
  readonly problems: readonly Problem[];
  readonly jobs?: Extract<Report, { readonly kind: 'pools' }>['jobs'];
}
