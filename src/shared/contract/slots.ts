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
