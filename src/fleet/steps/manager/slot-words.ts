import { configDefaults, type ManagerConfig } from '../../../shared/contract/config.ts';
import { slotSpecs, type Agents, type SlotLimits, type SlotSpec } from '../../../shared/contract/slots.ts';
import { item, itemsByName, listed, type Item } from '../told/items.ts';
import { imageText } from './image-words.ts';
import { cpuEffect } from './shares-follow.ts';

/** Two configurations of one host. */
export interface Around {
  /** As far as the host has one that can be read. */
  readonly before: Partial<ManagerConfig>;
  readonly after: ManagerConfig;
  /** GPUs that PCI shows. */
  readonly gpus: number;
}

const onTheHost = 'its jobs run straight on this host, without a container';

/** `agents:` as the inventory has it; where one of both is a list of slots, it is told slot by slot. */
export function agentItems({ before, after, gpus }: Around): readonly Item[] {
  const [from, to] = [before.agents, after.agents];
  const lists = [from, to].filter((agents) => agents?.kind === 'slots').length;
  const form = lists === 2 ? [] : item('agents', from && agentsText(from), agentsText(to));
  if (lists === 0) return form;
  const old = from === undefined ? [] : slotSpecs({ ...configDefaults, ...before, agents: from }, gpus);
  return [
    ...form,
    ...itemsByName(slotsByName(old), slotsByName(slotSpecs(after, gpus)), slotWords(before, after)),
  ];
}

export function limitItems(key: string, from: SlotLimits = {}, to: SlotLimits = {}): readonly Item[] {
  return itemsByName(entries(from), entries(to), (name, old, now) =>
    item(`${key}.${name}`, old, now, now === undefined ? undefined : limitEffects[name]),
  );
}

const limitEffects: Readonly<Record<string, string>> = {
  cpus: cpuEffect,
  disk: 'where the storage of Docker can; elsewhere status says so',
};

function entries(limits: SlotLimits): ReadonlyMap<string, string | number> {
  return new Map(Object.entries(limits));
}

function agentsText(agents: Agents): string {
  if (agents.kind === 'one-per-gpu') return 'one per GPU';
  if (agents.kind === 'count') return String(agents.count);
  return listed(agents.slots.map((slot, index) => `slot ${slot.name ?? index}`));
}

function slotsByName(slots: readonly SlotSpec[]): ReadonlyMap<string, SlotSpec> {
  return new Map(slots.map((slot, index) => [slot.name ?? String(index), slot]));
}

type SlotWords = (name: string, old: SlotSpec | undefined, now: SlotSpec | undefined) => readonly Item[];

function slotWords(before: Partial<ManagerConfig>, after: ManagerConfig): SlotWords {
  return (name, old, now) => {
    if (old !== undefined && now !== undefined) return changedSlot(name, { old, now }, after);
    const effect = now?.mode === 'host' ? onTheHost : undefined;
    return item(`slot ${name}`, old && slotText(old, before), now && slotText(now, after), effect);
  };
}

function changedSlot(
  name: string,
  { old, now }: { readonly old: SlotSpec; readonly now: SlotSpec },
  { image }: ManagerConfig,
): readonly Item[] {
  const key = `slot ${name}`;
  const hosts = now.image === undefined ? `the image of the host instead: ${imageText(image)}` : undefined;
  return [
    ...item(`${key} gpus`, gpusText(old), gpusText(now)),
    ...item(`${key} share`, old.share, now.share),
    ...limitItems(`${key} limits`, old.limits, now.limits),
    ...item(`${key} capabilities`, old.capabilities.join(', '), now.capabilities.join(', ')),
    ...item(
      `${key} mode`,
      old.mode,
      now.mode,
      now.mode === 'host' ? onTheHost : 'its jobs run in containers',
    ),
    ...item(`${key} pool`, old.pool, now.pool),
    ...item(`${key} image`, old.image, now.image, hosts),
  ];
}

/** Capabilities only where they are not those of the host's other slots. */
function slotText(
  slot: SlotSpec,
  { driverCapabilities = configDefaults.driverCapabilities }: Partial<ManagerConfig>,
): string {
  const capabilities = slot.capabilities.join(', ');
  const limits = Object.entries(slot.limits).map(([name, value]) => `${name} ${value}`);
  return [
    slot.gpus.length === 0 ? 'no GPU' : `GPUs ${gpusText(slot)}`,
    ...(slot.share ? ['shared'] : []),
    ...limits,
    ...(capabilities === driverCapabilities.join(', ') ? [] : [`capabilities ${capabilities}`]),
    ...(slot.mode === 'host' ? ['mode host'] : []),
    ...(slot.pool === undefined ? [] : [`pool ${slot.pool}`]),
    ...(slot.image === undefined ? [] : [`image ${slot.image}`]),
  ].join(', ');
}

function gpusText({ gpus }: SlotSpec): string {
  return gpus.length === 0 ? 'none' : listed(gpus.map(String));
}
