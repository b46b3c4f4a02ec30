import { arch } from 'node:process';
import type { ImageConfig } from '../shared/contract/config.ts';
import type { Finding } from '../shared/health/verdict.ts';
import { Labels } from '../shared/contract/paths.ts';
import { poolsOf } from '../shared/contract/slots.ts';
import { Alarm, repeat } from './alarm.ts';
import { Datasets } from './machine/datasets.ts';
import { NetworkMounts } from './machine/network-mounts.ts';
import {
  btrfsStoppedCounting,
  type EngineAbilities,
  inspectEngine,
  shortfalls,
  SizeLimits,
} from './docker/engine-abilities.ts';
import { checkEveryMs, watchKernelLog } from './gpus/observe.ts';
import { NvlinkWatch } from './gpus/nvlink-watch.ts';
import { exclusiveShared, GpuWatch } from './gpus/watch.ts';
import { followRules } from './docker/network-isolation.ts';
import { provenImages, provenOf } from './image/choice.ts';
import { forgetFolders, readFolder, planImage, readContext } from './image/plan.ts';
import { writeEveryMs } from './history/history.ts';
import { Images } from './image/images.ts';
import type { ImagePlan } from '../shared/image/plan.ts';
import { ImageUsers } from './docker/job-user.ts';
import { Janitor } from './docker/janitor.ts';
import type { Slot } from './model.ts';
import { NotYet, causeOf, isExternal } from './causes.ts';
import { ConnectionWatch } from './pool/connection.ts';
import { OwnAgents } from './pool/own-agents.ts';
import { Pools } from './pool/watch.ts';
import { Sweeper } from './pool/sweeper.ts';
import { poolIdOf } from './pool/agents.ts';
import type { ManagerTools } from './manager-tools.ts';
import { TokenWatch } from './start/token-use.ts';
import { unscaled } from '../shared/base/clock.ts';
import { defined } from '../shared/base/objects.ts';
import { slotLabel } from './serve/gpu-metrics.ts';
import type { Subsystem, Subsystems } from './subsystems.ts';

/** The folders that images are built from. */
export interface ImagePaths {
  /** The build context of the agent image. */
  readonly context: string;
  /** Archives of teams' folders. */
  readonly folders: string;
}

const noEngine: EngineAbilities = {
  gpuPath: 'cdi',
  cdiSpec: false,
  dockerGid: undefined,
  readOnlyBelow: false,
  below: [],
  users: new ImageUsers(),
  sizes: new SizeLimits({ driver: '', byContainerd: false }),
  rootDir: '',
};

const probeMs = 20_000;
const imageMs = 20_000;
const roundMs = 60_000;
/** How often agents without a slot are looked for in what was read; exported for tests. */
export const sweepMs = 15_000;
/** How often the credential's file is read, to use a new one. */
const tokenMs = 5_000;
/** How often a failed write of the state is repeated. */
const flushMs = 10_000;
/** How long the run records of a removed slot are kept. */
const keptForMs = 7 * 24 * 3_600_000;

/** Checks pools, GPUs, images, engine and disk, each at its own interval, and cleans up. */
export class Watches {
  readonly pools: Pools;
  /** Undefined: switched off. */
  readonly connection: ConnectionWatch | undefined;
  readonly images: Images;
  readonly gpus: GpuWatch;
  readonly janitor: Janitor;
  readonly #tools: ManagerTools;
  readonly #datasets: Datasets;
  readonly #mounts: NetworkMounts;
  readonly #nvlinks: NvlinkWatch;
  readonly #places: ImagePaths;
  readonly #wake: () => void;
  #abilities: EngineAbilities | undefined;
  readonly #sweeper: Sweeper;
  readonly #tokenWatch: TokenWatch;
  readonly #checkAlarm = new Alarm();

  constructor(tools: ManagerTools, places: ImagePaths, wake: () => void) {
    this.#tools = tools;
    this.#mounts = new NetworkMounts(tools);
    this.#datasets = new Datasets(tools.config.datasets, (path) => this.#mounts.problemAt(path));
    this.#places = places;
    this.#wake = wake;
    const own = new OwnAgents(tools.azure, tools.state.owner, tools.clock);
    this.pools = new Pools(tools.azure, own, poolsOf(tools.config), tools.clock, wake);
    const { organization, connectivityCheck } = tools.config;
    this.connection =
      connectivityCheck === 'off' ? undefined : new ConnectionWatch({ ...tools, organization });
    this.#sweeper = new Sweeper(tools, own, this.pools);
    this.#tokenWatch = new TokenWatch(tools.token, this.pools);
    this.images = new Images(tools, wake);
    this.gpus = new GpuWatch(tools);
    this.#nvlinks = new NvlinkWatch(this.gpus.driver, tools.clock);
    this.janitor = new Janitor(tools);
  }

