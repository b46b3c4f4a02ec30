import { FleetError } from '../base/errors.ts';
import { Labels } from '../contract/paths.ts';
import type { OwnContainer } from '../engine/engine.ts';
import { userCapabilities } from './pool/capabilities.ts';
import { causeOf, NotYet } from './causes.ts';
import { disable, enable, publish } from './pool/agents.ts';
import { retire } from './runs/retire.ts';
import { collect } from './runs/collect.ts';
import { isHostRun } from './host-mode/host-engine.ts';
import { failedOn } from './image/choice.ts';
import { launch } from './runs/launch.ts';
import type { LogWatch } from './runs/log-watch.ts';
import type { SlotMemory, SlotBook } from './slots/memory.ts';
import type { Action, Slot } from './model.ts';
import { runId } from './docker/launch-order.ts';
import { settingsOf } from './slots/resolve.ts';
import type { Surroundings } from './surroundings.ts';
import type { ManagerTools } from './manager-tools.ts';

/** What an action is about, as it was seen when it was decided. */
export interface Order {
  readonly action: Action;
  /** Undefined: the slot is no longer configured. */
  readonly slot: Slot | undefined;
  readonly container: OwnContainer | undefined;
  readonly image: string | undefined;
}

/** Without the server's word no agent is disabled, and so none is stopped. */
const poolUnknown = {
  code: 'pool.unknown',
  what: 'the pool has not been found yet, so no agent can be disabled in it',
  next: 'look at the problem that the status shows for the pool',
};

/** Launch failures that another image may not have. */
const faultOfImage = new Set(['engine.failed', 'engine.not-found', 'engine.cuda-too-new']);

/** Carries actions out, one at a time per slot. */
export class Operator {
  readonly #tools: ManagerTools;
  readonly #around: Surroundings;
  readonly #book: SlotBook;
  readonly #logs: LogWatch;
  readonly #wake: () => void;
  readonly #running = new Set<Promise<void>>();

  constructor(tools: ManagerTools, around: Surroundings, book: SlotBook, logs: LogWatch, wake: () => void) {
    this.#tools = tools;
    this.#around = around;
    this.#book = book;
    this.#logs = logs;
    this.#wake = wake;
  }

  begin(order: Order): void {
    const { action } = order;
    const memory = this.#book.of(action.slot);
    memory.busyWith = action.kind;
    this.#tools.log.log('info', action.kind, { ...action });
    const operation = this.#act(order, memory)
      .then(
        () => {
          if (action.kind !== 'launch') memory.operationWorked();
        },
        (error: unknown) => this.#noteFailure(order, memory, error),
      )
      .finally(() => {
        memory.busyWith = undefined;
        memory.operations += 1;
        this.#running.delete(operation);
        this.#wake();
      });
    this.#running.add(operation);
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  async #noteFailure({ action, image, slot }: Order, memory: SlotMemory, error: unknown): Promise<void> {
    if (error instanceof NotYet) {
      const isNews = memory.waitingFor?.what !== error.reason.what;
      memory.notYet(error.reason);
      if (isNews) this.#tools.log.log('info', 'not yet', { slot: action.slot, ...error.reason });
      return;
    }
    const cause = causeOf(error);
    this.#tools.log.log('warn', `${action.kind} failed`, { slot: action.slot, ...cause });
    if (action.kind === 'launch') {
      this.#tools.metrics.launchFailed(action.slot, cause.code);
      memory.failed(cause);
    } else {
      memory.operationFailed(cause);
    }
    if (cause.code.startsWith('azure.')) this.#around.pool.hurry();
    // The runtime could not hand over the GPUs: perhaps one has just gone.
    if (cause.code.startsWith('engine.')) this.#around.lookSoon();
    if (action.kind === 'launch' && slot?.mode !== 'host' && faultOfImage.has(cause.code))
      await this.#blame(image, memory);
  }

