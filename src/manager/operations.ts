import type { AzureAgent } from '../shared/azure/client.ts';
import { defined } from '../shared/base/defined.ts';
import type { OwnContainer } from '../shared/engine/engine.ts';
import { Labels } from '../shared/contract/paths.ts';
import { causeOf, NotYet } from './causes.ts';
import { runId } from './docker/launch-order.ts';
import { isHostRun } from './host-mode/host-engine.ts';
import { failedOn, recordOf, withRecord } from './image/choice.ts';
import type { ManagerTools } from './manager-tools.ts';
import type { Cause, Slot } from './model.ts';
import type { Order } from './orders.ts';
import { disable, enable, publish } from './pool/agents.ts';
import { userCapabilities } from './pool/capabilities.ts';
import { collect } from './runs/collect.ts';
import { launch } from './runs/launch.ts';
import { endKey, endLostKey } from './registration/next-key.ts';
import { registeredVersion } from './registration/version.ts';
import type { LogWatch } from './runs/log-watch.ts';
import { retire } from './runs/retire.ts';
import type { SlotBook, SlotMemory } from './slots/memory.ts';
import { countWait } from './slots/queue-memory.ts';
import { settingsOf } from './slots/resolve.ts';
import type { Watches } from './watches.ts';
import type { TenantWatch } from './tenants/watch.ts';

/** How often Docker is asked for what an ended container has written: after this many failures it goes without, some 15 s later. */
const collectTries = 5;

type OrderTo<Kind extends Order['kind']> = Extract<Order, { readonly kind: Kind }>;

/** What each order does, and what is remembered of it when it has worked. */
export class Operations {
  readonly #tools: ManagerTools;
  readonly #watches: Watches;
  readonly #book: SlotBook;
  readonly #logs: LogWatch;
  readonly #tenants: TenantWatch;
  readonly #slots: () => readonly Slot[];

  constructor(
    tools: ManagerTools,
    watches: Watches,
    book: SlotBook,
    logs: LogWatch,
    tenants: TenantWatch,
    slots: () => readonly Slot[],
  ) {
    this.#tools = tools;
    this.#watches = watches;
    this.#book = book;
    this.#logs = logs;
    this.#tenants = tenants;
    this.#slots = slots;
  }

