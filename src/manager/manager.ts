import { givenUpAt } from '../shared/azure/job-requests.ts';
import { timestamp } from '../shared/base/clock.ts';
import type { Logger } from '../shared/base/log.ts';
import { type ImageConfig, sourceName } from '../shared/contract/config.ts';
import { Labels } from '../shared/contract/paths.ts';
import type { ManagerStatus } from '../shared/contract/status.ts';
import { isUp, type OwnContainer } from '../shared/engine/engine.ts';
import { drainsOf, everySlot, namedAdopted, withoutEnded } from './slots/drains.ts';
import { undrainEvents } from './history/changes.ts';
import { causeOf, isExternal } from './causes.ts';
import { isUnproven, afterSuccess, provenOf, recordOf, withRecord } from './image/choice.ts';
import { isOurs } from './pool/agents.ts';
import { PresentRuns } from './host-mode/present-runs.ts';
import { IdleWatch, type IdleSlots, type PoolAgent } from './idle/watch.ts';
import { LogWatch } from './runs/log-watch.ts';
import type { Cause, Desired, Slot } from './model.ts';
import { Actions } from './actions.ts';
import { reconcile } from './reconcile.ts';
import { type Attempt, SnapshotBuilder } from './snapshot.ts';
import { countWait, SlotBook } from './slots/memory.ts';
import { noteUnfinished } from './runs/collect.ts';
import type { PassEnd } from './serve/systemd.ts';
import { FirstSeen, type Loaded, managerStatus } from './serve/status.ts';
import type { Watches } from './watches.ts';
import type { ManagerTools } from './manager-tools.ts';
import { OtherProcessWatch } from './other-processes/watch.ts';
import type { State } from './state.ts';
import type { SlotReport } from './webhook/messenger.ts';
import { defined } from '../shared/base/objects.ts';

/** Longest time between two passes; real milliseconds. */
const periodMs = 10_000;

/** The reconcile loop's body: observe the containers, decide, act. */
export class Manager {
  readonly #tools: ManagerTools;
  readonly #watches: Watches;
  readonly #book: SlotBook;
  readonly #logs: LogWatch;
  readonly #snapshot: SnapshotBuilder;
  readonly #actions: Actions;
  readonly #wake: () => void;
  readonly #runs: PresentRuns;
  readonly #problemsBeside: () => readonly Cause[];
  /** Finds other processes on the GPUs. */
  readonly otherProcesses: OtherProcessWatch;
  /** Powers off an idle machine; undefined: not configured. */
  readonly idle: IdleWatch | undefined;
  #passProblem: Cause | undefined;
  readonly #failures: ItemFailures;
  readonly #firstSeen = new FirstSeen();
  /** Of the last pass. */
  #imageIds: string | undefined;

