import { foldNames } from '../../fleet/inventory/fold-names.ts';
import { quote } from '../../shared/base/shell.ts';
import type { Left } from '../run/only-harmless.ts';
import { alike } from './alike.ts';
import { count, wrap } from './lines.ts';

/** Most titles in a line, and most names in a command. */
const mostNamed = 3;
const mostInCommand = 8;

/** Hosts on which the same is left. */
export interface LeftAlike {
  readonly hosts: readonly string[];
  /** `2 changes left: upgrade Docker Engine 28.1.0 to 29.7.2; configure the manager` */
  readonly what: string;
}

/** Returns what is left on each host; hosts with the same are one entry. Pure. */
export function leftAlike(left: readonly Left[]): readonly LeftAlike[] {
  const entries = left.map((each) => ({ host: each.host, value: leftLine(each) }));
  return alike(entries).map(({ hosts, value }) => ({ hosts, what: value }));
}

/** Returns what is left on one host, in one line. Pure. */
export function leftLine({ changes }: Pick<Left, 'changes'>): string {
  const titles = changes.slice(0, mostNamed).map(({ title }) => title);
  const more = changes.length > mostNamed ? [`${changes.length - mostNamed} more`] : [];
  return `${count(changes.length, 'change')} left: ${[...titles, ...more].join('; ')}`;
}

/** Returns the command that makes the changes. */
export function leftCommand(hosts: readonly string[]): string {
  const names = hosts.length > mostInCommand ? [] : hosts.map((host) => ` ${quote(host)}`);
  return `azp-fleet provision${names.join('')}`;
}

/** Returns the end of a run: what is left, and how to make it. Empty: nothing is. */
export function leftText(left: readonly Left[], width: number): string {
  if (left.length === 0) return '';
  const lines = leftAlike(left).flatMap(({ hosts, what }) =>
    wrap(`${foldNames(hosts)}: ${what}`, width, 0, 4),
  );
  const next = `next: ${leftCommand(left.map(({ host }) => host))}`;
  return `${[...lines, ...wrap(next, width, 0, 4)].join('\n')}\n`;
}