  /** Rejects with what went wrong; `NotYet`: what is needed is not ready. */
  async carryOut(order: Order, memory: SlotMemory): Promise<void> {
    switch (order.kind) {
      case 'launch':
        return this.#launch(order, memory);
      case 'collect':
        return this.#collect(order, memory);
      case 'discard':
        return this.#tools.engine.removeUnlessRunning(order.container.id);
      case 'retire':
        return this.#retire(order, memory);
      case 'disable':
        await disable(this.#tools, order.pool.id, {
          name: order.slot.agent,
          reason: order.reason,
          ...defined({ id: memory.agentId }),
        });
        memory.disabledFor = order.reason;
        return;
      case 'enable':
        await enable(this.#tools, order.pool.id, order.slot.agent);
        memory.disabledFor = undefined;
        return;
      case 'end-key':
        memory.nextKey = await endLostKey(this.#tools, { poolId: order.pool.id, agent: order.slot.agent });
        memory.keyEnded();
        return;
      case 'publish':
        await publish(this.#tools, order.pool.id, order.slot.agent, this.#capabilities(order.slot));
        memory.published();
        return;
      default:
        throw new Error(`no operation for ${JSON.stringify(order satisfies never)}`);
    }
  }

  /** A run or launch failed before its agent listened: perhaps the image is at fault. */
  async blame(image: string | undefined, slotName: string, memory: SlotMemory): Promise<void> {
    const { state, log, config } = this.#tools;
    const slots = this.#slots();
    const slot = slots.find(({ name }) => name === slotName);
    if (image === undefined || slot === undefined) return;
    // While the server refuses us, too, an agent that gives up says nothing about its image.
    if (this.#watches.pools.of(slot).problem !== undefined) return;
    const verdict = failedOn(recordOf(state.value, slot, config.image), image, memory.blame(image));
    if (verdict === undefined) return;
    log.log('warn', 'the new image does not work; going back to the one before', { ...verdict });
    await state.note((known) => withRecord(known, slot, { slots, hosts: config.image }, verdict));
    this.#book.retryNow();
  }

  async #launch({ slot, image, pool }: OrderTo<'launch'>, memory: SlotMemory): Promise<void> {
    const { config, clock } = this.#tools;
    const ways = await this.#watches.readyToLaunch(slot);
    const { agentId } = await launch(this.#tools, {
      slot,
      image,
      pool,
      run: runId(clock.wall()),
      settings: settingsOf(slot, config),
      capabilities: this.#capabilities(slot),
      agentVersion: (known) => registeredVersion(slot.image, known),
      connection: memory.connection,
      requireClean: () => this.#tenants.requireClean(slot),
      key: { next: memory.nextKey, given: () => (memory.nextKey = undefined) },
      ...ways,
    });
    memory.launched(agentId);
    this.#watches.pools.runChanged();
  }

  #capabilities(slot: Slot): Readonly<Record<string, string>> {
    const { config, state } = this.#tools;
    return userCapabilities(config, slot, this.#watches.gpus.report, state.owner);
  }

  /**
   * Before anything else of an ended run: what its job has copied is to be worth nothing. The agent as the server then
   * showed it, where it did.
   */
  async #endKey(
    { container, poolId }: OrderTo<'collect'>,
    memory: SlotMemory,
  ): Promise<AzureAgent | undefined> {
    if (poolId === undefined) return undefined;
    const id = agentIdOf(container);
    const order = { poolId, agent: container.name, ...defined({ id }) };
    let shown: AzureAgent | undefined;
    memory.nextKey = await endKey(this.#tools, order, (agent) => (shown = agent)).catch((error: unknown) => {
      this.#tools.log.log('warn', 'the key of an ended run could not be replaced yet', {
        agent: container.name,
        ...causeOf(error),
      });
      return undefined;
    });
    return shown;
  }

  async #collect(order: OrderTo<'collect'>, memory: SlotMemory): Promise<void> {
    const { container } = order;
    const { state, log } = this.#tools;
    const isOnHost = isHostRun(container.id);
    // Its processes have ended with it: who is left on its GPUs shows while the server and Docker are spoken to.
    if (!isOnHost) void this.#tenants.ended(container);
    const agent = await this.#endKey(order, memory);
    const outcome = await collect(this.#tools, container, {
      followed: this.#logs.of(container.id),
      asked: memory.asked.get(container.id),
      lastTry: memory.collecting(container.id) >= collectTries,
    });
    // What it left running has been ended only now.
    if (isOnHost) void this.#tenants.ended(container);
    memory.asked.delete(container.id);
    const slot = container.labels[Labels.slot] ?? '';
    log.log('info', 'run ended', { slot, ...outcome });
    if (outcome.sessionLeftSince !== undefined) memory.connection.leave(outcome.sessionLeftSince);
    memory.ended(outcome);
    memory.lastRun = { run: container.labels[Labels.run] ?? '', endedAt: this.#tools.clock.monotonic() };
    this.#watches.pools.runChanged();
    this.#tools.metrics.runEnded(slot, outcome);
    if (outcome.ranJob) {
      const known = this.#slots().find(({ name }) => name === slot);
      // The run's request is the last completed one, or, where the server does not know of its end yet, the assigned one.
      if (known !== undefined)
        for (const request of [agent?.lastCompletedRequest, agent?.assignedRequest])
          await countWait(this.#tools, known, memory.queue, request);
      await state.note(({ jobsRun }) => ({ jobsRun: { ...jobsRun, [slot]: (jobsRun[slot] ?? 0) + 1 } }));
      return;
    }
    const { cause } = outcome;
    if (cause !== undefined && !noFaultOfImage.has(cause.code) && !isOnHost)
      await this.blame(container.labels[Labels.imageDigest], slot, memory);
  }

  async #retire({ container, reason, cause, poolId }: OrderTo<'retire'>, memory: SlotMemory): Promise<void> {
    memory.disabledFor = reason;
    memory.asked.set(container.id, defined({ cause }));
    const id = agentIdOf(container);
    const isOver = this.#logs.of(container.id)?.phase === 'done';
    const end = await retire(this.#tools, {
      poolId,
      agent: container.name,
      container: container.id,
      reason,
      isIdle: () => isOver || isIdle(this.#logs.of(container.id)?.phase),
      ...defined({ id }),
    }).catch((error: unknown) => {
      // Why it is to go tells more than that it does not.
      if (isOver && cause !== undefined) throw new NotYet(withFailure(cause, error));
      throw error;
    });
    if (end === 'stopped') return;
    memory.asked.delete(container.id);
    if (end === 'enabled') {
      memory.disabledFor = undefined;
      throw new NotYet(stillEnabled(container.name));
    }
    // It has a job after all, or the server thinks so: asked again later.
    if (cause !== undefined) throw new NotYet(cause);
  }
}

/** Under which the run's agent was registered; containers of an earlier version do not tell. */
function agentIdOf({ labels }: OwnContainer): number | undefined {
  const id = Number(labels[Labels.agentId]);
  return Number.isInteger(id) && id > 0 ? id : undefined;
}

function withFailure(cause: Cause, error: unknown): Cause {
  return { ...cause, what: `${cause.what}; it cannot be stopped yet: ${causeOf(error).what}` };
}

function stillEnabled(agent: string): Cause {
  return {
    code: 'agent.still-enabled',
    what: `agent ${agent} is still enabled in the pool, where a job may be given to it: it is not stopped`,
    next: 'wait: it is tried again; if this stays, see who changes the agent in the pool, and that it carries the mark azp-fleet.owner of this host',
  };
}

/** What another image would not mend. */
const noFaultOfImage: ReadonlySet<string> = new Set([
  'agent.session-conflict',
  'agent.session-lost',
  'agent.cannot-connect',
  'agent.login-refused',
  'agent.clock-skew',
  'agent.deleted',
  'agent.killed',
  'agent.stopped',
  'image.outdated',
  'run.out-of-memory',
  'run.output-lost',
  'run.withdrawn',
]);

function isIdle(phase: string | undefined): boolean {
  return phase === 'listening' || phase === 'connecting';
}
