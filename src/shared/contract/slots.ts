/** Of one agent container. */
export interface SlotLimits {
  /** Docker notation, e.g. `64g`. */
  readonly memory?: string;
  /** A share: how many it has when all want theirs. */
  readonly cpus?: number;
  readonly shm?: string;
  readonly pids?: number;
  /** Of its container's own files, e.g. `200g`; where the storage of the engine can. */
  readonly disk?: string;
}

/** What of the driver is put into a container. */
export type DriverCapabilities = readonly ('compute' | 'utility' | 'graphics' | 'video' | 'display')[];

/** One slot written out in the inventory. */
export interface SlotSpec {
  readonly name?: string;
  /** UUIDs (`GPU-…`, `MIG-…`) or indices in PCI bus order. Empty: a CPU-only slot. */
  readonly gpus: readonly (string | number)[];
  readonly share: boolean;
  readonly limits: SlotLimits;
  readonly capabilities: DriverCapabilities;
  readonly mode: 'container' | 'host';
  /** Of this slot's agent; absent: the host's. */
  readonly pool?: string;
  /** A registry image for this slot's agent; absent: the host's. */
  readonly image?: string;
}

/** How a host is divided among agents. */
export type Agents =
  | { readonly kind: 'one-per-gpu' }
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'slots'; readonly slots: readonly SlotSpec[] };

/** What says how a host is divided. */
interface Division {
  readonly agents: Agents;
  readonly gpus?: number;
  readonly share: boolean;
  readonly driverCapabilities: DriverCapabilities;
}

/** The slots that a configuration asks for on a host with so many GPUs; `gpus` of a slot are indices or what it names. */
export function slotSpecs(config: Division, present: number): readonly SlotSpec[] {
  const { agents } = config;
  if (agents.kind === 'slots') return agents.slots;
  const gpus = Math.max(present, config.gpus ?? 0);
  const count = agents.kind === 'one-per-gpu' ? gpus : agents.count;
  return Array.from({ length: count }, (_, index) => ({
    gpus: portion(index, count, gpus, config.share),
    share: config.share,
    limits: {},
    capabilities: config.driverCapabilities,
    mode: 'container' as const,
  }));
}

/**
 * GPU indices of slot `index` of `count`: consecutive blocks, the first ones larger when it does not divide evenly.
 * More slots than GPUs: they take turns where sharing is allowed; else the later ones name a GPU that is not there.
 */
export function portion(index: number, count: number, gpus: number, share: boolean): readonly number[] {
  if (gpus === 0) return [];
  if (count > gpus) return [share ? index % gpus : index];
  const size = Math.floor(gpus / count);
  const larger = gpus % count;
  const start = index * size + Math.min(index, larger);
  return Array.from({ length: size + (index < larger ? 1 : 0) }, (_, offset) => start + offset);
}

/** Names of the slots of a host, as far as they are known before its GPUs have been counted. */
export function slotNames(host: { readonly agents: Agents; readonly gpus?: number }): string[] {
  const { agents } = host;
  if (agents.kind === 'slots') return agents.slots.map((slot, index) => slot.name ?? String(index));
  const count = agents.kind === 'count' ? agents.count : (host.gpus ?? 1);
  return Array.from({ length: count }, (_, index) => String(index));
}

/** What says which agents are in which pool. */
export interface Pooled {
  /** Empty: each slot names its own. */
  readonly pool: string;
  readonly agents: Agents;
}

/** The pools of a host's agents, each once. */
export function poolsOf({ pool, agents }: Pooled): string[] {
  if (agents.kind !== 'slots') return [pool];
  return [...new Set(agents.slots.map((slot) => slot.pool ?? pool))];
}

/** The pool of a slot, by the name that `slotNames` gives it. */
export function poolOfSlot({ pool, agents }: Pooled, slot: string): string {
  const slots = agents.kind === 'slots' ? agents.slots : [];
  return slots.find(({ name }, index) => (name ?? String(index)) === slot)?.pool ?? pool;
}

/** The agent's name in the pool. */
export function agentName(host: { readonly name: string; readonly agentName: string }, slot: string): string {
  return host.agentName.replaceAll('{host}', host.name).replaceAll('{slot}', slot);
}

/** MiB. A limit is a multiple of this: a new kernel that leaves some MiB less changes nothing. */
const step = 256;
/** MiB. With less no job checks anything out. */
const least = 1024;

/**
 * MiB that each of so many slots may use unless `limits.memory` says otherwise: an equal part of what is left when a
 * sixteenth (2 GiB at least, 32 GiB at most) is kept for the system, Docker and the cache of the datasets' files. The
 * manager holds runs to it and the plan tells it, from `MemTotal` both. Undefined: there is no slot, or the machine does not
 * tell its memory. Pure.
 */
export function memoryShare(hostMiB: number, slots: number): number | undefined {
  if (!(hostMiB > 0) || slots < 1) return undefined;
  const kept = Math.min(Math.max(hostMiB / 16, 2048), 32 * 1024);
  const part = Math.floor((hostMiB - kept) / slots / step) * step;
  return Math.max(part, least);
}

/** Of a slot for which nothing is said; Docker's own default. */
const equalShare = 1024;

/**
 * CPU shares of a slot: what counts when more is wanted than there is, and nothing before. `cpus` is how many it then has
 * if every other slot has its equal part of the machine's; undefined: an equal part. Within Docker's bounds. Pure.
 */
export function cpuShares(cpus: number | undefined, machineCpus: number, slots: number): number {
  if (cpus === undefined || machineCpus < 1) return equalShare;
  const shares = Math.round((equalShare * cpus * slots) / machineCpus);
  return Math.min(Math.max(shares, 2), 262_144);
}

/** `58.75 GiB` */
export function gibText(mib: number): string {
  return `${Number((mib / 1024).toFixed(2))} GiB`;
}

const units: Readonly<Record<string, number>> = { b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };

/** `64g`, `512m`, `1.5g`, plain bytes; undefined: it is no size. */
export function sizeOf(text: string): number | undefined {
  const [, number = '', unit = 'b'] = /^(\d+(?:\.\d+)?)\s*([bkmgt])?(?:i?b)?$/i.exec(text.trim()) ?? [];
  const factor = units[unit.toLowerCase()];
  return number === '' || factor === undefined ? undefined : Math.round(Number(number) * factor);
}

/** Throws where it is no size. */
export function bytes(text: string): number {
  const size = sizeOf(text);
  if (size === undefined) throw new RangeError(`not a size: ${text}`);
  return size;
}
