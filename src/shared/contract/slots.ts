/** Limits of one agent container. */
export interface SlotLimits {
  /** Docker notation, e.g. `64g`. */
  readonly memory?: string;
  /** A share: the number of CPUs when all slots use theirs. */
  readonly cpus?: number;
  readonly shm?: string;
  readonly pids?: number;
  /** Size of the container's own files, e.g. `200g`, if the storage of the engine supports it. */
  readonly disk?: string;
}

/** The parts of the driver that a container gets. */
export type DriverCapabilities = readonly ('compute' | 'utility' | 'graphics' | 'video' | 'display')[];

/** One slot in the inventory. */
export interface SlotSpec {
  readonly name?: string;
  /** UUIDs (`GPU-…`, `MIG-…`) or indices in PCI bus order. Empty: a CPU-only slot. */
  readonly gpus: readonly (string | number)[];
  readonly share: boolean;
  readonly limits: SlotLimits;
  readonly capabilities: DriverCapabilities;
  readonly mode: 'container' | 'host';
  /** The pool of this slot's agent; absent: the host's. */
  readonly pool?: string;
  /** A registry image for this slot's agent; absent: the host's. */
  readonly image?: string;
}

/** How a host is divided among agents. */
export type Agents =
  | { readonly kind: 'one-per-gpu' }
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'slots'; readonly slots: readonly SlotSpec[] };

/** The settings that divide a host into slots. */
interface Division {
  readonly agents: Agents;
  readonly gpus?: number;
  readonly share: boolean;
  readonly driverCapabilities: DriverCapabilities;
}

/** Returns the configured slots of a host with `present` GPUs; `gpus` of a slot are indices, or the names in the inventory. */
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
 * Returns the GPU indices of slot `index` of `count`: consecutive blocks, the first ones larger when the division leaves a
 * rest. With more slots than GPUs, slots share GPUs in turn if sharing is allowed; otherwise the later ones name a missing GPU.
 */
export function portion(index: number, count: number, gpus: number, share: boolean): readonly number[] {
  if (gpus === 0) return [];
  if (count > gpus) return [share ? index % gpus : index];
  const size = Math.floor(gpus / count);
  const larger = gpus % count;
  const start = index * size + Math.min(index, larger);
  return Array.from({ length: size + (index < larger ? 1 : 0) }, (_, offset) => start + offset);
}

/** Returns the names of a host's slots that are known before its GPUs are counted. */
export function slotNames(host: { readonly agents: Agents; readonly gpus?: number }): string[] {
  const { agents } = host;
  if (agents.kind === 'slots') return agents.slots.map((slot, index) => slot.name ?? String(index));
  const count = agents.kind === 'count' ? agents.count : (host.gpus ?? 1);
  return Array.from({ length: count }, (_, index) => String(index));
}

/** The settings that assign agents to pools. */
export interface Pooled {
  /** Empty: each slot names its own. */
  readonly pool: string;
  readonly agents: Agents;
}

/** Returns the pools of a host's agents, each once. */
export function poolsOf({ pool, agents }: Pooled): string[] {
  if (agents.kind !== 'slots') return [pool];
  return [...new Set(agents.slots.map((slot) => slot.pool ?? pool))];
}

/** Returns the pool of a slot, by its name from `slotNames`. */
export function poolOfSlot({ pool, agents }: Pooled, slot: string): string {
  const slots = agents.kind === 'slots' ? agents.slots : [];
  return slots.find(({ name }, index) => (name ?? String(index)) === slot)?.pool ?? pool;
}

/** Returns the agent's name in the pool. */
export function agentName(host: { readonly name: string; readonly agentName: string }, slot: string): string {
  return host.agentName.replaceAll('{host}', host.name).replaceAll('{slot}', slot);
}

/** MiB. Limits are multiples of this, so that a new kernel with a few MiB less changes nothing. */
const step = 256;
/** MiB. With less, a job cannot check out its sources. */
const least = 1024;

/**
 * Returns the MiB that each of so many slots may use without `limits.memory`: an equal part, after a sixteenth (2 to 32 GiB)
 * is reserved for the system, Docker and the file cache of datasets. The manager enforces it and the plan shows it, both from
 * `MemTotal`. Undefined: no slots, or the memory of the machine is not known. Pure.
 */
export function memoryShare(hostMiB: number, slots: number): number | undefined {
  if (!(hostMiB > 0) || slots < 1) return undefined;
  const reserved = Math.min(Math.max(hostMiB / 16, 2048), 32 * 1024);
  const part = Math.floor((hostMiB - reserved) / slots / step) * step;
  return Math.max(part, least);
}

/** CPU shares of a slot without `cpus`; Docker's default. */
const equalShare = 1024;

/**
 * Returns the CPU shares of a slot, within Docker's bounds; they apply only when the CPUs are fully used. `cpus`: the CPUs
 * that it then gets if every other slot has an equal part of the machine; undefined: an equal part. Pure.
 */
export function cpuShares(cpus: number | undefined, machineCpus: number, slots: number): number {
  if (cpus === undefined || machineCpus < 1) return equalShare;
  const shares = Math.round((equalShare * cpus * slots) / machineCpus);
  return Math.min(Math.max(shares, 2), 262_144);
}

/** Formats MiB as `58.75 GiB`. */
export function gibText(mib: number): string {
  return `${Number((mib / 1024).toFixed(2))} GiB`;
}

const units: Readonly<Record<string, number>> = { b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };

/** Parses `64g`, `512m`, `1.5g` or plain bytes; undefined: not a size. */
export function sizeOf(text: string): number | undefined {
  const [, number = '', unit = 'b'] = /^(\d+(?:\.\d+)?)\s*([bkmgt])?(?:i?b)?$/i.exec(text.trim()) ?? [];
  const factor = units[unit.toLowerCase()];
  return number === '' || factor === undefined ? undefined : Math.round(Number(number) * factor);
}

/** Parses a size; throws for an invalid one. */
export function bytes(text: string): number {
  const size = sizeOf(text);
  if (size === undefined) throw new RangeError(`not a size: ${text}`);
  return size;
}
