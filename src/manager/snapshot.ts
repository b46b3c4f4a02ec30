import { foreignCode } from '../shared/base/codes/code.ts';
import { defined } from '../shared/base/objects.ts';
import { timestamp, unscaled, type Clock } from '../shared/base/clock.ts';
import { sourceName } from '../shared/contract/config.ts';
import { Capabilities, Labels } from '../shared/contract/paths.ts';
import type { SlotStatus } from '../shared/contract/status.ts';
import type { Finding } from '../shared/health/verdict.ts';
import type { OwnContainer } from '../shared/engine/engine.ts';
import { causeOf } from './causes.ts';
import { isOurs } from './pool/agents.ts';
import { isOutdated, userCapabilities } from './pool/capabilities.ts';
import { givenUpAt, stillAssigned } from '../shared/azure/job-requests.ts';
import { isStale } from './gpus/observe.ts';
import { faultOf, holdOf } from './slots/holds.ts';
import { programOf } from './host-mode/create.ts';
import { recordOf, desiredImage } from './image/choice.ts';
import type { ImageState } from './image/images.ts';
import type { LogWatch } from './runs/log-watch.ts';
import type {
  Cause,
  Hold,
  Observed,
  ObservedContainer,
  ObservedSlot,
  Slot,
  Stray,
  Desired,
  DesiredImage,
} from './model.ts';
import { disabledByUs } from './registration/register.ts';
import { stuckBecause } from './runs/outcome.ts';
import type { SlotBook, SlotMemory } from './slots/memory.ts';
import { withShares, type HostGpu, resolveSlots, settingsOf } from './slots/resolve.ts';
import { awaySince, type RunInput, runView, slotStatus } from './serve/status.ts';
import type { Watches } from './watches.ts';
import type { SlotReport } from './webhook/messenger.ts';
import type { ManagerTools } from './manager-tools.ts';
import type { OtherProcessWatch } from './other-processes/watch.ts';

/** The parts of the reconcile loop. */
export interface LoopParts {
  readonly tools: ManagerTools;
  readonly watches: Watches;
  readonly book: SlotBook;
  readonly logs: LogWatch;
  readonly otherProcesses: OtherProcessWatch;
}

/** Runs the work for one slot or container, by its name; undefined: it failed. */
export type Attempt = <Value>(item: string, work: () => Value) => Value | undefined;

/** Builds the input of reconcile and the slots' status. Changes nothing. */
export class SnapshotBuilder {
  readonly #tools: ManagerTools;
  readonly #watches: Watches;
  readonly #book: SlotBook;
  readonly #logs: LogWatch;
  readonly #otherProcesses: Pick<OtherProcessWatch, 'hold'>;
  readonly #idle: () => Hold | undefined;
  readonly #shown = new Map<string, SlotStatus>();
  readonly #hanging: HangingContainers;

  /** `idle`: returns the hold while an idle machine powers off. */
  constructor({ tools, watches, book, logs, otherProcesses }: LoopParts, idle: () => Hold | undefined) {
    this.#tools = tools;
    this.#watches = watches;
    this.#book = book;
    this.#logs = logs;
    this.#otherProcesses = otherProcesses;
    this.#idle = idle;
    this.#hanging = new HangingContainers(tools.clock);
  }