  /** Returns the engine's abilities right before a launch; throws what prevents the launch. */
  async readyToLaunch({ mode }: Pick<Slot, 'mode'>): Promise<EngineAbilities> {
    const missing = await this.#datasets.problem();
    if (missing !== undefined) throw new NotYet(missing);
    await this.#requireIsolation(mode);
    // With mode: host, only jobs that use Docker wait for it.
    if (this.#abilities === undefined && mode === 'host' && !this.#tools.config.jobs.docker) return noEngine;
    this.#abilities ??= await inspectEngine(this.#tools);
    return this.#abilities;
  }

  /** Inspects the engine when it answers for the first time, or again. */
  async #onEngine(): Promise<void> {
    this.#abilities = await inspectEngine(this.#tools);
    this.gpus.probeSoon();
    await this.janitor.removeLeftovers();
  }

  /** Lists settings that this host does not support. */
  shortfalls(slots: readonly Slot[]): readonly Finding[] {
    const { below = [], sizes } = this.#abilities ?? {};
    return [
      ...shortfalls(slots, { below, sizes: sizes?.unsupported, uncounted: sizes?.uncounted === true }),
      ...exclusiveShared(slots, this.gpus.report),
      ...this.#nvlinks.findings,
      ...this.#mounts.findings,
      ...this.#tools.history.findings,
    ];
  }

  /** Checks the GPUs soon, after an event that a bad GPU may have caused. */
  checkSoon(): void {
    this.#checkAlarm.ring();
  }

