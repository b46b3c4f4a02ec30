import type { AzureAgent, Pool } from '../shared/azure/client.ts';
import { defined } from '../shared/base/objects.ts';
import { Labels } from '../shared/contract/paths.ts';
import type { OwnContainer } from '../shared/engine/engine.ts';
import { causeOf, NotYet } from './causes.ts';
import { runId } from './docker/container.ts';
import { isHostRun } from './host-mode/host-engine.ts';
import { afterFailures, recordOf, withRecord } from './image/choice.ts';
import type { Action, Cause, Slot, Desired } from './model.ts';
import { faultOfImage } from '../shared/health/probe.ts';
import { agentIdOf, disable, enable, poolIdOf, publish } from './pool/agents.ts';
import { userCapabilities } from './pool/capabilities.ts';
import { imageOf } from './reconcile.ts';
import { endKey, endLostKey } from './registration/keys.ts';
import { registeredVersion } from './registration/register.ts';
import { collect } from './runs/collect.ts';
import { launch } from './runs/launch.ts';
import { faultOf } from './runs/outcome.ts';
import { retire } from './runs/retire.ts';
import { type SlotMemory, countWait } from './slots/memory.ts';
import { settingsOf } from './slots/resolve.ts';
import type { LoopParts } from './snapshot.ts';

/** The objects that an action needs, from the latest observation. */
interface Targets {
  readonly slot: Slot;
  readonly container: OwnContainer;
  /** The image of a new run, or its program with `mode: host`. */
  readonly image: string;
  /** The slot's pool. */
  readonly pool: Pool;
  /** The pool in which the container's agent is registered; the slot may have moved to another. */
  readonly poolId: number;
}

type Kind = Action['kind'];
type ActionOf<K extends Kind> = Extract<Action, { readonly kind: K }>;

/** One action in progress. */
type Work<K extends Kind, Need extends keyof Targets> = Partial<Targets> &
  Pick<Targets, Need> & { readonly action: ActionOf<K>; readonly memory: SlotMemory };

/** The parts that the effects use. */
export interface ActionParts extends LoopParts {
  /** The slots that this host has now. */
  readonly slots: () => readonly Slot[];
}

interface Row<K extends Kind> {
  /** Without one of them the action is postponed, with the reason in the slot's status. */
  readonly needs: readonly (keyof Targets)[];
  /** Carries the action out. Rejects with `NotYet` while it cannot continue. */
  effect(work: Work<K, keyof Targets>, parts: ActionParts): Promise<void>;
}

/**
 * Every action: when reconcile chooses it, what it needs, and its effect. No effect ends a container that runs a job:
 * only `retire` stops one, and only an idle one, or one whose job is over.
 */
const table: { readonly [K in Kind]: Row<K> } = {
  // The slot has no container and no hold, and its image is ready.
  launch: row(['slot', 'image', 'pool'], launchRun),
  // The container has exited, or another user removes it.
  collect: row(['container'], collectRun),
  // The container was created and never started: no job can have run in it. Or its removal hangs.
  discard: row(['container'], async ({ container, action: { cause } }, { tools }) => {
    const end = await tools.engine.removeUnlessRunning(container.id);
    if (end === 'removing' && cause !== undefined) throw new NotYet(cause);
  }),
  // An idle agent of a closed, outdated or removed slot, or one that is stuck.
  retire: row(['container', 'poolId'], retireRun),
  // The slot is closed: the server gives its agent no further job.
  disable: row(['slot', 'pool'], async ({ slot, pool, action: { reason }, memory }, { tools }) => {
    await disable(tools, pool.id, { name: slot.agent, reason, ...defined({ id: memory.agentId }) });
    memory.disabledFor = reason;
  }),
  // The slot is open again.
  enable: row(['slot', 'pool'], async ({ slot, pool, memory }, { tools }) => {
    await enable(tools, pool.id, slot.agent);
    memory.disabledFor = undefined;
  }),
  // The slot has no container and launches none now: the last run's key must open no session until then.
  'end-key': row(['slot', 'pool'], async ({ slot, pool, memory }, { tools }) => {
    const { agentId: id } = memory;
    memory.nextKey = await endLostKey(tools, { poolId: pool.id, agent: slot.agent, ...defined({ id }) });
    memory.keyEnded();
  }),
  // The pool shows other capabilities than configured. The agent keeps running.
  publish: row(['slot', 'pool'], async ({ slot, pool, memory }, parts) => {
    await publish(parts.tools, pool.id, slot.agent, capabilitiesOf(slot, parts));
    memory.published();
  }),
};

