import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { AzureAgent } from '../shared/azure/client.ts';
import { ownerId } from '../shared/azure/pools/agents.ts';
import { readDrains, type DrainEntries } from './slots/drains.ts';
import { type FirstDownloads, isFirstDownload } from './machine/archives.ts';
import type { GpuOrder, XidMemory } from './gpus/remembered.ts';
import type { MemoryBaselines } from './other-processes/gpu-use.ts';
import { FleetError } from '../shared/base/errors.ts';
import { defined, isObject } from '../shared/base/objects.ts';
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
  /** Why the previous file was read instead; undefined: the file is whole, or neither exists. */
  readonly damage: string | undefined;
  /** Where the next write keeps the damaged file, which must not replace its previous version. */
  #aside: string | undefined;

  private constructor(path: string, machineId: string, value: State, damage: string | undefined) {
    this.#path = path;
    this.#machineId = machineId;
    this.#value = value;
    this.damage = damage;
    this.#aside = damage === undefined ? undefined : damagedCopy(path);
  }

  /**
   * Reads `DIR/manager.json`, or creates it when it and its previous copy are missing. Rejects when neither can be read, and
   * when a new one cannot be written; a damaged one may be written later.
   */
  static async open(directory: string, machineId: string): Promise<StateStore> {
    const path = join(directory, 'manager.json');
    const kept = await readKept(path, wholeState);
    const value = stateOf(kept?.value ?? { installation: randomBytes(16).toString('hex') });
    const store = new StateStore(path, machineId, value, kept?.damage);
    if (kept === undefined) await replaceKept(path, textOf(value));
    if (kept?.damage !== undefined) await store.#write();
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

  /**
   * Makes a change that neither a crash nor the loss of the file must lose: rejects while it is not on disk, in the file and in
   * its previous version. Memory has it in any case.
   */
  async update(change: (state: State) => Partial<State>): Promise<void> {
    for (const each of [change, () => ({})]) {
      await this.note(each);
      if (this.#problem !== undefined) throw this.#problem;
    }
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
      .then(() => replaceKept(this.#path, textOf(this.#value), this.#aside))
      .then(
        () => (this.#problem = this.#aside = undefined),
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

/** Fills in what the file lacks. A value of another type, which would end the manager at each start, is left out. */
function stateOf(found: Found): State {
  const slotImages = entries(found.slotImages, isObject);
  return {
    ...found,
    schema: 1,
    drain: readDrains(found.drain),
    adopt: items(found.adopt, isText),
    renewing: entries(found.renewing, isObject) as State['renewing'],
    configuring: entries(found.configuring, isObject) as unknown as State['configuring'],
    jobsRun: entries(found.jobsRun, isNumber),
    counted: entries(found.counted, isNumber),
    image: imageRecord(found.image),
    slotImages: Object.fromEntries(
      Object.entries(slotImages).map(([slot, record]) => [slot, imageRecord(record)]),
    ),
    pulled: items(found.pulled, isPulled),
    pools: items(found.pools, isNumber),
    names: entries(found.names, isTexts),
    gpuOrder: isListOf(found.gpuOrder?.addresses, isText) ? found.gpuOrder : undefined,
    archives: entries(found.archives, isFirstDownload),
    xids:
      isListOf(found.xids?.events, isObject) && isListOf(found.xids?.others ?? [], isObject)
        ? found.xids
        : undefined,
    gpuMemory: isObject(found.gpuMemory?.mib) ? found.gpuMemory : undefined,
    told: readEpisodes(found.told),
  };
}

function imageRecord(found: unknown): State['image'] {
  const { proven, rejected, ...others }: Readonly<Record<string, unknown>> = isObject(found) ? found : {};
  return {
    ...others,
    ...defined({
      proven: isText(proven) ? proven : undefined,
      rejected: isText(rejected) ? rejected : undefined,
    }),
  };
}

function isPulled(found: unknown): found is PulledImage {
  return isObject(found) && isText(found['id']) && isNumber(found['at']);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isTexts(value: unknown): value is readonly string[] {
  return isListOf(value, isText);
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function isListOf(found: unknown, is: (value: unknown) => boolean): boolean {
  return Array.isArray(found) && found.every(is);
}

function items<Value>(found: unknown, is: (value: unknown) => value is Value): readonly Value[] {
  return Array.isArray(found) ? found.filter(is) : [];
}

function entries<Value>(
  found: unknown,
  is: (value: unknown) => value is Value,
): Readonly<Record<string, Value>> {
  const all = Object.entries(isObject(found) ? found : {});
  return Object.fromEntries(all.filter((entry): entry is [string, Value] => is(entry[1])));
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
