import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { AzureAgent } from '../azure/client.ts';
import { ownerId } from '../azure/pools/owner.ts';
import type { PulledImage } from './model.ts';
import { readMarks, type DrainMarks } from './drain-marks.ts';
import type { FirstSights } from './machine/archives.ts';
import type { GpuOrder, XidMemory } from './gpus/remembered.ts';
import { readJson, writeAtomic } from './machine/files.ts';

/** What the pool knows of an agent beside its key. */
export type KeptEntry = Pick<AzureAgent, 'enabled' | 'userCapabilities' | 'systemCapabilities'>;

/** What must survive a restart. Readable one version back and forth: unknown members are kept, missing ones defaulted. */
export interface State {
  readonly schema: 1;
  /** Random, made once; with the machine-id it gives the owner id. */
  readonly installation: string;
  readonly drain: DrainMarks;
  /** Slots whose agent name this host may take over from another owner; `everySlot` until these are known. */
  readonly adopt: readonly string[];
  /** By slot, between deleting an entry and making it anew: what of it is taken over. */
  readonly renewing: Readonly<Record<string, KeptEntry>>;
  readonly jobsRun: Readonly<Record<string, number>>;
  /** Image ids: on which agents came to listen, and which was given up for it. */
  readonly image: { readonly proven?: string; readonly rejected?: string };
  /** The same for slots with an image of their own, by slot. */
  readonly slotImages: Readonly<Record<string, { readonly proven?: string; readonly rejected?: string }>>;
  /** Images that this manager has pulled and not removed. */
  readonly pulled: readonly PulledImage[];
  /** Ids of pools that may hold agents of ours: slots may have left them. */
  readonly pools: readonly number[];
  /** PCI addresses as the slots were numbered by them. */
  readonly gpuOrder: GpuOrder | undefined;
  /** What this host has to hold archives of the agent to that nobody knew beforehand. */
  readonly archives: FirstSights;
  /** The kernel's own log forgets. */
  readonly xids: XidMemory | undefined;
}

export class StateStore {
  readonly #path: string;
  readonly #machineId: string;
  #value: State;
  /** The last write; the next one waits for it. */
  #written: Promise<unknown> = Promise.resolve();

  private constructor(path: string, machineId: string, value: State) {
    this.#path = path;
    this.#machineId = machineId;
    this.#value = value;
  }

  /** Reads `DIR/manager.json`, or starts anew. */
  static async open(directory: string, machineId: string): Promise<StateStore> {
    const path = join(directory, 'manager.json');
    const found = Object((await readJson(path)) ?? {}) as Partial<State>;
    const value: State = {
      ...found,
      schema: 1,
      installation: found.installation ?? randomBytes(16).toString('hex'),
      drain: readMarks(found.drain),
      adopt: Array.isArray(found.adopt) ? found.adopt : [],
      renewing: Object(found.renewing ?? {}) as State['renewing'],
      jobsRun: Object(found.jobsRun ?? {}) as State['jobsRun'],
      image: Object(found.image ?? {}) as State['image'],
      slotImages: Object(found.slotImages ?? {}) as State['slotImages'],
      pulled: Array.isArray(found.pulled) ? found.pulled : [],
      pools: Array.isArray(found.pools) ? found.pools : [],
      gpuOrder: Array.isArray(found.gpuOrder?.addresses) ? found.gpuOrder : undefined,
      archives: Object(found.archives ?? {}) as State['archives'],
      xids: Array.isArray(found.xids?.events) ? found.xids : undefined,
    };
    const store = new StateStore(path, machineId, value);
    if (found.installation === undefined) await store.#write();
    return store;
  }

  get value(): State {
    return this.#value;
  }

  get owner(): string {
    return ownerId(this.#machineId, this.#value.installation);
  }

  async update(change: (state: State) => Partial<State>): Promise<void> {
    this.#value = { ...this.#value, ...change(this.#value) };
    await this.#write();
  }

  /** One after the other: of two writes at once the older could come to lie on top. */
  async #write(): Promise<void> {
    const written = this.#written.then(() =>
      writeAtomic(this.#path, `${JSON.stringify(this.#value, undefined, 2)}\n`),
    );
    this.#written = written.catch(() => undefined);
    await written;
  }
}
