import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { AzureAgent } from '../shared/azure/client.ts';
import { ownerId } from '../shared/azure/pools/agents.ts';
import { readDrains, type DrainEntries } from './slots/drains.ts';
import type { FirstSights } from './machine/archives.ts';
import type { GpuOrder, XidMemory } from './gpus/remembered.ts';
import type { MemoryBaselines } from './other-processes/gpu-use.ts';
import { FleetError } from '../shared/base/errors.ts';
import { causeOf } from './causes.ts';
import { damagedCopy, readKept, replaceKept } from './machine/files.ts';
import type { Cause, PulledImage } from './model.ts';
import { type Episode, readEpisodes } from './webhook/episodes.ts';

/** What the pool knows of an agent beside its key. */
export type KeptEntry = Pick<AzureAgent, 'enabled' | 'userCapabilities' | 'systemCapabilities'>;

/** An entry that config.sh was about to make or replace. */
export interface Configuring {
  readonly poolId: number;
  readonly agent: string;
  /** Of the entry that it replaces; undefined: there was none of the name. */
  readonly id?: number;
}

/** What must survive a restart. Readable one version back and forth: unknown members are kept, missing ones defaulted. */
export interface State {
  readonly schema: 1;
  /** Random, made once; with the machine-id it gives the owner id. */
  readonly installation: string;
  readonly drain: DrainEntries;
  /** Slots whose agent name this host may take over from another owner; `everySlot` until these are known. */
  readonly adopt: readonly string[];
  /** By slot, between deleting an entry and making it anew: what of it is taken over. */
  readonly renewing: Readonly<Record<string, KeptEntry>>;
  /** By slot, from before config.sh is run until its entry carries our mark: what it may have made is ours. */
  readonly configuring: Readonly<Record<string, Configuring>>;
  readonly jobsRun: Readonly<Record<string, number>>;
  /** By slot, the newest request whose wait in the queue was counted. */
  readonly counted: Readonly<Record<string, number>>;
  /** Image ids: on which agents came to listen, and which was given up for it. */
  readonly image: { readonly proven?: string; readonly rejected?: string };
  /** The same for slots with an image of their own, by slot. */
  readonly slotImages: Readonly<Record<string, { readonly proven?: string; readonly rejected?: string }>>;
  /** Images that this manager has pulled and not removed. */
  readonly pulled: readonly PulledImage[];
  /** Ids of pools that may hold agents of ours: slots may have left them. */
  readonly pools: readonly number[];
  /** By the id of a pool: names that agents of ours have there, or had and may not have lost. */
  readonly names: Readonly<Record<string, readonly string[]>>;
  /** PCI addresses as the slots were numbered by them. */
  readonly gpuOrder: GpuOrder | undefined;
  /** What this host has to hold archives of the agent to that nobody knew beforehand. */
  readonly archives: FirstSights;
  /** The kernel's own log forgets. */
  readonly xids: XidMemory | undefined;
  /** How much memory of idle GPUs is in use. */
  readonly gpuMemory: MemoryBaselines | undefined;
  /** What the webhook has been told and does not know to be over. */
  readonly told: readonly Episode[];
}

/** The state, in memory and on the disk. What cannot be written holds in memory, and is written as soon as it can be. */
export class StateStore {
  readonly #path: string;
  readonly #machineId: string;
  #value: State;
  /** The last write; the next one waits for it. */
  #written: Promise<unknown> = Promise.resolve();
  #problem: FleetError | undefined;
  /** Why the file was not read but the one before it; undefined: it was, or there was none. */
  readonly damage: string | undefined;

  private constructor(path: string, machineId: string, value: State, damage: string | undefined) {
    this.#path = path;
    this.#machineId = machineId;
    this.#value = value;
    this.damage = damage;
  }

  /** Reads `DIR/manager.json`, or starts anew where there is none. Rejects when it is there and cannot be read. */
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

  /** Why what is remembered is not on the disk. */
  get problem(): Cause | undefined {
    return this.#problem === undefined ? undefined : causeOf(this.#problem);
  }

  /** For what must not get lost in a crash: rejects while it is not on the disk. In memory it holds all the same. */
  async update(change: (state: State) => Partial<State>): Promise<void> {
    await this.note(change);
    if (this.#problem !== undefined) throw this.#problem;
  }

  /** For what a crash may forget: never rejects. */
  async note(change: (state: State) => Partial<State>): Promise<void> {
    this.#value = { ...this.#value, ...change(this.#value) };
    await this.#write();
  }

  /** Tries again what could not be written. Never rejects. */
  async flush(): Promise<void> {
    if (this.#problem !== undefined) await this.#write();
  }

  /** One after the other: of two writes at once the older could come to lie on top. */
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

/** What a whole file holds at least. */
type Found = Partial<State> & Pick<State, 'installation'>;

/** Throws what is wrong with the file's text. */
function wholeState(text: string): Found {
  const found = JSON.parse(text) as Partial<State> | null;
  if (typeof found !== 'object' || typeof found?.installation !== 'string' || found.installation === '')
    throw new Error('it names no installation');
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
    what: `the manager cannot write ${path}: a restart would forget what has changed last`,
    seen: error instanceof Error ? error.message : String(error),
    next: `make room on its disk or mend the file system (df -h ${path}); it is tried again by itself`,
  });
}
