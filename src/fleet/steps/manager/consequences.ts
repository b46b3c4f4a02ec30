import { stableJson } from '../../../shared/base/digest.ts';
import {
  imageOf,
  needsGraphics,
  type ImageConfig,
  type ManagerConfig,
} from '../../../shared/contract/config.ts';
import { gibText, memoryShare, agentName, slotSpecs, type SlotSpec } from '../../../shared/contract/slots.ts';
import type { ManagerStatus } from '../../../shared/contract/status.ts';
import type { Detail } from '../change.ts';
import { details, item, listed } from '../description.ts';

/** A host whose GPUs and memory its slots share. */
export interface SharedHost {
  /** GPUs that PCI shows. */
  readonly gpus: number;
  readonly memoryMiB: number;
  readonly status: ManagerStatus | undefined;
}

/** One agent in Azure DevOps. */
interface PoolAgent {
  readonly agent: string;
  readonly pool: string;
}

/** The configuration keys that decide the agents. */
type Division = Pick<
  ManagerConfig,
  'host' | 'agentName' | 'pool' | 'agents' | 'share' | 'driverCapabilities'
> & {
  readonly gpus?: number;
};

type SlotConfig = Omit<ManagerConfig, 'schema' | 'credential'>;

/** Returns the agents of a host with `present` GPUs. */
export function agentsOf(config: Division, present: number): readonly PoolAgent[] {
  return slotSpecs(config, present).map(({ name, pool = config.pool }, index) => {
    const host = { name: config.host, agentName: config.agentName };
    return { agent: agentName(host, name ?? String(index)), pool };
  });
}

/** Returns the agents in the manager's status, for a configuration that cannot be read. */
export function agentsNow({ slots, pool }: ManagerStatus): readonly PoolAgent[] {
  return slots.map((each) => ({ agent: each.agent, pool: each.pool ?? pool.name }));
}

/** Describes by name the agents that are registered, those that change pools, and those that are removed. Pure. */
export function agentDetails(from: readonly PoolAgent[], to: readonly PoolAgent[]): readonly Detail[] {
  const before = new Map(from.map(({ agent, pool }) => [agent, pool]));
  const after = new Set(to.map(({ agent }) => agent));
  const added = to.filter(({ agent }) => !before.has(agent));
  const removed = from.filter(({ agent }) => !after.has(agent));
  const moved = to.filter(({ agent, pool }) => before.has(agent) && before.get(agent) !== pool);
  const grouped = (agents: readonly PoolAgent[], key: (each: PoolAgent) => string) =>
    [...Map.groupBy(agents, key)].map(
      ([pool, each]) => [pool, listed(each.map(({ agent }) => agent))] as const,
    );
  return [
    ...grouped(added, ({ pool }) => pool).map(([pool, names]): Detail => ({
      marker: 'add',
      text: `registers ${names} in pool ${pool}`,
    })),
    ...grouped(moved, ({ agent, pool }) => `${before.get(agent)} to pool ${pool}`).map(
      ([pools, names]): Detail => ({
        marker: 'change',
        text: `moves ${names} from pool ${pools}`,
        effect: jobsFirst,
      }),
    ),
    ...grouped(removed, ({ pool }) => pool).map(([pool, names]): Detail => ({
      marker: 'remove',
      text: `removes ${names} from pool ${pool}`,
      effect: jobsFirst,
    })),
  ];
}

/** Describes which GPUs each agent gets where agents are set by number. */
export function gpuDetails(from: Division, to: Division, present: number): readonly Detail[] {
  if (from.agents.kind === 'slots' || to.agents.kind === 'slots') return [];
  const [old = '', now = ''] = [from, to].map((config) => listed(slotSpecs(config, present).map(gpuRange)));
  return details(item('GPUs of each agent', old, now));
}

/** Returns a slot's GPUs as `0-3`; they are consecutive where agents are set by number. */
function gpuRange({ gpus }: SlotSpec): string {
  const [first, last] = [gpus[0], gpus.at(-1)];
  if (first === undefined) return 'none';
  return first === last ? String(first) : `${first}-${last}`;
}

/** Describes the memory of slots without an own limit; `from` undefined: a new host. Pure. */
export function memoryDetails(
  from: SlotConfig | undefined,
  to: SlotConfig,
  { gpus, memoryMiB }: SharedHost,
): readonly Detail[] {
  const before = from && sharedMemory(from, gpus, memoryMiB)?.each;
  const after = sharedMemory(to, gpus, memoryMiB);
  if (after === undefined || before === after.each) return [];
  const label = after.some ? 'memory of each agent without its own limit' : 'memory of each agent';
  const text = `${gibText(after.each)} of ${gibText(memoryMiB)}`;
  return details(item(label, before === undefined ? undefined : gibText(before), text));
}