  /** `wake` asks for another pass soon; `problemsBeside`: of what runs beside the loop. */
  constructor(
    tools: ManagerTools,
    watches: Watches,
    wake: () => void,
    problemsBeside: () => readonly Cause[],
  ) {
    this.#tools = tools;
    this.#problemsBeside = problemsBeside;
    this.#watches = watches;
    this.#wake = wake;
    this.#runs = new PresentRuns(tools.engine, tools.host.engine);
    this.#book = new SlotBook(tools.clock);
    this.#logs = new LogWatch(tools.engine, wake);
    this.otherProcesses = new OtherProcessWatch(tools, watches.gpus, {
      slots: () => this.slots(),
      isBusy: (slot) => this.#isBusy(slot),
      changed: wake,
    });
    const { idle } = tools.config;
    this.idle = idle && new IdleWatch(tools, idle, this.#idleSlots());
    const parts = { tools, watches, book: this.#book, logs: this.#logs, otherProcesses: this.otherProcesses };
    this.#snapshot = new SnapshotBuilder(parts, () => this.idle?.hold);
    this.#actions = new Actions({ ...parts, slots: () => this.slots() }, wake);
    this.#failures = new ItemFailures(tools.log);
  }

  /** Observes the slots and begins the actions that follow. Never throws: the status shows a failure. */
  async pass(): Promise<PassEnd> {
    try {
      await this.#pass();
      this.#passProblem = undefined;
      return 'done';
    } catch (error) {
      const cause = causeOf(error);
      if (cause.what !== this.#passProblem?.what)
        this.#tools.log.log('error', 'a check of the slots failed', { error });
      this.#passProblem = cause;
      return isExternal(error) ? 'external' : 'failed';
    }
  }

  async #pass(): Promise<void> {
    const hasChanged = this.#book.changedSince();
    await this.#endDrains();
    await this.#runs.refresh();
    await this.#nameAdopted();
    const { slots, containers } = this.#runs.decidable(this.slots(), (slot) => this.#isOffline(slot));
    const running = containers.filter(({ state }) => state === 'running');
    this.#logs.follow(
      containers.filter(isUp).map(({ id }) => id),
      this.#runs.all.map(({ id }) => id),
    );
    this.#failures.begin();
    for (const container of running)
      await this.#failures.during(`container ${container.name}`, () => this.#noteListening(container));
    for (const slot of slots)
      await this.#failures.during(`slot ${slot.name}`, async () => {
        await this.#noteQueue(slot);
        await noteUnfinished(this.#tools, this.#watches.pools, this.#book, [slot], containers);
      });
    this.#attendPools(slots, containers);
    const desired = this.#snapshot.desired(slots);
    this.#retryOnNewImage(desired);
    // A slot or container that cannot be observed gets no action: a job may run in it.
    const observed = this.#snapshot.seen(slots, containers, this.#failures.attempt);
    for (const action of reconcile(desired, observed)) {
      // Skips a decision from before the end of the slot's latest action, which has asked for another pass.
      if (hasChanged(action.slot)) continue;
      this.#failures.attempt(`slot ${action.slot}`, () =>
        this.#actions.begin(action, { desired, containers }),
      );
    }
    this.#failures.end();
  }

  /** Ends drains whose time is over. A write that fails is repeated: memory has it. */
  async #endDrains(): Promise<void> {
    const { state, clock, log, history } = this.#tools;
    const { drain } = state.value;
    const now = clock.wall();
    if (withoutEnded(drain, now) === drain) return;
    await state.note((latest) => ({ drain: withoutEnded(latest.drain, now) }));
    log.log('info', 'drains ended at their time');
    for (const event of undrainEvents(drainsOf(drain), drainsOf(state.value.drain), undefined))
      history.note(event);
    this.#watches.pools.readSoon();
  }

  /** True when the runs are listed, and there is none. */
  get isEmpty(): boolean {
    return this.#runs.isEmpty;
  }

  /** Ends the back-offs of slots when other images are ready: the earlier ones may not start with the driver of now. */
  #retryOnNewImage({ images }: Desired): void {
    const ids = [...images.values()].map(({ id }) => id).join();
    if (this.#imageIds !== undefined && this.#imageIds !== ids) this.#book.retryNow();
    this.#imageIds = ids;
  }

  /** Returns when the next pass is due at the latest; monotonic. */
  nextDue(): number {
    return this.#book.nextDue(this.#tools.clock.monotonic() + periodMs);
  }

  slots(): readonly Slot[] {
    return this.#snapshot.slots();
  }

  /** Tries these slots' names again, which may now be taken over. */
  retryNames(slots: readonly string[]): void {
    for (const slot of slots) this.#book.of(slot).forget('agent.name-held');
    this.#book.retryNow();
    this.#wake();
  }

  /** Waits for running actions; containers keep running. */
  async close(): Promise<void> {
    await this.#actions.settled();
    this.#logs.close();
  }

  status(loaded: Loaded): ManagerStatus {
    const { config, state, clock, isolation, azure, token } = this.#tools;
    const { pools, gpus, images, janitor, connection } = this.#watches;
    const slots = this.slots();
    const status = managerStatus({
      at: timestamp(clock),
      host: config.host,
      pools: pools.all,
      loaded,
      images: images.all.map(({ source, state: image }) => ({
        image,
        proven: provenOf(state.value, source, config),
        slots: slots.filter((slot) => runs(slot, source)).map(({ name }) => name),
      })),
      asked: images.requested,
      owner: state.owner,
      archives: state.value.archives,
      drains: drainsOf(state.value.drain),
      idle: this.idle?.status,
      connection: connection?.status,
      token: token.status,
      slots: slots.map((slot) => this.#snapshot.status(slot, this.#runs.of(slot))),
      check: gpus.latest,
      shortfalls: [
        ...this.#watches.shortfalls(slots),
        ...this.otherProcesses.findings,
        ...this.#snapshot.strayFindings(slots, this.#runs.all),
      ],
      problems: [
        this.#passProblem,
        ...this.#failures.causes,
        this.#runs.problem,
        state.problem,
        oddPause(azure.oddPause),
        ...connectionProblems(connection?.problem, pools.problems),
        janitor.cause,
        gpus.problem,
        this.idle?.problem,
        ...this.#imageProblems(slots),
        ...isolation.problems,
        ...this.#problemsBeside(),
      ].filter((cause) => cause !== undefined),
    });
    return this.#firstSeen.date(status);
  }

  /** Counts the queue wait of a running job from the pool, because its end may be hours away. */
  async #noteQueue(slot: Slot): Promise<void> {
    const { queue, agentId } = this.#book.of(slot.name);
    const agent = this.#watches.pools.of(slot).agent(slot.agent);
    if (agent !== undefined && isOurs(agent, this.#tools.state.owner, agentId))
      await countWait(this.#tools, slot, queue, agent.assignedRequest);
  }

  /** Returns what the idle watch needs to know of the slots. */
  #idleSlots(): IdleSlots {
    const { state } = this.#tools;
    const { images, pools } = this.#watches;
    const poolAgent = (slot: Slot): PoolAgent => {
      const pool = pools.of(slot);
      const id = this.#book.of(slot.name).agentId ?? pool.agent(slot.agent)?.id;
      return { agent: slot.agent, pool: slot.pool, poolId: pool.pool?.id, id };
    };
    return {
      own: () => ({
        busy: this.#mayRunJobs().map(({ id, name }) => ({
          agent: name,
          ...defined({ job: this.#logs.of(id)?.job }),
        })),
        assigned: this.slots().flatMap((slot) => {
          const request = pools.of(slot).agent(slot.agent)?.assignedRequest;
          if (request === undefined) return [];
          const until = givenUpAt(request, this.#tools.clock);
          return [{ agent: slot.agent, job: request.jobName ?? 'a job', ...defined({ until }) }];
        }),
        host: this.#tools.config.host,
        drains: drainsOf(state.value.drain).filter(({ slot }) => slot === undefined),
        images: images.all.map((each) => each.state),
        isRenewing: images.requested?.state === 'running',
        otherProcesses: this.slots().flatMap(({ name }) => this.otherProcesses.hold(name)?.cause ?? []),
      }),
      agents: () => this.slots().map(poolAgent),
      acceptingJobs: () =>
        this.slots()
          .filter((slot) => this.#snapshot.acceptsJobs(slot))
          .map(poolAgent),
      isEmpty: () =>
        this.#runs.isEmpty && this.slots().every(({ name }) => this.#book.of(name).busyWith === undefined),
      changed: this.#wake,
    };
  }

  #isBusy(slot: string): boolean {
    return this.#mayRunJobs().some(({ labels }) => labels[Labels.slot] === slot);
  }

  /** Returns the runs that may have a job. */
  #mayRunJobs(): readonly OwnContainer[] {
    return this.#runs.all
      .filter(isUp)
      .filter(({ id }) => !['connecting', 'listening'].includes(this.#logs.of(id)?.phase ?? 'unknown'));
  }

  /** Returns the slots of a status for the webhook. */
  webhookSlots({ slots: shown }: ManagerStatus): readonly SlotReport[] {
    return this.slots().flatMap((slot) => {
      const status = shown.find((each) => each.slot === slot.name);
      return status === undefined ? [] : [this.#snapshot.webhookSlot(slot, status)];
    });
  }

  #isOffline(slot: Slot): boolean {
    const pool = this.#watches.pools.of(slot);
    return pool.lacks(slot.agent) || pool.agent(slot.agent)?.status === 'offline';
  }

  /** Notes for each pool whether its slots wait for something that only the pool shows. */
  #attendPools(slots: readonly Slot[], containers: readonly OwnContainer[]): void {
    for (const pool of this.#watches.pools.all) {
      const inPool = this.slots().filter((slot) => this.#watches.pools.of(slot) === pool);
      pool.readIfNew(inPool.map(({ agent }) => agent));
      // While Docker does not answer, only the pool shows that no agent runs.
      const isUndecided = inPool.some(({ name }) => !slots.some((slot) => slot.name === name));
      pool.setWaiting(isUndecided || inPool.some((slot) => this.#snapshot.waitsForPool(slot, containers)));
    }
  }

  /** Returns a problem for each rejected image. */
  #imageProblems(slots: readonly Slot[]): readonly Cause[] {
    const { state, config } = this.#tools;
    const records = slots.map((slot) => ({
      newest: this.#watches.images.of(slot.image).id,
      ...recordOf(state.value, slot, config.image),
    }));
    const rejectedOnes = records.filter(
      ({ newest, rejected }) => rejected !== undefined && rejected === newest,
    );
    return [...new Map(rejectedOnes.map((record) => [record.rejected, rejectedImage(record)])).values()];
  }

  /** Replaces `everySlot` by the slots' names once the GPUs are known. */
  async #nameAdopted(): Promise<void> {
    const { adopt } = this.#tools.state.value;
    if (!adopt.includes(everySlot) || this.#watches.gpus.latest === undefined) return;
    const known = this.slots().map(({ name }) => name);
    await this.#tools.state.note((state) => ({ adopt: namedAdopted(state.adopt, known) }));
  }

  /** Notes that an agent listens: its image works, and the fault of its slot is over. */
  async #noteListening({ id, labels }: OwnContainer): Promise<void> {
    const phase = this.#logs.of(id)?.phase;
    if (phase === undefined || phase === 'connecting') return;
    // An agent that does not exit after its job keeps its fault.
    if (phase !== 'done') this.#book.of(labels[Labels.slot] ?? '').listens();
    const slots = this.slots();
    const image = labels[Labels.imageDigest];
    const slot = slots.find(({ name }) => name === labels[Labels.slot]);
    if (slot === undefined || image === undefined || image !== this.#watches.images.of(slot.image).id) return;
    const { state, config } = this.#tools;
    const all = { slots, hostImage: config.image };
    if (isUnproven(state.value, slot, all, image))
      await state.note((known) =>
        withRecord(known, slot, all, afterSuccess(recordOf(known, slot, config.image), image)),
      );
  }
}

/** The failures of single slots and containers in a pass: each is reported, and stops no other. */
class ItemFailures {
  readonly #log: Logger;
  /** By item, of the last whole pass. */
  #last: ReadonlyMap<string, Cause> = new Map();
  #now = new Map<string, Cause>();

  constructor(log: Logger) {
    this.#log = log;
  }

  get causes(): readonly Cause[] {
    return [...this.#last.values()];
  }

  begin(): void {
    this.#now = new Map();
  }

  end(): void {
    this.#last = this.#now;
  }

  /** Returns what the work for an item returns; undefined: it failed. */
  readonly attempt: Attempt = (item, work) => {
    try {
      return work();
    } catch (error) {
      this.#note(item, error);
      return undefined;
    }
  };

  /** The same for work that takes time. */
  async during(item: string, work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => this.#note(item, error));
  }

  #note(item: string, error: unknown): void {
    if (this.#now.has(item)) return;
    const cause = causeOf(error);
    const what = `${item} cannot be checked: ${cause.what}`;
    if (this.#last.get(item)?.what !== what)
      this.#log.log('error', 'a check of one item failed', { item, error });
    this.#now.set(item, { ...cause, what });
  }
}

function runs({ mode, image }: Slot, source: ImageConfig): boolean {
  return mode === 'container' && sourceName(image) === sourceName(source);
}

/** Reports a lost connection once: the pools cannot be read either. */
function connectionProblems(lost: Cause | undefined, pools: readonly Cause[]): readonly Cause[] {
  if (lost === undefined) return pools;
  return [lost, ...pools.filter(({ code }) => code !== 'azure.unreachable' && code !== lost.code)];
}

function oddPause(seen: string | undefined): Cause | undefined {
  if (seen === undefined) return undefined;
  return {
    code: 'azure.odd-pause',
    what: `Azure DevOps requests an invalid pause (Retry-After: ${seen}); the manager waits at most 2 minutes, or 15 where the rate limit agrees`,
    next: 'check for a proxy that answers instead of Azure DevOps; if there is none, wait: the next answer decides',
  };
}

function rejectedImage({ rejected = '', proven = '' }: State['image']): Cause {
  return {
    code: 'image.rejected',
    what: `agents do not start on the newest image (${rejected.slice(0, 19)}); they run on the previous one (${proven.slice(0, 19)})`,
    next: 'check the logs of the failed runs (azp-fleet logs), then provide another image',
  };
}
