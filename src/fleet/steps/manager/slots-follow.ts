import { stableJson } from '../../../shared/base/digest.ts';
import {
  imageOf,
  wantsGraphics,
  type ImageConfig,
  type ManagerConfig,
} from '../../../shared/contract/config.ts';
import { memoryShare } from '../../../shared/contract/shares.ts';
import { slotSpecs } from '../../../shared/contract/slots.ts';
import type { Detail } from '../change.ts';
import { listed } from '../told/items.ts';
import { knowsNoShares, type SharedHost } from './shares-follow.ts';

type SlotConfig = Omit<ManagerConfig, 'schema' | 'credential'>;

/** What becomes of the slots that stay: which move to another image, which start anew for a setting. Pure. */
export function slotDetails(from: SlotConfig, to: SlotConfig, host: SharedHost): readonly Detail[] {
  const [before, after] = [slotsOf(from, host, knowsNoShares(host.status)), slotsOf(to, host, false)];
  const kept = [...after].flatMap(([name, now]) => {
    const old = before.get(name);
    return old === undefined ? [] : [{ name, old, now }];
  });
  const rolls = ({ old, now }: (typeof kept)[number]): boolean =>
    old.image !== undefined && now.image !== undefined && old.image !== now.image;
  const moved = kept.filter(rolls);
  const restarted = kept.filter((slot) => !rolls(slot) && slot.old.settings !== slot.now.settings);
  const subject = (names: readonly { name: string }[], many: string, one: string): string =>
    names.length === after.size && names.length > 1
      ? `all slots ${many}`
      : names.length === 1
        ? `slot ${names[0]?.name} ${one}`
        : `slots ${listed(names.map(({ name }) => name))} ${many}`;
  return [
    ...told(
      moved,
      () => subject(moved, 'move to a new image', 'moves to a new image'),
      imageEffect(moved.length),
    ),
    ...told(restarted, () => subject(restarted, 'start anew for this', 'starts anew for this'), jobsFirst),
    ...publishes(from, to, kept.length - moved.length - restarted.length),
  ];
}

const jobsFirst = 'a running job ends first';

/** docs/manager.md: an image on which nothing has listened yet is tried by one slot. */
function imageEffect(slots: number): string {
  return slots === 1 ? jobsFirst : 'one first, the others once it works; running jobs end first';
}

function told(slots: readonly unknown[], text: () => string, effect: string): readonly Detail[] {
  return slots.length === 0 ? [] : [{ marker: 'change', text: text(), effect }];
}

/** User capabilities are written to agents as they are; those that start anew have them anyway. */
function publishes(from: SlotConfig, to: SlotConfig, running: number): readonly Detail[] {
  if (running === 0 || stableJson(from.capabilities) === stableJson(to.capabilities)) return [];
  return [{ marker: 'change', text: 'agents publish their capabilities within a minute, without a restart' }];
}

interface Made {
  /** Undefined: it runs straight on the host. */
  readonly image: string | undefined;
  readonly settings: string;
}

/** What the runs of each slot are made of: the parts of the manager's own fingerprint, but for names and pools. */
function slotsOf(
  config: SlotConfig,
  { gpus: present, memoryMiB }: SharedHost,
  withoutShares: boolean,
): ReadonlyMap<string, Made> {
  const { organization, datasets, jobs, proxy } = config;
  const specs = slotSpecs(config, present);
  const memory = withoutShares ? undefined : memoryShare(memoryMiB, specs.length);
  return new Map(
    specs.map((spec, index): [string, Made] => {
      const { name = String(index), gpus, capabilities, mode } = spec;
      const limits = { memory, ...config.limits, ...spec.limits };
      const common = [gpus, capabilities, mode, limits, organization, datasets, jobs, proxy];
      // Such a manager gave all containers one uid.
      const own = mode === 'host' ? common : [...common, withoutShares ? undefined : index];
      const source = imageOf(config, spec);
      return mode === 'host'
        ? [name, { image: undefined, settings: stableJson([own, programOf(config)]) }]
        : [name, { image: stableJson(imageParts(config, source)), settings: stableJson(own) }];
    }),
  );
}

/** What goes into an image, and so into its tag. */
function imageParts(config: SlotConfig, image: ImageConfig): unknown {
  if (image.kind === 'registry') return image.reference;
  const { top, ...rest } = image;
  return { ...rest, top: top?.folder, name: top?.name, jobs: config.jobs, graphics: wantsGraphics(config) };
}

/** The agent of a slot straight on the host. */
function programOf({ image }: SlotConfig): string {
  return image.kind === 'build' ? image.agentVersion : '';
}
