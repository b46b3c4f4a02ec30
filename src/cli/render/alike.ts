import { isIP } from 'node:net';

import { foldNames } from '../../fleet/inventory/fold-names.ts';
import { foreignValue } from '../../shared/base/foreign-text.ts';
import { count } from './inventory.ts';

interface Said<T> {
  readonly host: string;
  readonly value: T;
}

/** The same of one or more hosts. */
interface Alike<T> {
  /** At least one; each once. */
  readonly hosts: readonly string[];
  /** Of several hosts each one's own name in it is `{host}`, and addresses that tell them apart are `{address}`. */
  readonly value: T;
}

/**
 * What several hosts say in the same words, once, in the order in which it was first said. `T` is what JSON has: the
 * words that are shown, and nothing else that differs from host to host.
 */
export function alike<T>(said: readonly Said<T>[]): readonly Alike<T>[] {
  const groups = Map.groupBy(said, ({ host, value }) => signature(host, value));
  return [...groups.values()].map((group) => {
    const [first] = group as [Said<T>, ...Said<T>[]];
    const hosts = [...new Set(group.map(({ host }) => host))];
    if (hosts.length === 1) return { hosts, value: first.value };
    const named = group.map(({ host, value }) => withoutOwnName(host, value));
    const texts = new Set(named.map((value) => JSON.stringify(value)));
    const value = withoutOwnName(first.host, first.value);
    return { hosts, value: texts.size === 1 ? value : withoutAddresses(value) };
  });
}

/** Equal for what reads the same. */
export function signature(host: string, value: unknown): string {
  return JSON.stringify(withoutAddresses(withoutOwnName(host, value)));
}

/** What may be an address: four numbers, or hexadecimal ones between colons. */
const addresses = /(?<![\w.:])(?:\d+(?:\.\d+){3}(?!\.?\w|[~+-])|[\da-f]*:[\da-f:]+(?![\w.]))/gi;

function withoutAddresses<T>(value: T): T {
  const shown = (found: string) => (isIP(found) === 0 ? found : '{address}');
  return foreignValue(value, (text) => text.replaceAll(addresses, shown));
}

/** A value with `{host}` for the host's name in its texts, and at the beginning of its agents' names. */
export function withoutOwnName<T>(host: string, value: T): T {
  const escaped = host.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const own = new RegExp(`(?<![\\w.-])${escaped}(?!\\w)`, 'g');
  return foreignValue(value, (text) => text.replaceAll(own, '{host}'));
}

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
