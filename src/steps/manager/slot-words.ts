import type { Agents, SlotLimits, SlotSpec } from '../../contract/slots.ts';
import { item, itemsByName, listed, type Item } from '../told/items.ts';

const onTheHost = 'its jobs run straight on this host, without a container';

/** `agents:` as the inventory has it; a list of slots is told slot by slot. */
export function agentItems(from: Agents | undefined, to: Agents | undefined): readonly Item[] {
  if (from?.kind === 'slots' && to?.kind === 'slots')
    return itemsByName(slotsByName(from.slots), slotsByName(to.slots), slotItems);
  const added = to?.kind === 'slots' ? slotsByName(to.slots) : new Map<string, SlotSpec>();
  return [
    ...item('agents', from && agentsText(from), to && agentsText(to)),
    ...itemsByName(new Map<string, SlotSpec>(), added, slotItems),
  ];
}

export function limitItems(key: string, from: SlotLimits = {}, to: SlotLimits = {}): readonly Item[] {
  return itemsByName(entries(from), entries(to), (name, old, now) => item(`${key}.${name}`, old, now));
}

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

function slotItems(name: string, old: SlotSpec | undefined, now: SlotSpec | undefined): readonly Item[] {
  const key = `slot ${name}`;
  if (old === undefined || now === undefined)
    return item(
      key,
      old && slotText(old),
      now && slotText(now),
      now?.mode === 'host' ? onTheHost : undefined,
    );
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
    ...item(`${key} image`, old.image, now.image),
  ];
}

function slotText(slot: SlotSpec): string {
  const limits = Object.entries(slot.limits).map(([name, value]) => `${name} ${value}`);
  return [
    slot.gpus.length === 0 ? 'no GPU' : `GPUs ${gpusText(slot)}`,
    ...(slot.share ? ['shared'] : []),
    ...limits,
    ...(slot.mode === 'host' ? ['mode host'] : []),
    ...(slot.pool === undefined ? [] : [`pool ${slot.pool}`]),
    ...(slot.image === undefined ? [] : [`image ${slot.image}`]),
  ].join(', ');
}

function gpusText({ gpus }: SlotSpec): string {
  return gpus.length === 0 ? 'none' : listed(gpus.map(String));
}
