import type { Problem } from '../../shared/base/errors.ts';
import { quote } from '../../shared/base/shell.ts';
import { type HostOutcome, isBad } from '../apply/outcome.ts';
import { foldNames } from '../inventory/fold-names.ts';
import { hasNoWayBack, type PartName } from './parts.ts';

/** An upgrade that ended without success. */
export interface Ended {
  readonly parts: readonly PartName[];
  /** As typed with `--to`. */
  readonly to: string;
  /** The versions before the upgrade, by host and part. */
  readonly was: ReadonlyMap<string, Readonly<Partial<Record<PartName, string>>>>;
  readonly outcomes: readonly HostOutcome[];
  /** The command line of the run. */
  readonly again: string;
}

/**
 * Returns a problem for the hosts that have, or may have, another version than the inventory after an upgrade that did not succeed:
 * what is there, and the way back. Hosts with the same way back are one problem. Pure.
 */
export function leftBehind({ parts, to, was, outcomes, again }: Ended): readonly Problem[] {
  const touched = outcomes.filter(({ changes, untouched, state, interrupted }) => {
    if (changes > 0) return true;
    return (state === 'failed' && untouched !== true) || interrupted?.during === 'change';
  });
  const described = touched.map((outcome) => {
    const before = was.get(outcome.host) ?? {};
    const known = parts.filter((part) => part !== 'manager' && before[part] !== undefined);
    const earlier = known.map((part) => `${part} ${before[part]}`).join(', ');
    return { host: outcome.host, isDone: isDone(outcome), before, known, earlier };
  });
  const alike = Map.groupBy(described, ({ isDone: done, earlier }) => JSON.stringify([done, earlier]));
  return [...alike.values()].flatMap((same): readonly Problem[] => {
    const [first] = same;
    if (first === undefined) return [];
    const hosts = same.map(({ host }) => host);
    return [
      {
        code: 'upgrade.left',
        host: foldNames(hosts),
        step: parts.length === 1 ? (parts[0] === 'agent' ? 'image' : (parts[0] ?? '')) : 'upgrade',
        what: what(first, parts, to),
        next: next(first, hosts, again),
      },
    ];
  });
}

function isDone(outcome: HostOutcome): boolean {
  return (outcome.state === 'changed' || outcome.state === 'ok') && !isBad(outcome);
}

interface Left {
  readonly isDone: boolean;
  readonly before: Readonly<Partial<Record<PartName, string>>>;
  readonly known: readonly PartName[];
  readonly earlier: string;
}

function what({ isDone: done, earlier }: Left, parts: readonly PartName[], to: string): string {
  const upgraded = parts.length === 1 ? `${parts[0]} ${to}` : `all parts at ${to}`;
  const from = earlier === '' ? '' : `, and had ${earlier}`;
  if (done) return `has ${upgraded}${from}; the inventory has its earlier text`;
  if (parts.every((part) => part === 'manager')) return 'the earlier manager runs again';
  return hasNoWayBack(parts)
    ? `may have a part of ${upgraded}${from}; nothing was undone`
    : `is configured for ${upgraded}${from}; its agents keep the earlier image`;
}

function next({ isDone: done, before, known }: Left, hosts: readonly string[], again: string): string {
  const names = hosts.map((host) => quote(host)).join(' ');
  const forward = `${done ? '' : 'fix the cause; '}to continue: ${again}`;
  const back = known.map(
    (part) => `azp-fleet upgrade ${part} ${names} --to ${wayBack(part, before[part] ?? '')}`,
  );
  return back.length === 0 ? forward : `${forward}; to go back (docs/upgrade.md): ${back.join('; ')}`;
}

/** Repositories keep branches of the driver, and not each of its releases. */
function wayBack(part: PartName, version: string): string {
  if (part === 'driver') return version.split('.')[0] ?? version;
  return /^\d+(?:\.\d+)*/.exec(version)?.[0] ?? version;
}
