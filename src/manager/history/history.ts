import { type Clock, unscaled } from '../../shared/base/clock.ts';
import type { HostRoot } from '../../shared/base/host-root.ts';
import type { Logger } from '../../shared/base/log.ts';
import { defined } from '../../shared/base/objects.ts';
import type { HistoryAnswer, RunUse, SeriesAnswer } from '../../shared/contract/history.ts';
import type { ManagerStatus, RunRecord } from '../../shared/contract/status.ts';
import { isThrottled } from '../../shared/health/gpu-status.ts';
import type { GpuReport } from '../../shared/health/smi-report.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import { causeOf } from '../causes.ts';
import { checkEveryMs, type HostCheck } from '../gpus/observe.ts';
import type { WidestLinks } from '../gpus/link-width.ts';
import { bootId } from '../machine/machine-facts.ts';
import { faultOf } from '../runs/outcome.ts';
import { isFailed } from '../runs/run-store.ts';
import type { SlotReport } from '../webhook/messenger.ts';
import { changesIn, ofCheck, ofSlots, ofStatus } from './changes.ts';
import type { Entry, GpuSample, KeptEntry, NewEvent, SampleEntry } from './entries.ts';
import { KeptFacts, merged } from './retention.ts';
import type { Ring } from './ring.ts';
import { EventCollector, SeriesCollector } from './summary.ts';
import { joined, noUse, useOf, type UseSoFar, withCheck } from './use.ts';

/** How often the history is written; unscaled milliseconds. */
export const writeEveryMs = 60_000;
/** How often it is thinned; unscaled milliseconds. */
const thinEveryMs = 6 * 3_600_000;
/** After the start, so that a manager in a restart loop does not thin each time; unscaled milliseconds. */
const firstThinMs = 15 * 60_000;
/** Events that wait for the next write; a busy host has a few a minute. */
const mostWaiting = 200;
/** The longest time that one check of the GPUs stands for; seconds. */
const longestCheckS = 60;

interface HistoryTools {
  readonly ring: Ring;
  readonly clock: Clock;
  readonly log: Logger;
}

type NewEntry = Exclude<Entry, { kind: 'other' }>;

/** A run with a job, and its GPUs. */
interface BusyRun {
  readonly gpus: readonly string[];
  use: UseSoFar;
  /** Monotonic; undefined: not checked yet. */
  checkedAt: number | undefined;
  /** Start of its job before this manager, seconds since the epoch: the file has the checks since then. */
  before: number | undefined;
}

/** What happened on this host: GPU samples, changes, and runs. Kept in memory until the next write, at most a minute. */
export class History implements WidestLinks {
  readonly #tools: HistoryTools;
  readonly #facts: KeptFacts;
  #waiting: NewEntry[] = [];
  /** Facts that are not on the disk, by key. However many events wait, none of these is dropped. */
  readonly #unwritten = new Map<string, KeptEntry>();
  /** The latest write. */
  #writing: Promise<void> = Promise.resolve();
  #lost = 0;
  #sample: SampleEntry | undefined;
  #sampledAt = Number.NEGATIVE_INFINITY;
  #seenAt = Number.NEGATIVE_INFINITY;
  #thinAt: number;
  /** Seconds since the epoch. */
  readonly #startedAt: number;
  #busy = new Map<string, BusyRun>();
  #problem = '';

  private constructor(tools: HistoryTools, facts: KeptFacts) {
    const { clock } = tools;
    this.#tools = tools;
    this.#facts = facts;
    this.#startedAt = this.#now();
    this.#thinAt = clock.monotonic() + clock.scaled(firstThinMs);
  }

  /** Reads the kept facts. A file that cannot be read counts as empty. */
  static async open(tools: HistoryTools, root: HostRoot): Promise<History> {
    const facts = new KeptFacts();
    try {
      for await (const entry of tools.ring.entries()) facts.add(entry);
    } catch (error) {
      tools.log.log('warn', 'the history cannot be read', { ...causeOf(error) });
    }
    const history = new History(tools, facts);
    history.#change({ boot: await bootId(root) });
    return history;
  }

  /** Adds an event: it is written within a minute. */
  note(event: NewEvent): void {
    this.#waiting.push({ kind: 'event', at: this.#now(), event });
    this.#cut();
  }

  /** Notes the end of a run that had a job or failed. */
  runEnded(record: RunRecord): void {
    const { run: id, slot, job, result, cause, gpus, startedAt, durationS, use } = record;
    this.#busy.delete(id);
    const failed = isFailed(record);
    if (job === undefined && !failed) return;
    const end = result ?? (cause === undefined ? 'ended' : cause.what);
    this.note({
      kind: 'run',
      what: job === undefined ? end : `${job}: ${end}`,
      slot,
      run: {
        id,
        failed,
        gpus,
        ...defined({ job, result, cause: faultOf(record)?.code, startedAt, durationS, use }),
      },
    });
  }

