import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { AzureAgent } from '../shared/azure/client.ts';
import { ownerId } from '../shared/azure/pools/agents.ts';
import { readDrains, type DrainEntries } from './slots/drains.ts';
import type { FirstDownloads } from './machine/archives.ts';
import type { GpuOrder, XidMemory } from './gpus/remembered.ts';
import type { MemoryBaselines } from './other-processes/gpu-use.ts';
import { FleetError } from '../shared/base/errors.ts';
import { causeOf } from './causes.ts';
import { damagedCopy, readKept, replaceKept } from './machine/files.ts';
import type { Cause, PulledImage } from './model.ts';
import { type Episode, readEpisodes } from './webhook/episodes.ts';

/** An agent's entry in the pool without its key. */
export type KeptEntry = Pick<AzureAgent, 'enabled' | 'userCapabilities' | 'systemCapabilities'>;

/** An entry that config.sh was about to create or replace. */
export interface Configuring {
  readonly poolId: number;
  readonly agent: string;
  /** Id of the entry that it replaces; undefined: the name had none. */
  readonly id?: number;
}

/**
 * The state that survives a restart. The versions before and after can read it: unknown members are kept, missing ones get
 * defaults.
 */
export interface State {
  readonly schema: 1;
  /** Random, created once; with the machine-id it makes the owner id. */
  readonly installation: string;
  readonly drain: DrainEntries;
  /** Slots whose agent name this host may take over from another owner; `everySlot` until these are known. */
  readonly adopt: readonly string[];
  /** By slot, between deleting an entry and creating it again: the values for the new entry. */
  readonly renewing: Readonly<Record<string, KeptEntry>>;
  /** By slot, from before config.sh runs until its entry has the owner capability: an entry that this manager may use. */
  readonly configuring: Readonly<Record<string, Configuring>>;
  readonly jobsRun: Readonly<Record<string, number>>;
  /** By slot, the newest request whose wait in the queue the metrics have. */
  readonly counted: Readonly<Record<string, number>>;
  /** Image ids: the one on which an agent has listened, and the newer one that was rejected. */
  readonly image: { readonly proven?: string; readonly rejected?: string };
  /** The same by slot, for slots with an own image. */
  readonly slotImages: Readonly<Record<string, { readonly proven?: string; readonly rejected?: string }>>;
  /** Images that this manager has pulled and not removed. */
  readonly pulled: readonly PulledImage[];
  /** Ids of pools that may have agents of this manager, including pools that slots have left. */
  readonly pools: readonly number[];
  /** By pool id: names of this manager's agents, and names of earlier ones that may still exist. */
  readonly names: Readonly<Record<string, readonly string[]>>;
  /** PCI addresses in the order that numbers the slots. */
  readonly gpuOrder: GpuOrder | undefined;
  /** Digests of agent archives that this host saw first, for versions without a known digest. */
  readonly archives: FirstDownloads;
  /** Xid errors: the kernel's log is lost at a reboot. */
  readonly xids: XidMemory | undefined;
  /** Memory in use on idle GPUs. */
  readonly gpuMemory: MemoryBaselines | undefined;
  /** Episodes that the webhook has received and whose end it has not. */
  readonly told: readonly Episode[];
}

/** Keeps the state in memory and on disk. A failed write is retried; memory has the change. */
export class StateStore {
  readonly #path: string;
  readonly #machineId: string;
  #value: State;
  /** The latest write; the next one waits for it. */
  #written: Promise<unknown> = Promise.resolve();
  #problem: FleetError | undefined;
  /** Why the previous file was read instead; undefined: the file is whole, or there was none. */
  readonly damage: string | undefined;

  private constructor(path: string, machineId: string, value: State, damage: string | undefined) {
    this.#path = path;
    this.#machineId = machineId;
    this.#value = value;
    this.damage = damage;
  }

  /** Reads `DIR/manager.json`, or creates it. Rejects when it exists and cannot be read. */
  static async open(directory: string, machineId: string): Promise<StateStore> {
    const path = join(directory, 'manager.json');
    const kept = await readKept(path, wholeState);
    const value = stateOf(kept?.value ?? { installation: randomBytes(16).toString('hex') });
    const store = new StateStore(path, machineId, value, kept?.damage);
    if (kept === undefined) await replaceKept(path, textOf(value));
    if (kept?.damage !== undefined) await replaceKept(path, textOf(value), damagedCopy(path));
    return store;
  }

  get value(): State {
    return this.#value;
  }

  get owner(): string {
    return ownerId(this.#machineId, this.#value.installation);
  }

  /** Why the latest change is not on disk. */
  get problem(): Cause | undefined {
    return this.#problem === undefined ? undefined : causeOf(this.#problem);
  }

  /** Makes a change that a crash must not lose: rejects while it is not on disk. Memory has it in any case. */
  async update(change: (state: State) => Partial<State>): Promise<void> {
    await this.note(change);
    if (this.#problem !== undefined) throw this.#problem;
  }

  /** Makes a change that a crash may lose. Never rejects. */
  async note(change: (state: State) => Partial<State>): Promise<void> {
    this.#value = { ...this.#value, ...change(this.#value) };
    await this.#write();
  }

  /** Repeats a failed write. Never rejects. */
  async flush(): Promise<void> {
    if (this.#problem !== undefined) await this.#write();
  }

  /** Writes one after the other: with two at once, the older could win. */
  async #write(): Promise<void> {
    this.#written = this.#written
      .then(() => replaceKept(this.#path, textOf(this.#value)))
      .then(
        () => (this.#problem = undefined),
        (error: unknown) => (this.#problem = unwritten(this.#path, error)),
      );
    await this.#written;
  }
}

/** A whole file has at least this. */
type Found = Partial<State> & Pick<State, 'installation'>;

/** Parses the file. Throws if it is not whole. */
function wholeState(text: string): Found {
  const found = JSON.parse(text) as Partial<State> | null;
  if (typeof found !== 'object' || typeof found?.installation !== 'string' || found.installation === '')
    throw new Error('it has no installation id');
  return { ...found, installation: found.installation };
}

function stateOf(found: Found): State {
  return {
    ...found,
    schema: 1,
    drain: readDrains(found.drain),
    adopt: Array.isArray(found.adopt) ? found.adopt : [],
    renewing: Object(found.renewing ?? {}) as State['renewing'],
    configuring: Object(found.configuring ?? {}) as State['configuring'],
    jobsRun: Object(found.jobsRun ?? {}) as State['jobsRun'],
    counted: Object(found.counted ?? {}) as State['counted'],
    image: Object(found.image ?? {}) as State['image'],
    slotImages: Object(found.slotImages ?? {}) as State['slotImages'],
    pulled: Array.isArray(found.pulled) ? found.pulled : [],
    pools: Array.isArray(found.pools) ? found.pools : [],
    names: Object(found.names ?? {}) as State['names'],
    gpuOrder: Array.isArray(found.gpuOrder?.addresses) ? found.gpuOrder : undefined,
    archives: Object(found.archives ?? {}) as State['archives'],
    xids: Array.isArray(found.xids?.events) ? found.xids : undefined,
    gpuMemory: typeof found.gpuMemory?.mib === 'object' ? found.gpuMemory : undefined,
    told: readEpisodes(found.told),
  };
}

function textOf(value: State): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function unwritten(path: string, error: unknown): FleetError {
  return new FleetError({
    code: 'state.not-written',
    what: `the manager cannot write ${path}: a restart would lose the latest changes`,
    seen: error instanceof Error ? error.message : String(error),
    next: `free space on its disk or repair the file system (df -h ${path}); retried automatically`,
  });
}
