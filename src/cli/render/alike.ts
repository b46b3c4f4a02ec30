import { isIP } from 'node:net';

import { foldNames } from '../../fleet/inventory/fold-names.ts';
import { foreignValue } from '../../shared/base/foreign-text.ts';
import { count } from './lines.ts';

interface HostValue<T> {
  readonly host: string;
  readonly value: T;
}

/** An equal value of one or more hosts. */
interface Alike<T> {
  /** At least one, without duplicates. */
  readonly hosts: readonly string[];
  /** For several hosts, `{host}` replaces the host's own name, and `{address}` the addresses that differ. */
  readonly value: T;
}

/**
 * Groups the hosts with equal values, in the order of the first occurrence. `T` is a JSON value with only the texts
 * that are shown, so that nothing else differs between hosts.
 */
export function alike<T>(values: readonly HostValue<T>[]): readonly Alike<T>[] {
  const groups = Map.groupBy(values, ({ host, value }) => signature(host, value));
  return [...groups.values()].map((group) => {
    const [first] = group as [HostValue<T>, ...HostValue<T>[]];
    const hosts = [...new Set(group.map(({ host }) => host))];
    if (hosts.length === 1) return { hosts, value: first.value };
    const named = group.map(({ host, value }) => withoutOwnName(host, value));
    const texts = new Set(named.map((value) => JSON.stringify(value)));
    const value = withoutOwnName(first.host, first.value);
    return { hosts, value: texts.size === 1 ? value : withoutAddresses(value) };
  });
}

/** Returns a key that is equal for values with equal texts. */
export function signature(host: string, value: unknown): string {
  return JSON.stringify(withoutAddresses(withoutOwnName(host, value)));
}

/** Matches possible addresses: four numbers, or hexadecimal numbers between colons. */
const addresses = /(?<![\w.:])(?:\d+(?:\.\d+){3}(?!\.?\w|[~+-])|[\da-f]*:[\da-f:]+(?![\w.]))/gi;

function withoutAddresses<T>(value: T): T {
  const shown = (found: string) => (isIP(found) === 0 ? found : '{address}');
  return foreignValue(value, (text) => text.replaceAll(addresses, shown));
}

/** Replaces the host's name by `{host}` in all texts of a value, also at the start of agent names. */
export function withoutOwnName<T>(host: string, value: T): T {
  const escaped = host.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const own = new RegExp(`(?<![\\w.-])${escaped}(?!\\w)`, 'g');
  return foreignValue(value, (text) => text.replaceAll(own, '{host}'));
}

/** Longest label, in characters: a longer one would leave no space for the text. */
const longest = 40;

/** The label of a group of hosts at the start of a line. */
export interface HostLabel {
  /** `gpu-[000-299]`, or `17 hosts`. */
  readonly label: string;
  /** Their names, if the label shows only their number. */
  readonly names?: string;
}

export function hostLabel(hosts: readonly string[]): HostLabel {
  const names = foldNames(hosts);
  return names.length <= longest || hosts.length === 1
    ? { label: names }
    : { label: count(hosts.length, 'host'), names };
}