/** Returns the memory share. `some`: other slots have their own limit. Undefined: all have, or the memory is unknown. */
function sharedMemory(
  config: SlotConfig,
  gpus: number,
  memoryMiB: number,
): { readonly each: number; readonly some: boolean } | undefined {
  const specs = slotSpecs(config, gpus);
  const each = memoryShare(memoryMiB, specs.length);
  const own = specs.filter(({ limits }) => (limits.memory ?? config.limits.memory) !== undefined).length;
  return each === undefined || own === specs.length ? undefined : { each, some: own > 0 };
}

const jobsFirst = 'running jobs finish first';

/** Describes which slots that stay move to another image, and which restart for a setting. Pure. */
export function slotDetails(from: SlotConfig, to: SlotConfig, host: SharedHost): readonly Detail[] {
  const [before, after] = [slotsOf(from, host), slotsOf(to, host)];
  const kept = [...after].flatMap(([name, now]) => {
    const old = before.get(name);
    return old === undefined ? [] : [{ name, old, now }];
  });
  const rolls = ({ old, now }: (typeof kept)[number]): boolean =>
    old.image !== undefined && now.image !== undefined && old.image !== now.image;
  const moved = kept.filter(rolls);
  const restarted = kept.filter((slot) => !rolls(slot) && slot.old.settings !== slot.now.settings);
  const line = (slots: typeof kept, verb: string, effect: string): readonly Detail[] =>
    slots.length === 0 ? [] : [{ marker: 'change', text: subject(slots, after.size, verb), effect }];
  const running = kept.length - moved.length - restarted.length;
  return [
    // docs/manager-problems.md: one slot tries an image that has not worked here yet.
    ...line(
      moved,
      'move to a new image',
      moved.length === 1 ? jobsFirst : `one slot first, the others once it works; ${jobsFirst}`,
    ),
    ...line(restarted, 'restart', jobsFirst),
    // Capabilities are written to registered agents; those that restart get them anyway.
    ...(running === 0 || stableJson(from.capabilities) === stableJson(to.capabilities)
      ? []
      : [
          {
            marker: 'change' as const,
            text: 'agents publish their capabilities within a minute, without a restart',
          },
        ]),
  ];
}

/** Returns `all slots restart`, `slot 0 restarts` or `slots 0, 1 restart`. */
function subject(slots: readonly { readonly name: string }[], all: number, verb: string): string {
  if (slots.length === all && all > 1) return `all slots ${verb}`;
  const names = listed(slots.map(({ name }) => name));
  return slots.length === 1 ? `slot ${names} ${verb.replace(/^\w+/, '$&s')}` : `slots ${names} ${verb}`;
}

interface SlotParts {
  /** Undefined: the slot runs directly on the host. */
  readonly image: string | undefined;
  readonly settings: string;
}

/** Returns the image and settings of each slot: the parts of the manager's own fingerprint, without names and pools. */
function slotsOf(
  config: SlotConfig,
  { gpus: present, memoryMiB }: SharedHost,
): ReadonlyMap<string, SlotParts> {
  const { organization, datasets, jobs, proxy } = config;
  const specs = slotSpecs(config, present);
  const memory = memoryShare(memoryMiB, specs.length);
  return new Map(
    specs.map((spec, index): [string, SlotParts] => {
      const { name = String(index), gpus, capabilities, mode } = spec;
      const limits = { memory, ...config.limits, ...spec.limits };
      const common = [gpus, capabilities, mode, limits, organization, datasets, jobs, proxy];
      if (mode === 'host')
        return [name, { image: undefined, settings: stableJson([common, agentVersion(config)]) }];
      const image = stableJson(imageParts(config, imageOf(config, spec)));
      return [name, { image, settings: stableJson([...common, index]) }];
    }),
  );
}

/** Returns the parts of an image's tag. */
function imageParts(config: SlotConfig, image: ImageConfig): unknown {
  if (image.kind === 'registry') return image.reference;
  const { top, ...rest } = image;
  return { ...rest, top: top?.folder, name: top?.name, jobs: config.jobs, graphics: needsGraphics(config) };
}

/** Returns the agent version of a slot with `mode: host`. */
function agentVersion({ image }: SlotConfig): string {
  return image.kind === 'build' ? image.agentVersion : '';
}
