import { foldNames } from '../../../fleet/inventory/fold-names.ts';
import { count } from '../inventory.ts';

/** Characters: beside a longer one nothing else would fit. */
const longest = 40;

/** How a group of hosts is called before what is said of them. */
export interface HostLabel {
  /** `gpu-[000-299]`, or `17 hosts`. */
  readonly label: string;
  /** Their names, where the label has only their number. */
  readonly names?: string;
}

export function hostLabel(hosts: readonly string[]): HostLabel {
  const names = foldNames(hosts);
  return names.length <= longest || hosts.length === 1
    ? { label: names }
    : { label: count(hosts.length, 'host'), names };
}