/** Builds a row. The effect runs only when all needs are found, so its type has them. */
function row<K extends Kind, Need extends keyof Targets>(
  needs: readonly Need[],
  effect: (work: Work<K, Need>, parts: ActionParts) => Promise<void>,
): Row<K> {
  return { needs, effect };
}

const poolUnknown: Cause = {
  code: 'pool.unknown',
  what: 'the pool has not been found yet',
  next: 'check the problem that the status shows for the pool',
};

/** The reason why an action cannot begin, by its missing need. */
const lacking: Readonly<Record<keyof Targets, Cause>> = {
  slot: {
    code: 'slot.gone',
    what: 'the slot is no longer configured',
    next: 'wait for the next check of the slots',
  },
  container: {
    code: 'container.gone',
    what: 'the container no longer exists',
    next: 'wait for the next check of the containers',
  },
  image: {
    code: 'image.not-ready',
    what: 'the agent image is not ready yet',
    next: 'wait for it; the status shows its progress',
  },
  pool: poolUnknown,
  poolId: poolUnknown,
};

/** The latest observation. */
interface Observation {
  readonly desired: Desired;
  readonly containers: readonly OwnContainer[];
}

/** Returns the targets of an action, or the reason why it cannot begin now. Pure. */
export function lookUp(
  action: Action,
  { desired, containers }: Observation,
  pools: {
    named(name: string): Pool | undefined;
    /** See `Pools.idWith`. */
    idWith(agent: string): number | undefined;
  },
): { readonly targets: Partial<Targets> } | { readonly lacks: Cause } {
  const slot = desired.slots.find(({ name }) => name === action.slot);
  const container = 'container' in action ? containers.find(({ id }) => id === action.container) : undefined;
  const slotPool = slot && pools.named(slot.pool);
  const targets: Partial<Targets> = defined({
    slot,
    container,
    image: slot && imageOf(slot, desired),
    pool: slotPool,
    // Containers of an earlier version do not name their pool: they are in their slot's, or in one that has their agent.
    poolId: container && (poolIdOf(container) ?? (slot ? slotPool?.id : pools.idWith(container.name))),
  });
  const missing = table[action.kind].needs.find((need) => targets[need] === undefined);
  if (missing === undefined) return { targets };
  const isLost = missing === 'poolId' && slot === undefined && container !== undefined;
  return { lacks: isLost ? withoutPool(container.name) : lacking[missing] };
}

function withoutPool(container: string): Cause {
  return {
    code: 'container.no-pool',
    what: 'its agent is in no known pool, so it may run a job and is left alone',
    next: `check that no job runs in it (docker logs ${container}), then run docker stop ${container} on the host`,
  };
}

/** Carries out actions, one at a time per slot, and notes their results in the slot's memory. */
export class Actions {
  readonly #parts: ActionParts;
  readonly #wake: () => void;
  readonly #running = new Set<Promise<void>>();

  /** `wake` asks for another pass soon. */
  constructor(parts: ActionParts, wake: () => void) {
    this.#parts = parts;
    this.#wake = wake;
  }