  /** Returns what the checks of the GPUs have shown of a run; undefined: it had no job, or no GPU. */
  useOf(run: string): RunUse | undefined {
    const busy = this.#busy.get(run);
    return busy && useOf(busy.use);
  }

  widest({ busId, uuid }: { readonly busId: string; readonly uuid: string }, lanes: number): number {
    const key = `width ${busId} ${uuid}`;
    const before = this.#facts.get(key);
    if (typeof before === 'number' && before >= lanes) return before;
    this.#keep(key, lanes);
    return lanes;
  }

  forgetWidths(busId: string): void {
    const family = busId === 'all' ? 'width ' : `width ${busId} `;
    for (const key of this.#facts.keys()) if (key.startsWith(family)) this.#keep(key, '');
  }

  /** Notes changes since the last pass, and which runs have a job. */
  observe(status: ManagerStatus, slots: readonly SlotReport[]): void {
    this.#change({ ...ofStatus(status), ...ofSlots(slots) });
    const busy = new Map<string, BusyRun>();
    for (const { state, run, gpus, jobSince = '' } of status.slots) {
      if (state !== 'busy' || run === undefined || gpus.length === 0) continue;
      const since = Date.parse(jobSince) / 1000;
      const before = since < this.#startedAt ? since : undefined;
      busy.set(run.id, this.#busy.get(run.id) ?? { gpus, use: noUse, checkedAt: undefined, before });
    }
    // A run that has ended stays until it is collected.
    for (const [id, run] of this.#busy)
      if (status.slots.some((slot) => slot.run?.id === id) && !busy.has(id)) busy.set(id, run);
    this.#busy = busy;
  }

  /**
   * Notes a check of the GPUs: changes, the sample, and the use of the runs. Returns the values of the boards, and the seconds
   * that they stand for; undefined: there are none, or they are known already.
   */
  checked(check: HostCheck): Pick<SampleEntry, 'gpus' | 'spanS'> | undefined {
    this.#change(ofCheck(check));
    const { report } = check.checkup;
    if (check.seenAt === this.#seenAt || report === undefined) return undefined;
    this.#seenAt = check.seenAt;
    const seconds = this.#secondsSince(this.#sampledAt);
    const devices = devicesOf(report.gpus);
    const boards = new Map([...devices].filter(([uuid]) => report.gpus.some((gpu) => gpu.uuid === uuid)));
    const sample: SampleEntry = { kind: 'sample', at: this.#now(), spanS: seconds, gpus: boards };
    this.#sample = this.#sample === undefined ? sample : merged(this.#sample, sample);
    this.#sampledAt = this.#tools.clock.monotonic();
    for (const run of this.#busy.values()) {
      const values = run.gpus.map((gpu) => devices.get(gpu));
      run.use = withCheck(run.use, values, this.#secondsSince(run.checkedAt));
      run.checkedAt = this.#sampledAt;
    }
    return sample;
  }

  /** Writes what waits, in one write; thins the file when that is due. Never rejects. */
  write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    const { ring, clock, log } = this.#tools;
    const facts = [...this.#unwritten.values()];
    const lost = this.#lost;
    const waiting = [...this.#waiting, ...(this.#sample === undefined ? [] : [this.#sample])];
    this.#waiting = [];
    this.#sample = undefined;
    try {
      if (clock.monotonic() >= this.#thinAt) {
        this.#thinAt = clock.monotonic() + clock.scaled(thinEveryMs);
        await ring.compact(this.#now());
      }
      const gap: NewEntry = { kind: 'event', at: this.#now(), event: lostEvent(lost) };
      const entries = [...(lost === 0 ? [] : [gap]), ...waiting, ...facts];
      if (entries.length > 0) await ring.append(entries, this.#now());
      // One that has changed since waits for the next write.
      for (const fact of facts) if (this.#unwritten.get(fact.key) === fact) this.#unwritten.delete(fact.key);
      this.#lost -= lost;
      this.#problem = '';
    } catch (error) {
      // The newest wait for the next write.
      this.#waiting = [...waiting, ...this.#waiting];
      this.#cut();
      const { what } = causeOf(error);
      if (what !== this.#problem) log.log('warn', 'the history cannot be written', { what });
      this.#problem = what;
    }
    await this.#recover().catch((error: unknown) =>
      log.log('warn', 'the history cannot be read', { ...causeOf(error) }),
    );
  }

  /** Adds the checks of an earlier manager to the runs that it has left. */
  async #recover(): Promise<void> {
    const runs = [...this.#busy.values()].filter(({ before }) => before !== undefined);
    if (runs.length === 0) return;
    const found = new Map(runs.map((run) => [run, noUse]));
    for await (const entry of this.#tools.ring.entries()) {
      if (entry.kind !== 'sample' || entry.at > this.#startedAt) continue;
      const { at, spanS, gpus } = entry;
      for (const [run, use] of found) {
        if (at <= (run.before ?? at)) continue;
        const values = run.gpus.map((gpu) => gpus.get(gpu));
        const checks = Math.max(1, Math.round((spanS * 1000) / checkEveryMs));
        found.set(run, withCheck(use, values, spanS, checks));
      }
    }
    for (const [run, use] of found) {
      run.use = joined(use, run.use);
      run.before = undefined;
    }
  }

  /** Why the history is not on the disk; undefined: it is. */
  get findings(): readonly Finding[] {
    if (this.#problem === '') return [];
    return [
      {
        code: 'history.not-written',
        severity: 'info',
        what: `the manager cannot write its history: ${this.#problem}`,
        next: 'free space on the disk of /var/lib/azp-fleet; retried automatically',
      },
    ];
  }

  /** Returns events since a time (seconds since the epoch), and a summary of the last days. */
  async events(since: number, limit: number): Promise<HistoryAnswer> {
    const collector = new EventCollector({ since, limit, now: this.#now() });
    await this.#read((entry) => collector.add(entry));
    return { schema: 1, ...collector.end() };
  }

  /** Returns the GPU samples of the last hours as series. */
  async series(hours: number): Promise<SeriesAnswer> {
    const collector = new SeriesCollector({ now: this.#now(), hours });
    await this.#read((entry) => collector.add(entry));
    return collector.end();
  }

  async #read(add: (entry: Entry) => void): Promise<void> {
    await this.#writing;
    const waiting = [...this.#waiting];
    for await (const entry of this.#tools.ring.entries()) add(entry);
    for (const entry of waiting) add(entry);
  }

  /** Keeps facts, and adds an event for each that has changed. The first value of a fact is no event. */
  #change(facts: Readonly<Record<string, string>>): void {
    for (const { key, value, event } of changesIn(facts, (key) => this.#facts.get(key))) {
      this.#keep(key, value);
      if (event !== undefined) this.note(event);
    }
  }

  #keep(key: string, value: string | number): void {
    const fact = { kind: 'kept', at: this.#now(), key, value } as const;
    this.#facts.add(fact);
    this.#unwritten.set(key, fact);
  }

  #cut(): void {
    const surplus = this.#waiting.length - mostWaiting;
    if (surplus <= 0) return;
    this.#lost += surplus;
    this.#waiting = this.#waiting.slice(surplus);
  }

  /** Returns the seconds that a check stands for. */
  #secondsSince(before = Number.NEGATIVE_INFINITY): number {
    const { clock } = this.#tools;
    if (before === Number.NEGATIVE_INFINITY) return checkEveryMs / 1000;
    const seconds = unscaled(clock, clock.monotonic() - before) / 1000;
    return Math.round(Math.min(seconds, longestCheckS) * 10) / 10;
  }

  #now(): number {
    return Math.floor(this.#tools.clock.wall() / 1000);
  }
}

function lostEvent(count: number): NewEvent {
  return { kind: 'lost', what: `${count} entries were not recorded: too many at once, or the disk was full` };
}

/** Returns the values of a GPU in one check. Pure. */
function sampleOf(gpu: GpuReport): GpuSample {
  const throttled = isThrottled(gpu);
  return defined({
    utilizationPercent: gpu.utilizationPercent,
    memoryMiB: gpu.memoryUsedMiB,
    temperatureC: gpu.thermal.gpuC,
    powerW: gpu.power.drawW,
    throttled: throttled === undefined ? undefined : Number(throttled),
  });
}

/** Returns the values by UUID: of boards all, of MIG devices the memory. Pure. */
export function devicesOf(gpus: readonly GpuReport[]): ReadonlyMap<string, GpuSample> {
  const boards = gpus.filter(({ uuid }) => uuid !== '');
  return new Map(
    boards.flatMap((gpu) => [
      [gpu.uuid, sampleOf(gpu)] as const,
      ...gpu.migDevices.flatMap(({ uuid, memoryUsedMiB }) =>
        uuid === undefined ? [] : [[uuid, defined({ memoryMiB: memoryUsedMiB })] as const],
      ),
    ]),
  );
}
