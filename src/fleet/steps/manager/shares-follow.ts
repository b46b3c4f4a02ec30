import { gibText, memoryShare } from '../../../shared/contract/shares.ts';
import { slotSpecs } from '../../../shared/contract/slots.ts';
import type { ManagerConfig } from '../../../shared/contract/config.ts';
import type { ManagerStatus } from '../../../shared/contract/status.ts';
import type { Detail } from '../change.ts';
import { itemDetail } from '../told/items.ts';
import type { Division } from './agents-follow.ts';

/** A host as far as its slots share it. */
export interface SharedHost {
  /** GPUs that PCI shows. */
  readonly gpus: number;
  readonly memoryMiB: number;
  readonly status: ManagerStatus | undefined;
}

/** What `limits.cpus` is. */
export const cpuEffect = 'counts when all want theirs; what nobody wants is anybody’s';

type Limited = Division & Pick<ManagerConfig, 'limits'>;

/** The manager that runs there limits no memory of slots that name no limit: it is of the release before. */
export function knowsNoShares(status: ManagerStatus | undefined): boolean {
  return (
    status !== undefined && status.slots.length > 0 && status.slots.every(({ share }) => share === undefined)
  );
}

/** What each slot may use of the host, before and after; of limits that are written out their keys tell. Pure. */
export function shareDetails(from: Limited | 'new', to: Limited, host: SharedHost): readonly Detail[] {
  const { gpus, memoryMiB, status } = host;
  const isOlder = knowsNoShares(status);
  const before = from === 'new' || isOlder ? undefined : sharesIn(from, gpus, memoryMiB)?.each;
  const after = sharesIn(to, gpus, memoryMiB);
  const key =
    after?.some === true ? 'memory of each agent without a limit of its own' : 'memory of each agent';
  const was = before === undefined ? (isOlder ? 'no limit' : undefined) : gibText(before);
  const memory =
    after === undefined || before === after.each
      ? []
      : [itemDetail({ key, from: was, to: `${gibText(after.each)} of ${gibText(memoryMiB)}` })];
  const cpus = slotSpecs(to, gpus).some(({ limits }) => (limits.cpus ?? to.limits.cpus) !== undefined);
  return isOlder && cpus
    ? [...memory, itemDetail({ key: 'limits.cpus', from: 'a cap', to: 'a share', effect: cpuEffect })]
    : memory;
}

/** `some`: others have a limit of their own. Undefined: all have, or the host does not tell its memory. */
function sharesIn(
  config: Limited,
  gpus: number,
  memoryMiB: number,
): { readonly each: number; readonly some: boolean } | undefined {
  const specs = slotSpecs(config, gpus);
  const each = memoryShare(memoryMiB, specs.length);
  const own = specs.filter(({ limits }) => (limits.memory ?? config.limits.memory) !== undefined).length;
  return each === undefined || own === specs.length ? undefined : { each, some: own > 0 };
}