  slots(): readonly Slot[] {
    const { config, machine } = this.#tools;
    return withShares(resolveSlots(config, this.#gpus()), machine);
  }

  desired(slots: readonly Slot[]): Desired {
    const inContainers = slots.filter(({ mode }) => mode === 'container');
    return {
      slots,
      images: new Map(inContainers.map((slot) => [slot.name, this.#desiredImage(slot)])),
      hostProgram: programOf(this.#tools.config),
      settings: new Map(slots.map((slot) => [slot.name, settingsOf(slot, this.#tools.config)])),
    };
  }

  /** Builds the input of reconcile. `attempt` runs the part of each slot and container; one that fails is left out. */
  seen(slots: readonly Slot[], containers: readonly OwnContainer[], attempt: Attempt): Observed {
    this.#hanging.observe(containers);
    const states = slots.flatMap((slot) => {
      const state = attempt(`slot ${slot.name}`, () => this.#seenSlot(slot, containers));
      return state === undefined ? [] : [[slot.name, state] as const];
    });
    return {
      now: this.#tools.clock.monotonic(),
      slots: new Map(states),
      strays: this.#strays(slots, containers).flatMap(
        (container) => attempt(`container ${container.name}`, () => this.#seenStray(container)) ?? [],
      ),
    };
  }

  /** Returns what keeps containers without a configured slot, which no slot's status shows. */
  strayFindings(slots: readonly Slot[], containers: readonly OwnContainer[]): readonly Finding[] {
    return this.#strays(slots, containers).flatMap((container) => {
      const { name, labels } = container;
      const cause = this.#hanging.cause(container) ?? this.#book.of(labels[Labels.slot] ?? '').cause;
      if (cause === undefined) return [];
      const what = `container ${name} has no configured slot: ${cause.what}`;
      return [{ code: cause.code, severity: 'warn' as const, what, next: cause.next }];
    });
  }

  /**
   * Returns a slot's status. `containers`: undefined before they are listed. A slot that cannot be observed keeps its latest
   * status, with the error as its cause.
   */
  status(slot: Slot, containers: readonly OwnContainer[] | undefined): SlotStatus {
    try {
      return this.#slotStatus(slot, containers);
    } catch (error) {
      const { name, agent, pool, gpus } = slot;
      const since = timestamp(this.#tools.clock);
      const unknown = { slot: name, agent, pool, gpus, state: 'starting', since, jobsRun: 0 } as const;
      const { what: cause, code, next } = causeOf(error);
      return { ...(this.#shown.get(name) ?? unknown), cause, code, next };
    }
  }

  /** Returns whether the slot waits for the end of a drain or of a job that only the pool shows. */
  waitsForPool(slot: Slot, containers: readonly OwnContainer[]): boolean {
    const memory = this.#book.of(slot.name);
    const hasContainer = ofSlot(slot.name, containers).length > 0;
    if (hasContainer) return this.#hold(slot)?.kind === 'close';
    return memory.lastRun !== undefined || this.#leftJob(slot, memory) !== undefined;
  }

  /** Returns a slot for the webhook. */
  webhookSlot(slot: Slot, { awaySince, code, cause, next }: SlotStatus): SlotReport {
    return {
      slot,
      hold: this.#hold(slot),
      isUnavailable: awaySince !== undefined,
      cause: defined({ code: code === undefined ? code : foreignCode(code), what: cause, next }),
      wait: this.#book.of(slot.name).queue.last,
    };
  }

  #desiredImage(slot: Slot): DesiredImage {
    const { config, state } = this.#tools;
    const known = recordOf(state.value, slot, config.image);
    const id = desiredImage(this.#watches.images.of(slot.image).id, known);
    return { id, source: sourceName(slot.image), unproven: id !== known.proven };
  }

  #imageState(slot: Slot): ImageState {
    if (slot.mode === 'container') return this.#watches.images.of(slot.image);
    return { state: 'ready', id: programOf(this.#tools.config) };
  }

  #gpus(): readonly HostGpu[] {
    const shown = this.#watches.gpus.report?.gpus ?? [];
    return this.#watches.gpus.order.map((busId) => {
      const uuid = shown.find((gpu) => gpu.busId === busId)?.uuid;
      return uuid === undefined || uuid === '' ? { busId } : { busId, uuid };
    });
  }

  /** Returns whether the slot accepts jobs, apart from a power-off of the machine. */
  acceptsJobs(slot: Slot): boolean {
    return this.#holdWith(slot, undefined)?.kind !== 'close';
  }

  #hold(slot: Slot): Hold | undefined {
    return this.#holdWith(slot, this.#idle());
  }

  #holdWith(slot: Slot, idle: Hold | undefined): Hold | undefined {
    const { state, clock, leaving, config, isolation } = this.#tools;
    const { latest: check, gates } = this.#watches.gpus;
    return holdOf(slot, {
      host: config.host,
      drain: state.value.drain,
      leaving: leaving.aborted,
      idle,
      check,
      isCheckOld: check !== undefined && isStale(check, clock),
      isolation: config.fence === 'required' ? isolation.problemFor(slot.mode) : undefined,
      otherProcesses: this.#otherProcesses.hold(slot.name),
      unsteady: check && gates.check(slot, { seenAt: check.seenAt, found: faultOf(slot, check) }),
      pool: this.#poolCause(slot),
      disk: this.#watches.janitor.cause,
    });
  }

  #poolCause(slot: Slot): Cause | undefined {
    const pool = this.#watches.pools.of(slot);
    const cause = pool.problem ?? pool.agent(slot.agent)?.tooLong;
    if (cause !== undefined || pool.pool !== undefined) return cause;
    return { code: 'pool.unknown', what: 'the pool has not been read yet', next: 'wait a moment' };
  }

  /** Finds the job only by the pool, so that a restarted manager finds it, too. */
  #leftJob(slot: Slot, { lastRun, busyWith }: SlotMemory): Cause | undefined {
    const { state, clock } = this.#tools;
    const agent = this.#watches.pools.of(slot).agent(slot.agent);
    const request = agent?.assignedRequest;
    // The pool was listed before the end of the run, whose job it may show.
    if (lastRun !== undefined || busyWith !== undefined || request === undefined) return undefined;
    if (agent?.userCapabilities?.[Capabilities.owner] !== state.owner) return undefined;
    return stillAssigned(slot.agent, request, givenUpAt(request, clock));
  }

  #seenSlot(slot: Slot, containers: readonly OwnContainer[]): ObservedSlot {
    const memory = this.#book.of(slot.name);
    return {
      containers: ofSlot(slot.name, containers).map((container) => this.#seen(container, memory)),
      busyWith: memory.busyWith,
      retryAt: memory.retryAt,
      notBefore: memory.notBefore,
      hold: this.#hold(slot),
      disabledFor: this.#disabledFor(slot),
      unpublished: this.#isUnpublished(slot),
      keySpent: this.#isKeySpent(slot, memory),
      waitsElsewhere: memory.waitsElsewhere,
    };
  }

  /** True also after a restart, when it is not known whether the key was replaced: replacing it twice does no harm. */
  #isKeySpent(slot: Slot, memory: SlotMemory): boolean {
    const pool = this.#watches.pools.of(slot);
    const agent = pool.agent(slot.agent);
    if (agent === undefined || !isOurs(agent, this.#tools.state.owner, memory.agentId)) return false;
    return memory.nextKey?.agent.id !== agent.id && !memory.mayPredateKeyEnd(pool.at);
  }

  #isUnpublished(slot: Slot): boolean {
    const { gpus } = this.#watches;
    const pool = this.#watches.pools.of(slot);
    const { config, state } = this.#tools;
    if (this.#book.of(slot.name).mayPredatePublishing(pool.at)) return false;
    const desired = userCapabilities(config, slot, gpus.report, state.owner);
    return isOutdated(pool.agent(slot.agent), desired);
  }

  #disabledFor(slot: Slot): string | undefined {
    const pool = this.#watches.pools.of(slot);
    const agent = pool.agent(slot.agent);
    const reason =
      agent !== undefined && disabledByUs(agent)
        ? agent.userCapabilities?.[Capabilities.drainReason]
        : undefined;
    return this.#book.of(slot.name).disabled({ reason, at: pool.at });
  }

  #seen(container: OwnContainer, memory: SlotMemory): ObservedContainer {
    const transcript = this.#logs.of(container.id);
    return {
      id: container.id,
      state: container.state,
      image: container.labels[Labels.imageDigest] ?? container.image,
      settings: container.labels[Labels.configHash] ?? '',
      isRecorded: memory.recorded.has(container.id),
      phase: transcript?.phase ?? 'unknown',
      stuck:
        this.#hanging.cause(container) ??
        stuckBecause(transcript, {
          connectingMs: memory.connection.connectingMs(container.id),
          doneMs: transcript?.phase === 'done' ? memory.doneMs(container.id) : 0,
        }),
    };
  }

  #strays(slots: readonly Slot[], containers: readonly OwnContainer[]): readonly OwnContainer[] {
    // Before the first check of the GPUs the list of slots is not known.
    if (this.#watches.gpus.latest === undefined) return [];
    const configured = new Set(slots.map(({ name }) => name));
    return containers.filter(({ labels }) => !configured.has(labels[Labels.slot] ?? ''));
  }

  #seenStray(container: OwnContainer): Stray {
    const slot = container.labels[Labels.slot] ?? '';
    const memory = this.#book.of(slot);
    const { busyWith, retryAt } = memory;
    return { ...this.#seen(container, memory), slot, busyWith, retryAt };
  }

  #slotStatus(slot: Slot, containers: readonly OwnContainer[] | undefined): SlotStatus {
    const { clock } = this.#tools;
    const memory = this.#book.of(slot.name);
    const [container] = ofSlot(slot.name, containers ?? []);
    const fresh = slotStatus(
      {
        slot,
        container: container === undefined ? undefined : this.#seen(container, memory),
        transcript: container === undefined ? undefined : this.#logs.of(container.id),
        busyWith: memory.busyWith,
        hold: this.#hold(slot),
        leftJob: container === undefined ? this.#leftJob(slot, memory) : undefined,
        notBefore: memory.notBefore,
        cause: memory.cause,
        waitingFor: memory.waitingFor,
        agentId: memory.agentId ?? this.#watches.pools.of(slot).agent(slot.agent)?.id,
        jobsRun: this.#tools.state.value.jobsRun[slot.name] ?? 0,
        image: this.#imageState(slot),
        needsUpdate: this.#watches.pools.of(slot).needsUpdate(slot.agent),
        areContainersKnown: containers !== undefined,
        current: runView(
          container === undefined ? undefined : { container, seen: this.#seen(container, memory) },
          this.#runInput(slot),
        ),
      },
      clock.monotonic(),
      timestamp(clock),
    );
    const shown = this.#shown.get(slot.name);
    const since = shown?.state === fresh.state ? shown.since : fresh.since;
    const away = awaySince(fresh, shown?.awaySince, fresh.since);
    const status = { ...fresh, since, ...defined({ awaySince: away }) };
    this.#shown.set(slot.name, status);
    return status;
  }

  /** Undefined before the first check of the GPUs: the slot's GPUs are part of what runs are created from. */
  #runInput(slot: Slot): RunInput | undefined {
    if (this.#watches.gpus.latest === undefined) return undefined;
    const { config } = this.#tools;
    const image = slot.mode === 'host' ? programOf(config) : this.#desiredImage(slot).id;
    return { image, settings: settingsOf(slot, config) };
  }
}

/** Longer than Docker takes to remove a container on a slow disk, and than `docker commit` pauses one. */
const hangMs = 2 * 60_000;

/** Finds containers that stay paused, or whose removal does not end. */
class HangingContainers {
  readonly #clock: Clock;
  /** By state and id, since when; monotonic. */
  #since: ReadonlyMap<string, number> = new Map();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  observe(containers: readonly OwnContainer[]): void {
    const now = this.#clock.monotonic();
    const hanging = containers.filter(({ state }) => state === 'paused' || state === 'removing');
    this.#since = new Map(hanging.map((each) => [keyOf(each), this.#since.get(keyOf(each)) ?? now]));
  }

  cause(container: OwnContainer): Cause | undefined {
    const since = this.#since.get(keyOf(container));
    if (since === undefined || unscaled(this.#clock, this.#clock.monotonic() - since) < hangMs)
      return undefined;
    const { name, state } = container;
    return state === 'paused'
      ? {
          code: 'container.stuck',
          what: `container ${name} is paused: its agent does not run`,
          next: `run docker unpause ${name} on the host; an agent without a job is replaced automatically`,
        }
      : {
          code: 'container.stuck',
          what: `Docker has been removing container ${name} for more than ${hangMs / 60_000} minutes`,
          next: 'retried automatically; if this stays, check journalctl -u docker on the host, then run systemctl restart docker: jobs continue with live-restore, which provision sets',
        };
  }
}

function keyOf({ id, state }: OwnContainer): string {
  return `${state} ${id}`;
}

function ofSlot(slot: string, containers: readonly OwnContainer[]): readonly OwnContainer[] {
  return containers.filter(({ labels }) => labels[Labels.slot] === slot);
}
