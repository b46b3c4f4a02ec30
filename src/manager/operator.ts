import { causeOf, NotYet } from './causes.ts';
import type { ManagerTools } from './manager-tools.ts';
import type { Action, Cause, Slot } from './model.ts';
import { Operations } from './operations.ts';
import { decide, type Grounds, type Order } from './orders.ts';
import type { LogWatch } from './runs/log-watch.ts';
import type { SlotMemory, SlotBook } from './slots/memory.ts';
import type { Watches } from './watches.ts';
import type { TenantWatch } from './tenants/watch.ts';

/** Launch failures that another image may not have. */
const faultOfImage = new Set(['engine.failed', 'engine.not-found', 'engine.cuda-too-new']);

/** Has actions carried out, one at a time per slot, and keeps the book of how they ended. */
export class Operator {
  readonly #tools: ManagerTools;
  readonly #watches: Watches;
  readonly #book: SlotBook;
  readonly #operations: Operations;
  readonly #wake: () => void;
  readonly #running = new Set<Promise<void>>();

  /** `slots`: what this host has, as of now. */
  constructor(
    tools: ManagerTools,
    watches: Watches,
    book: SlotBook,
    logs: LogWatch,
    tenants: TenantWatch,
    slots: () => readonly Slot[],
    wake: () => void,
  ) {
    this.#tools = tools;
    this.#watches = watches;
    this.#book = book;
    this.#operations = new Operations(tools, watches, book, logs, tenants, slots);
    this.#wake = wake;
  }

  /** Begins what can be begun. What lacks something is put off, with the reason in the slot's status. */
  begin(action: Action, grounds: Omit<Grounds, 'pool'>): void {
    const memory = this.#book.of(action.slot);
    const decision = decide(action, { ...grounds, pool: (name) => this.#watches.pools.named(name).pool });
    if ('lacks' in decision) {
      this.#putOff(action, memory, decision.lacks);
      return;
    }
    const { order } = decision;
    memory.busyWith = action.kind;
    this.#tools.log.log('info', action.kind, { ...action });
    const operation = this.#operations
      .carryOut(order, memory)
      .then(
        () => {
          if (action.kind !== 'launch') memory.operationWorked();
        },
        (error: unknown) => this.#noteFailure(action, order, memory, error),
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

  /** Not done, and no failure: said once, asked again later. */
  #putOff(action: Action, memory: SlotMemory, reason: Cause): void {
    const said = action.kind === 'launch' ? memory.waitingFor : memory.cause;
    if (action.kind === 'launch') memory.notYet(reason);
    else memory.operationFailed(reason);
    if (said?.what === reason.what) return;
    this.#tools.log.log('info', 'not yet', { action: action.kind, slot: action.slot, ...reason });
  }

  async #noteFailure(action: Action, order: Order, memory: SlotMemory, error: unknown): Promise<void> {
    if (error instanceof NotYet) {
      this.#putOff(action, memory, error.reason);
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
    if (cause.code.startsWith('azure.')) this.#watches.pools.doubt();
    // The runtime could not hand over the GPUs: perhaps one has just gone.
    if (cause.code.startsWith('engine.')) this.#watches.lookSoon();
    if (order.kind === 'launch' && order.slot.mode !== 'host' && faultOfImage.has(cause.code))
      await this.#operations.blame(order.image, action.slot, memory);
  }
}