  async #act({ action, slot, container, image }: Order, memory: SlotMemory): Promise<void> {
    const poolId = this.#around.pool.pool?.id;
    if (action.kind === 'discard') {
      await this.#tools.engine.removeUnlessRunning(action.container);
    } else if (action.kind === 'collect') {
      if (container !== undefined) await this.#collect(container, memory);
    } else if (action.kind === 'launch') {
      if (slot !== undefined && image !== undefined) await this.#launch(slot, image, memory);
    } else if (poolId === undefined) {
      throw new FleetError(poolUnknown);
    } else if (action.kind === 'retire') {
      if (container !== undefined) await this.#retire(container, action.reason, memory, poolId);
    } else if (slot !== undefined && action.kind === 'publish') {
      await publish(this.#tools, poolId, slot.agent, this.#capabilities(slot));
      memory.published();
    } else if (slot !== undefined) {
      const reason = action.kind === 'disable' ? action.reason : undefined;
      if (reason === undefined) await enable(this.#tools, poolId, slot.agent);
      else await disable(this.#tools, poolId, slot.agent, reason);
      memory.disabledFor = reason;
    }
  }

  async #launch(slot: Slot, image: string, memory: SlotMemory): Promise<void> {
    const { config, clock } = this.#tools;
    const { pool } = this.#around.pool;
    if (pool === undefined) return;
    const { cdiSpec: _, ...ways } = await this.#around.readyToLaunch();
    const { agentId } = await launch(this.#tools, {
      slot,
      image,
      pool,
      run: runId(clock.now()),
      settings: settingsOf(slot, config),
      capabilities: this.#capabilities(slot),
      agentVersion:
        config.image.kind === 'build'
          ? config.image.agentVersion
          : (this.#around.pool.agent(slot.agent)?.version ?? '0.0.0'),
      ...ways,
    });
    memory.launched(agentId);
  }

  #capabilities(slot: Slot): Readonly<Record<string, string>> {
    const { config, state } = this.#tools;
    return userCapabilities(config, slot, this.#around.gpus.report, state.owner);
  }

  async #collect(container: OwnContainer, memory: SlotMemory): Promise<void> {
    const { state, log } = this.#tools;
    const outcome = await collect(
      this.#tools,
      container,
      this.#logs.of(container.id),
      memory.asked.delete(container.id),
    );
    const slot = container.labels[Labels.slot] ?? '';
    log.log('info', 'run ended', { slot, ...outcome });
    memory.ended(outcome);
    this.#tools.metrics.runEnded(slot, outcome, outcome.durationS);
    if (outcome.ranJob) {
      await state.update(({ jobsRun }) => ({ jobsRun: { ...jobsRun, [slot]: (jobsRun[slot] ?? 0) + 1 } }));
      return;
    }
    if (outcome.cause !== undefined && !isHostRun(container.id))
      await this.#blame(container.labels[Labels.imageDigest], memory);
  }

  /** A run or launch failed before its agent listened: perhaps the image is at fault. */
  async #blame(image: string | undefined, memory: SlotMemory): Promise<void> {
    const { state, log } = this.#tools;
    const verdict = image === undefined ? undefined : failedOn(state.value.image, image, memory.failures);
    if (verdict === undefined) return;
    log.log('warn', 'the new image does not work; going back to the one before', { ...verdict });
    await state.update(() => ({ image: verdict }));
    this.#book.retryNow();
  }

  async #retire(container: OwnContainer, reason: string, memory: SlotMemory, poolId: number): Promise<void> {
    memory.disabledFor = reason;
    memory.asked.add(container.id);
    const stopped = await retire(this.#tools, {
      poolId,
      agent: container.name,
      container: container.id,
      reason,
      isIdle: () => isIdle(this.#logs.of(container.id)?.phase),
    });
    if (!stopped) memory.asked.delete(container.id);
  }
}

function isIdle(phase: string | undefined): boolean {
  return phase === 'listening' || phase === 'connecting';
}