  /** Begins an action, or postpones it with the reason in the slot's status. */
  begin(action: Action, observed: Observation): void {
    const { book, tools, watches } = this.#parts;
    const memory = book.of(action.slot);
    const { pools } = watches;
    const found = lookUp(action, observed, {
      named: (name) => pools.named(name).pool,
      idWith: (agent) => pools.idWith(agent),
    });
    if ('lacks' in found) {
      this.#postpone(action, memory, found.lacks);
      return;
    }
    memory.busyWith = action.kind;
    tools.log.log('info', action.kind, { ...action });
    const entry = table[action.kind] as Row<Kind>;
    // `lookUp` has found all that the row needs.
    const work = { ...found.targets, action, memory } as Work<Kind, keyof Targets>;
    const running = entry
      .effect(work, this.#parts)
      .then(
        () => {
          if (action.kind !== 'launch') memory.operationWorked();
        },
        (error: unknown) => this.#noteFailure(work, error),
      )
      .finally(() => {
        memory.busyWith = undefined;
        memory.operations += 1;
        this.#running.delete(running);
        this.#wake();
      });
    this.#running.add(running);
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  /** Notes an action that cannot begin now (not a failure): logs it once and retries later. */
  #postpone(action: Action, memory: SlotMemory, reason: Cause): void {
    const known = action.kind === 'launch' ? memory.waitingFor : memory.cause;
    if (action.kind === 'launch') memory.notYet(reason);
    else memory.operationFailed(reason);
    if (known?.what === reason.what) return;
    this.#parts.tools.log.log('info', 'not yet', { action: action.kind, slot: action.slot, ...reason });
  }

  async #noteFailure({ action, memory, image, slot }: Work<Kind, never>, error: unknown): Promise<void> {
    const { tools, watches } = this.#parts;
    // Calls fail when the manager stops; the next one begins again.
    if (tools.signal.aborted) return;
    if (error instanceof NotYet) {
      this.#postpone(action, memory, error.reason);
      return;
    }
    const cause = causeOf(error);
    tools.log.log('warn', `${action.kind} failed`, { slot: action.slot, ...cause });
    if (action.kind === 'launch') {
      tools.metrics.launchFailed(action.slot, cause.code);
      memory.failed(cause);
      memory.waitsElsewhere = !faultOfImage.has(cause.code);
    } else {
      memory.operationFailed(cause);
    }
    if (cause.code.startsWith('azure.')) watches.pools.readOnFailure();
    // The runtime failed to start the container: a GPU may just have been lost.
    if (cause.code.startsWith('engine.')) watches.checkSoon();
    if (action.kind !== 'launch' || slot === undefined || slot.mode === 'host') return;
    if (cause.code === 'engine.no-image') await forgetImage(image, slot, this.#parts);
    else if (faultOfImage.has(cause.code)) await blameImage(image, action.slot, memory, this.#parts);
  }
}

async function launchRun(
  { slot, image, pool, memory }: Work<'launch', 'slot' | 'image' | 'pool'>,
  parts: ActionParts,
): Promise<void> {
  const { tools, watches, otherProcesses } = parts;
  const abilities = await watches.readyToLaunch(slot);
  const { agentId } = await launch(tools, {
    slot,
    image,
    pool,
    run: runId(tools.clock.wall()),
    settings: settingsOf(slot, tools.config),
    capabilities: capabilitiesOf(slot, parts),
    agentVersion: (known) => registeredVersion(slot.image, known),
    connection: memory.connection,
    requireClean: () => otherProcesses.requireClean(slot),
    key: { next: memory.nextKey, given: () => (memory.nextKey = undefined) },
    ...abilities,
  });
  memory.launched(agentId);
  watches.pools.runChanged();
}

/** How often the manager asks Docker for the output of an ended container, about 15 s in all, before it collects without it. */
const collectTries = 5;

async function collectRun(work: Work<'collect', 'container'>, parts: ActionParts): Promise<void> {
  const { container, memory } = work;
  const { tools, watches, logs, otherProcesses, slots } = parts;
  const { state, log, metrics, clock } = tools;
  const isOnHost = isHostRun(container.id);
  // A container's processes end with it, so the check for processes on its GPUs can run at the same time.
  if (!isOnHost) void otherProcesses.ended(container);
  // The server answers while the output is read. The container stays until then, so that a killed manager does both again.
  const keyEnd = endRunsKey(work, parts);
  const collecting = collect(tools, container, {
    followed: logs.of(container.id),
    stopped: memory.stopped.get(container.id),
    lastTry: memory.collecting(container.id) >= collectTries,
    keyEnd,
  });
  // Both have ended before the slot gets its next action, also if one fails.
  await Promise.allSettled([collecting, keyEnd]);
  const outcome = await collecting;
  const agent = await keyEnd;
  // Processes of a run on the host end only with the collection.
  if (isOnHost) void otherProcesses.ended(container);
  memory.stopped.delete(container.id);
  if (outcome.isBeingRemoved === true) memory.recorded.add(container.id);
  const slot = container.labels[Labels.slot] ?? '';
  log.log('info', 'run ended', { slot, ...outcome });
  if (outcome.sessionLeftSince !== undefined) memory.connection.leave(outcome.sessionLeftSince);
  memory.ended(outcome);
  const cause = faultOf(outcome);
  memory.waitsElsewhere = cause !== undefined && noFaultOfImage.has(cause.code);
  memory.lastRun = { run: container.labels[Labels.run] ?? '', endedAt: clock.monotonic() };
  watches.pools.runChanged();
  metrics.runEnded(slot, outcome);
  if (outcome.ranJob) {
    const known = slots().find(({ name }) => name === slot);
    // The run's request is the last completed one, or the assigned one until the server has noted its end.
    if (known !== undefined)
      for (const request of [agent?.lastCompletedRequest, agent?.assignedRequest])
        await countWait(tools, known, memory.queue, request);
    await state.note(({ jobsRun }) => ({ jobsRun: { ...jobsRun, [slot]: (jobsRun[slot] ?? 0) + 1 } }));
    return;
  }
  if (cause !== undefined && !noFaultOfImage.has(cause.code) && !isOnHost)
    await blameImage(container.labels[Labels.imageDigest], slot, memory, parts);
}

/**
 * Replaces the key of an ended run at once, so that a copy made by the job is worthless. Returns the agent that the server
 * showed before, if any. Rejects only when the manager stops.
 */
async function endRunsKey(
  { container, poolId, memory }: Work<'collect', 'container'>,
  parts: ActionParts,
): Promise<AzureAgent | undefined> {
  if (poolId === undefined) return undefined;
  const { tools } = parts;
  const { name: agent } = container;
  const isLast = !mayHaveSlot(agent, poolId, parts);
  const id = agentIdOf(container);
  // The manager that launched the run may have been an earlier one.
  memory.agentId ??= id;
  const order = { poolId, agent, isLast, ...defined({ id }) };
  let shown: AzureAgent | undefined;
  memory.nextKey = await endKey(tools, order, (agent) => (shown = agent)).catch((error: unknown) => {
    // The container stays, and the next manager replaces the key.
    tools.signal.throwIfAborted();
    tools.log.log('warn', 'the key of an ended run could not be replaced yet', {
      agent: container.name,
      ...causeOf(error),
    });
    return undefined;
  });
  return shown;
}

/** Returns whether a slot has this agent. Slots are known after the first check of the GPUs, and pools after their first read. */
function mayHaveSlot(agent: string, poolId: number, { watches, slots }: ActionParts): boolean {
  const all = slots();
  if (watches.gpus.latest === undefined || all.length === 0) return true;
  return all.some((slot) => {
    const { pool } = watches.pools.of(slot);
    return slot.agent.toLowerCase() === agent.toLowerCase() && (pool === undefined || pool.id === poolId);
  });
}

async function retireRun(
  { container, poolId, action: { reason, cause }, memory }: Work<'retire', 'container' | 'poolId'>,
  { tools, logs }: ActionParts,
): Promise<void> {
  memory.disabledFor = reason;
  memory.stopped.set(container.id, defined({ cause }));
  const isOver = logs.of(container.id)?.phase === 'done';
  const end = await retire(tools, {
    poolId,
    agent: container.name,
    container: container.id,
    reason,
    isIdle: () => isOver || isIdle(logs.of(container.id)?.phase),
    ...defined({ id: agentIdOf(container) }),
  }).catch((error: unknown) => {
    // The reason for the stop says more than the failure of the stop.
    if (isOver && cause !== undefined) throw new NotYet(withFailure(cause, error));
    throw error;
  });
  if (end === 'stopped') return;
  memory.stopped.delete(container.id);
  if (end === 'enabled') {
    memory.disabledFor = undefined;
    throw new NotYet(stillEnabled(container.name));
  }
  // It has a job now, or the server shows one: tried again later.
  if (cause !== undefined) throw new NotYet(cause);
}

/** Notes that a run or launch failed before its agent listened. After several in a row the image is rejected. */
async function blameImage(
  image: string | undefined,
  slotName: string,
  memory: SlotMemory,
  { tools: { state, log, config }, watches, book, slots }: ActionParts,
): Promise<void> {
  const all = slots();
  const slot = all.find(({ name }) => name === slotName);
  if (image === undefined || slot === undefined) return;
  // While the server refuses the manager, too, a failed agent says nothing about its image.
  if (watches.pools.of(slot).problem !== undefined) return;
  const verdict = afterFailures(recordOf(state.value, slot, config.image), image, memory.blame(image));
  if (verdict === undefined) return;
  log.log('warn', 'the new image does not work; using the previous one', { ...verdict });
  await state.note((known) => withRecord(known, slot, { slots: all, hostImage: config.image }, verdict));
  book.retryNow();
}

/** Drops the record of a previous image that Docker no longer has: the newest is tried again, though it was rejected. */
async function forgetImage(
  image: string | undefined,
  slot: Slot,
  { tools: { state, config, log }, watches, slots }: ActionParts,
): Promise<void> {
  const known = recordOf(state.value, slot, config.image);
  // The newest image is pulled or built again.
  if (image === undefined || image !== known.proven || image === watches.images.of(slot.image).id) return;
  log.log('warn', 'the previous image is gone; trying the newest again', { image });
  await state.note((records) => withRecord(records, slot, { slots: slots(), hostImage: config.image }, {}));
}

function capabilitiesOf(slot: Slot, { tools, watches }: ActionParts): Readonly<Record<string, string>> {
  return userCapabilities(tools.config, slot, watches.gpus.report, tools.state.owner);
}

function isIdle(phase: string | undefined): boolean {
  return phase === 'listening' || phase === 'connecting';
}

function withFailure(cause: Cause, error: unknown): Cause {
  return { ...cause, what: `${cause.what}; it cannot be stopped yet: ${causeOf(error).what}` };
}

function stillEnabled(agent: string): Cause {
  return {
    code: 'agent.still-enabled',
    what: `agent ${agent} is still enabled in the pool, where it may get a job: it is not stopped`,
    next: 'retried automatically; if this stays, check who changes the agent in the pool, and that it has the capability azp-fleet.owner of this host',
  };
}

/** Failures of a run that are not the image's fault. */
const noFaultOfImage: ReadonlySet<string> = new Set([
  'agent.session-conflict',
  'agent.session-lost',
  'agent.cannot-connect',
  'agent.login-refused',
  'agent.clock-skew',
  'agent.deleted',
  'agent.killed',
  'agent.stopped',
  'container.stuck',
  'image.outdated',
  'run.out-of-memory',
  'run.output-lost',
  'run.withdrawn',
]);
