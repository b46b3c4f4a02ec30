import { Raw, sh } from '../../../shared/base/shell.ts';
import { proxyExports } from '../proxy.ts';
import { unforeseenNames } from '../shell.ts';
import type { Bound } from '../simulation.ts';
import type { Transaction } from '../transaction.ts';
import { consequenceFilters } from './consequences.ts';
import { bringFunctions, performFunction } from './downloads.ts';
import { sourceFile } from './files.ts';
import { sourceFunctions } from './put-source.ts';
import { dnfPrelude } from './prelude.ts';
import { prefix, relatives, requestLines } from './request.ts';

/**
 * Unlock, look at what would go, install exactly, confirm, lock. Locks come back whatever happens in between. `standIns`: shell
 * functions in the place of those that bring things.
 */
export function installScript(
  transaction: Transaction,
  bound?: Bound,
  ...standIns: readonly string[]
): string {
  const { vendor, packages, siblings, remove, proxy, before, after } = transaction;
  const names = packages.map(({ name }) => name);
  const related = relatives(names, siblings);
  const opening = [
    ...proxyExports(proxy),
    dnfPrelude,
    unforeseenNames,
    consequenceFilters,
    sourceFunctions,
    guard(transaction, bound),
    ...standIns,
  ];
  const lists = sh`update ${vendor === undefined ? '' : sourceFile(vendor)}`;
  if (packages.length === 0) return [...opening, lists, before, after].filter(Boolean).join('\n');
  return [
    ...opening,
    '# Package names hold no blanks, and are meant to be split.',
    '# shellcheck disable=SC2046',
    sh`hold_all() { hold ${names} ${related}; }`,
    lists,
    'can_hold',
    'trap hold_all EXIT',
    '# shellcheck disable=SC2046',
    sh`unlock ${[...names, ...remove]} ${related}`,
    ...(before === undefined ? [] : [before]),
    ...requestLines(transaction),
    'guard "$@"',
    'perform "$@"',
    ...packages.map(
      ({ name, version }) => sh`confirm ${name} ${version === undefined ? '' : prefix(version)}`,
    ),
    'hold_all',
    'trap - EXIT',
    ...(after === undefined ? [] : [after]),
  ].join('\n');
}

/** The same locks for packages that are there already. */
export function holdScript(names: readonly string[], siblings: readonly string[] = []): string {
  const split = siblings.length === 0 ? [] : ['# shellcheck disable=SC2046'];
  return [
    dnfPrelude,
    consequenceFilters,
    sourceFunctions,
    bringFunctions,
    'can_hold',
    ...split,
    sh`hold ${names} ${relatives(names, siblings)}`.trimEnd(),
  ].join('\n');
}

/** Shell functions. `guard` ends the script where dnf cannot do it, or would do more than was announced. `perform` does it. */
function guard({ remove, mayRemove }: Transaction, bound: Bound | undefined): string {
  const removes = bound?.removes ?? [...new Set([...remove, ...mayRemove])];
  const next =
    bound === undefined
      ? 'remove them by hand if nothing needs them, or leave this host out, and run again'
      : 'run it again, to see the plan as it is now and agree to it';
  return [
    'guard() {',
    '  wait_for_lock',
    '  answer=$(request "$@" | dnf_run --assumeno --allowerasing shell 2>&1) || :',
    `  trouble=$(printf '%s\\n' "$answer" | troubles)`,
    `  [ -z "$trouble" ] || fail 'dnf finds no way' "$*" "$trouble" 'complete the mirror, or look at the versionlocks and excludes of the host'`,
    stop('removals', removes, 'dnf would also remove other packages', 'go', next),
    ...(bound === undefined
      ? []
      : [stop('downgrades', bound.downgrades, 'dnf would also downgrade other packages', 'get older', next)]),
    '}',
    bringFunctions,
    performFunction,
  ].join('\n');
}

function stop(filter: string, foreseen: readonly string[], what: string, may: string, next: string): string {
  const expected = foreseen.length === 0 ? `none may ${may}` : `only ${foreseen.join(', ')} may ${may}`;
  const beyond = foreseen.length === 0 ? filter : `${filter} | ${sh`unforeseen ${foreseen}`}`;
  return sh`  unforeseen=$(printf '%s\n' "$answer" | ${new Raw(beyond)} | tr '\n' ' ')
  [ -z "$unforeseen" ] || fail ${what} ${expected} "$unforeseen" ${next}`;
}
