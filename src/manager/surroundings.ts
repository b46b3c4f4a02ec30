import { arch } from 'node:process';
import { Alarm, repeat } from './alarm.ts';
import { Datasets } from './machine/datasets.ts';
import { learnEngine, type EngineWays } from './docker/engine-start.ts';
import { lookEveryMs } from './gpus/look.ts';
import { GpuWatch } from './gpus/watch.ts';
import { ImageKeeper } from './image/keeper.ts';
import { planImage, readContext, type ImagePlan } from './image/plan.ts';
import { Janitor } from './docker/janitor.ts';
import { watchKernelLog } from './gpus/kernel-watch.ts';
import type { Slot } from './model.ts';
import { NotYet } from './causes.ts';
import { PoolWatch } from './pool/watch.ts';
import { sweep, type Orphans } from './pool/sweep.ts';
import type { ManagerTools } from './manager-tools.ts';

const probeMs = 20_000;
const imageMs = 20_000;
const roundMs = 60_000;
/** What a slot that was taken out of the inventory ran may still be asked for. */
const keptForMs = 7 * 24 * 3_600_000;

/** What surrounds the slots: the pool, the GPUs, the image, the engine, the disk. Each is kept up to date by itself. */
export class Surroundings {
  readonly pool: PoolWatch;
  readonly image: ImageKeeper;
  readonly gpus: GpuWatch;
  readonly janitor: Janitor;
  readonly #tools: ManagerTools;
  readonly #datasets: Datasets;
  readonly #contextDirectory: string;
  readonly #wake: () => void;
  #ways: EngineWays | undefined;
  #orphans: Orphans = new Map();
  readonly #lookAlarm = new Alarm();

  constructor(tools: ManagerTools, contextDirectory: string, wake: () => void) {
    this.#tools = tools;
    this.#datasets = new Datasets(tools.config.datasets);
    this.#contextDirectory = contextDirectory;
    this.#wake = wake;
    this.pool = new PoolWatch(tools.azure, tools.config.pool, tools.clock, wake);
    this.image = new ImageKeeper(tools.engine, tools.clock, tools.log, wake);
    this.gpus = new GpuWatch(tools);
    this.janitor = new Janitor(tools);
  }

  /** Checked right before each launch; throws what is wrong. */
  async readyToLaunch(): Promise<EngineWays> {
    const missing = await this.#datasets.problem();
    if (missing !== undefined) throw new NotYet(missing);
    this.#ways ??= await learnEngine(this.#tools);
    return this.#ways;
  }

  /** The engine has come, or come back. */
  async meetEngine(): Promise<void> {
    this.#ways = await learnEngine(this.#tools);
    this.gpus.probeSoon();
    await this.janitor.removeLeftBehind();
  }

  /** Something has happened that a bad GPU may be the cause of. */
  lookSoon(): void {
    this.#lookAlarm.ring();
  }

  /** `slots`: what this host has, as of now. */
  async run(signal: AbortSignal, slots: () => readonly Slot[]): Promise<void> {
    const { fence, host } = this.#tools;
    signal.addEventListener('abort', () => this.lookSoon(), { once: true });
    await Promise.all([
      this.pool.run(signal),
      this.#every(lookEveryMs, signal, () => this.#look(), this.#lookAlarm),
      watchKernelLog(this.#tools, () => this.lookSoon()),
      // Beside the looks: a probe that hangs must not make what is known of the GPUs old.
      this.#every(probeMs, signal, () => this.#probe()),
      this.#every(imageMs, signal, () => this.#ensureImage()),
      this.#every(roundMs, signal, () => this.janitor.round(this.image.state.id)),
      this.#every(roundMs, signal, () => this.#sweep(slots().map(({ agent }) => agent))),
      this.#every(roundMs, signal, () => this.#forget(slots().map(({ name }) => name))),
      this.#every(roundMs, signal, async () => fence.around(await host.engine.uids())),
    ]);
  }

  async #look(): Promise<void> {
    await this.gpus.look();
    this.#wake();
    // Not awaited: a build takes minutes, and the next look is due. What goes wrong is the image's own state.
    if (this.image.state.state === 'missing') void this.#ensureImage();
  }

  async #probe(): Promise<void> {
    await this.gpus.probe(this.image.state.id, this.#ways?.cdiSpec ?? false);
  }

  /** Builds or pulls the agents' image now, though one may be there; the status tells what becomes of it. */
  renewImage(fresh: boolean): void {
    this.image.renew(async () => {
      // Which image fits, the GPUs tell.
      if (this.gpus.latest === undefined) await this.gpus.look();
      return this.#plan();
    }, fresh);
  }

  async #ensureImage(): Promise<void> {
    const look = this.gpus.latest;
    if (look === undefined) return;
    // A driver that does not answer for the moment says nothing about which image fits: the one that is there stays.
    const silent = look.pci.length > 0 && look.checkup.report === undefined;
    if (!silent || this.image.state.state !== 'ready') await this.image.ensure(() => this.#plan());
  }

  async #plan(): Promise<ImagePlan> {
    const { config } = this.#tools;
    const look = this.gpus.latest;
    const host = {
      arch: arch === 'arm64' ? 'aarch64' : 'x86_64',
      hasGpus: (look?.pci.length ?? 0) > 0,
      report: this.gpus.report,
    };
    const isBuilt = config.image.kind === 'build';
    return planImage(config, host, isBuilt ? await readContext(this.#contextDirectory) : Buffer.alloc(0));
  }

  /** Agents of ours without a slot: after fewer slots were configured, or the host was renamed. */
  async #sweep(names: readonly string[]): Promise<void> {
    const { state, clock, azure, log } = this.#tools;
    const poolId = this.pool.pool?.id;
    if (poolId === undefined || names.length === 0) return;
    const ours = { owner: state.owner, names: new Set(names.map((name) => name.toLowerCase())) };
    const found = sweep(this.pool.agents(), ours, this.#orphans, clock.monotonic(), (ms) => clock.scaled(ms));
    this.#orphans = found.orphans;
    for (const agent of found.remove) {
      const removed = await azure.deleteAgent(poolId, agent.id);
      log.log('info', removed ? 'removed an agent without a slot' : 'kept an agent with a job', {
        name: agent.name,
      });
    }
  }

  async #forget(names: readonly string[]): Promise<void> {
    const { clock, evidence, log } = this.#tools;
    // Before the GPUs have been looked at, the list of slots is not known.
    if (this.gpus.latest === undefined) return;
    // By the wall: what an earlier manager kept is dated by the file system.
    const gone = await evidence.forget(names, clock.wall() - keptForMs);
    if (gone.length > 0) log.log('info', 'forgot the runs of slots that are no longer configured', { gone });
  }

  #every(ms: number, signal: AbortSignal, work: () => Promise<void>, alarm?: Alarm): Promise<void> {
    return repeat(this.#tools, { ms, signal, ...(alarm === undefined ? {} : { alarm }) }, work);
  }
}
