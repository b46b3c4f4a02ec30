import { Raw, sh } from '../../../shared/base/shell.ts';
import { proxyExports, unforeseenNames } from '../shell.ts';
import type { Bound } from '../simulation.ts';
import type { Transaction, WantedVersion } from '../transaction.ts';
import { bringFunctions, consequenceFilters, dnfPrelude, performFunction } from './prelude.ts';
import { sourceFile, sourceFunctions } from './source.ts';

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

/**
 * Shell lines that make `"$@"` what dnf is asked for, `$away` the installed packages that go, and `$version` what was
 * chosen last, without epoch and release.
 */
export function requestLines({
  packages,
  sameVersion = false,
  optional = [],
  remove,
}: Transaction): string[] {
  return [
    'set --',
    'away=',
    ...packages.map(({ name, version }, index) => {
      if (version === undefined) return sh`set -- "$@" ${name}`;
      const choice = sameVersion && index > 0 ? '' : sh`choose ${name} ${prefix(version)}; `;
      return `${choice}${sh`set -- "$@" ${name}-"$version"`}`;
    }),
    ...optional.map(
      (name) => sh`if [ -n "$(newest ${name} "$version-")" ]; then set -- "$@" ${name}-"$version"; fi`,
    ),
    ...remove.map((name) => sh`if [ -n "$(installed ${name})" ]; then away="$away "${name}; fi`),
  ];
}

/** Shell text for the packages that are held together with the first one, where they have its version. */
export function relatives(names: readonly string[], siblings: readonly string[] = []): Raw {
  return new Raw(siblings.length === 0 ? '' : sh`$(siblings ${[names[0] ?? '', ...siblings]})`);
}

/** `29.7.2-`, which no other release begins with; `580.`, which every release of the branch does. */
function prefix(version: WantedVersion): string {
  return 'release' in version ? `${version.release}-` : `${version.branch}.`;
}

/** Lets packages be upgraded again; those that are not locked do not matter. */
export function unholdScript(names: readonly string[]): string {
  return [dnfPrelude, 'wait_for_lock', sh`unlock ${names}`].join('\n');
}

/**
 * dnf takes what leans on a package along with it: looked at before, and refused. No source is asked: one that does not
 * answer keeps nothing from going.
 */
export function removeScript(names: readonly string[], before?: string): string {
  return [
    dnfPrelude,
    unforeseenNames,
    consequenceFilters,
    'settle',
    sh`answer=$(dnf_run --disablerepo='*' --assumeno remove ${names} 2>&1) || :
trouble=$(printf '%s\n' "$answer" | troubles)
[ -z "$trouble" ] || fail 'dnf cannot take the packages away' 'a transaction that dnf can do' "$trouble" \
  'mend the packages of the host (dnf check), and run again'
unforeseen=$(printf '%s\n' "$answer" | removals | unforeseen ${names} | tr '\n' ' ')
[ -z "$unforeseen" ] || fail 'dnf would also remove other packages' ${`only ${names.join(', ')} go`} "$unforeseen" \
  'remove them by hand if nothing needs them, and run again'`,
    ...(before === undefined ? [] : [before]),
    sh`unlock ${names}
dnf_run --disablerepo='*' -y remove ${names}`,
  ].join('\n');
}