  /**
   * Runs all watches until the signal is aborted. `slots`: those that this host has now; `publish`: writes the status without
   * waiting for a pass, which may take long.
   */
  async run(
    signal: AbortSignal,
    slots: () => readonly Slot[],
    publish: () => void,
    subsystems: Subsystems,
  ): Promise<void> {
    const { config, state } = this.#tools;
    const { image } = config;
    await forgetFolders(this.#places.folders, image.kind === 'build' ? image.top?.folder : undefined);
    signal.addEventListener('abort', () => this.checkSoon(), { once: true });
    const run = (name: Subsystem, work: (end: AbortSignal) => Promise<unknown>): Promise<void> =>
      subsystems.run(name, signal, work);
    const every = (name: Subsystem, ms: number, work: () => Promise<void>, alarm?: Alarm): Promise<void> =>
      run(name, (end) => repeat(this.#tools, { ms, signal: end, ...defined({ alarm }) }, work));
    await Promise.all([
      run('Docker events', (end) =>
        watchEngine({ ...this.#tools, signal: end }, this.#wake, () => this.#onEngine()),
      ),
      run('agent pools', (end) => this.pools.run(end, slots, (poolId) => this.#sweeper.earlier(poolId))),
      run('connection test', async (end) =>
        this.connection?.run(end, (isBack) => {
          publish();
          // Their next reads may be minutes away.
          if (isBack) this.pools.readFailed();
        }),
      ),
      every('token check', tokenMs, () => this.#tokenWatch.check()),
      every('GPU check', checkEveryMs, () => this.#checkGpus(slots), this.#checkAlarm),
      run('kernel log', (end) => watchKernelLog({ ...this.#tools, signal: end }, () => this.checkSoon())),
      // Apart from the check: a probe that hangs must not delay it.
      every('GPU probe', probeMs, () => this.#probe()),
      every('agent images', imageMs, () => this.#ensureImages()),
      every('image clean-up', roundMs, () => this.#tidy(slots())),
      every('agent clean-up', sweepMs, () => this.#sweep(slots())),
      every('run records', roundMs, () => this.#forget(slots().map(({ name }) => name))),
      every('state file', flushMs, () => state.flush()),
      run('network isolation', (end) => this.#keepIsolated(end)),
      every('network mounts', roundMs, () => this.#mounts.check(config.datasets.map(({ host }) => host))),
      every('history', writeEveryMs, () => this.#tools.history.write()),
    ]);
  }

  /** Where it is required, rules that another program deletes are added again at once. */
  async #keepIsolated(signal: AbortSignal): Promise<void> {
    const tools = { ...this.#tools, signal };
    const turn = { ms: roundMs, signal };
    const work = (): Promise<void> => this.#isolate();
    if (this.#tools.config.fence !== 'required') return repeat(tools, turn, work);
    const alarm = new Alarm();
    signal.addEventListener('abort', () => alarm.ring(), { once: true });
    await Promise.all([repeat(tools, { ...turn, alarm }, work), followRules(tools, () => alarm.ring())]);
  }

  async #isolate(): Promise<void> {
    const { isolation, host } = this.#tools;
    await isolation.isolateUsers(await host.engine.uids());
    await isolation.ensureNetwork();
  }

  /** Checks the rules right before a launch: another program may have flushed them. */
  async #requireIsolation(mode: Slot['mode']): Promise<void> {
    const { isolation, config } = this.#tools;
    if (config.fence !== 'required') return;
    await isolation.ensureRules();
    if (mode === 'container') await isolation.ensureNetwork();
    const gap = isolation.problemFor(mode);
    if (gap !== undefined) throw new NotYet(gap);
  }

  async #checkGpus(slots: () => readonly Slot[]): Promise<void> {
    await this.gpus.check();
    const sample = this.gpus.latest && this.#tools.history.checked(this.gpus.latest);
    if (sample !== undefined)
      this.#tools.metrics.gpus.checked(sample.gpus, sample.spanS, (gpu) => slotLabel(slots(), gpu));
    this.#wake();
    await this.#nvlinks.check(this.gpus.report?.gpus ?? []);
    // Not awaited: a build takes minutes, and the next check must not wait. The image's state shows a failure.
    if (this.images.all.some(({ state }) => state.state === 'missing')) void this.#ensureImages();
  }

  async #probe(): Promise<void> {
    const { config, state } = this.#tools;
    const ready = this.images.all.find((each) => each.state.id !== undefined);
    const ids = ready === undefined ? [] : [ready.state.id, provenOf(state.value, ready.source, config)];
    await this.gpus.probe(
      ids.filter((id) => id !== undefined),
      this.#abilities?.cdiSpec ?? false,
    );
  }

  /** Builds or pulls the agents' images now, even if they exist; the status shows the progress. */
  renewImage(fresh: boolean): void {
    this.images.renew(async (source) => {
      // The GPUs decide which image fits.
      if (this.gpus.latest === undefined) await this.gpus.check();
      return this.#plan(source);
    }, fresh);
  }

  async #ensureImages(): Promise<void> {
    const check = this.gpus.latest;
    if (check === undefined) return;
    // While the driver does not answer, it is not known which image fits: the present one stays.
    const missingOnly = check.pci.length > 0 && check.checkup.report === undefined;
    await this.images.ensure((source) => this.#plan(source), missingOnly);
  }

  async #plan(image: ImageConfig): Promise<ImagePlan> {
    const config = { ...this.#tools.config, image: await this.#withDigest(image) };
    const check = this.gpus.latest;
    const host = {
      arch: arch === 'arm64' ? 'aarch64' : 'x86_64',
      hasGpus: (check?.pci.length ?? 0) > 0,
      report: this.gpus.report,
    };
    const isBuilt = image.kind === 'build';
    const context = isBuilt ? await readContext(this.#places.context) : Buffer.alloc(0);
    return planImage(config, host, context, (sha256) => readFolder(this.#places.folders, sha256));
  }

  /** Adds the expected digest of the agent's archive. */
  async #withDigest(image: ImageConfig): Promise<ImageConfig> {
    if (image.kind === 'registry') return image;
    const { agentVersion: version, agentUrl: url, agentSha256: sha256 } = image;
    return { ...image, agentSha256: await this.#tools.archives.digest({ version, url, sha256 }) };
  }

  async #tidy(slots: readonly Slot[]): Promise<void> {
    const { config, state } = this.#tools;
    const images = this.images.all.map((kept) => kept.state);
    const isComing = images.some(({ id, state: now }) => id === undefined && now !== 'failed');
    const ready = images.flatMap(({ id, under }) => [id, under].filter((each) => each !== undefined));
    const proven = provenImages(state.value, { slots, hostImage: config.image });
    const needed = isComing || ready.length === 0 ? undefined : [...ready, ...proven];
    await this.janitor.round(needed);
    const { sizes, rootDir } = this.#abilities ?? noEngine;
    await sizes.check(() => btrfsStoppedCounting(rootDir, this.#tools.root));
  }

  async #sweep(slots: readonly Slot[]): Promise<void> {
    const containers = await this.#tools.engine.listOwn({ [Labels.kind]: 'agent' });
    await this.#sweeper.round(
      slots,
      containers.map((container) => ({ agent: container.name, poolId: poolIdOf(container) })),
    );
  }

  async #forget(names: readonly string[]): Promise<void> {
    const { clock, runStore, log } = this.#tools;
    // Before the first check of the GPUs the list of slots is not known.
    if (this.gpus.latest === undefined) return;
    // By the wall clock: the file system dates the runs.
    const gone = await runStore.forget(names, clock.wall() - keptForMs);
    if (gone.length > 0)
      log.log('info', 'removed the runs of slots that are no longer configured', { slots: gone });
  }
}

const firstPauseMs = 200;
const longestPauseMs = 5_000;

/**
 * Follows the engine's events and wakes the loop on each that matters. The stream ends when dockerd restarts: it is
 * opened again, `onEngine` inspects the engine, and the loop checks everything.
 */
async function watchEngine(
  tools: ManagerTools,
  wake: () => void,
  onEngine: () => Promise<void>,
): Promise<void> {
  const { engine, signal, clock, log } = tools;
  let pause = firstPauseMs;
  while (!signal.aborted) {
    try {
      await onEngine();
      wake();
      for await (const event of engine.events(signal)) {
        pause = firstPauseMs;
        if (relevant.has(event.action)) wake();
      }
      if (!signal.aborted) log.log('info', 'the event stream of Docker ended; opening it again');
    } catch (error) {
      if (!isExternal(error)) throw error;
      log.log('warn', 'no events from Docker', { ...causeOf(error) });
    }
    // Not scaled: it is a connection to this host, not a rule of the server.
    await clock.wait(unscaled(clock, pause), signal);
    pause = Math.min(pause * 2, longestPauseMs);
  }
}

const relevant = new Set(['die', 'destroy', 'start', 'oom', 'pause', 'unpause']);
