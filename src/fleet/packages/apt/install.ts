import { Raw, sh } from '../../../shared/base/shell.ts';
import { proxyExports, unforeseenNames } from '../shell.ts';
import type { Bound } from '../simulation.ts';
import type { Transaction, WantedVersion } from '../transaction.ts';
import { aptPrelude, consequenceFilters } from './prelude.ts';
import { sourceFile, switchOffSources } from './source.ts';

/** Unhold, look at what would go, install exactly, confirm, hold. Holds come back whatever happens in between. */
export function installScript(transaction: Transaction, bound?: Bound): string {
  const { vendor, without, packages, siblings, variants, formerly = variants } = transaction;
  const { remove, proxy, before, after } = transaction;
  const names = packages.map(({ name }) => name);
  const related = relatives(names, siblings, formerly);
  const opening = [...proxyExports(proxy), aptPrelude, consequenceFilters, guard(transaction, bound)];
  const lists = sh`update ${vendor === undefined ? '' : sourceFile(vendor)}`;
  if (packages.length === 0) return [...opening, lists, before, after].filter(Boolean).join('\n');
  return [
    ...opening,
    '# Package names hold no blanks, and are meant to be split.',
    '# shellcheck disable=SC2046',
    sh`hold_all() { hold ${names} ${related}; }`,
    ...(without === undefined ? [] : [switchOffSources(without)]),
    lists,
    'trap hold_all EXIT',
    '# shellcheck disable=SC2046',
    sh`apt-mark unhold ${[...names, ...remove]} ${related} >/dev/null 2>&1 || :`,
    ...(before === undefined ? [] : [before]),
    ...requestLines(transaction),
    'guard "$@"',
    'apt "$@"',
    ...packages.flatMap(({ name, version }) =>
      version === undefined ? [] : [sh`confirm ${name} ${prefix(version)}`],
    ),
    ...(without === undefined || remove.length === 0 ? [] : [unpin(remove)]),
    'hold_all',
    'trap - EXIT',
    ...(after === undefined ? [] : [after]),
  ].join('\n');
}

/** The pins of a package that went are settings, and stay: they would go on to prefer what is read no more. */
function unpin(names: readonly string[]): string {
  return sh`unpin() {
  for name in "$@"; do
    if [ -n "$(left "$name")" ] && dpkg-query -L "$name" | grep -q '^/etc/apt/preferences\.d/'; then
      wait_for_lock
      dpkg --purge "$name"
    fi
  done
}
unpin ${names}`;
}

/** The same holds for packages that are there already. */
export function holdScript(names: readonly string[], siblings: readonly string[] = []): string {
  const split = siblings.length === 0 ? [] : ['# shellcheck disable=SC2046'];
  return [aptPrelude, ...split, sh`hold ${names} ${relatives(names, siblings)}`.trimEnd()].join('\n');
}

/**
 * Shell functions. `guard` ends the script where apt would do more than was announced: it resolves a conflict by
 * removing, and follows a pin to an older version. What cannot be resolved, apt says itself. `bring` and `pin` install
 * what has to be there before; the pins of what a new one has pushed out are settings that stay, and would go on to hold.
 * `source_added FILE COMPONENTS` says what of the system's own archive is read from now on.
 */
function guard({ remove, mayRemove }: Transaction, bound: Bound | undefined): string {
  const removes = bound?.removes ?? [...new Set([...remove, ...mayRemove])];
  const next =
    bound === undefined
      ? 'remove them by hand if nothing needs them, or leave this host out, and run again'
      : 'run it again, to see the plan as it is now and agree to it';
  return [
    'guard() {',
    '  answer=$(apt_get -s "$@" 2>/dev/null) || :',
    stop('removals', removes, 'apt would also remove other packages', 'go', next),
    ...(bound === undefined
      ? []
      : [stop('downgrades', bound.downgrades, 'apt would also downgrade other packages', 'get older', next)]),
    '}',
    'bring() {',
    '  guard install "$@"',
    '  apt install "$@"',
    '}',
    'pin() {',
    '  bring "$@"',
    '  for name in $(left "${1%-*}-*"); do',
    '    wait_for_lock',
    '    dpkg --purge "$name"',
    '  done',
    '}',
    'source_added() {',
    '  echo "added $1:$2"',
    '}',
  ].join('\n');
}

function stop(filter: string, foreseen: readonly string[], what: string, may: string, next: string): string {
  const expected = foreseen.length === 0 ? `none may ${may}` : `only ${foreseen.join(', ')} may ${may}`;
  const beyond = foreseen.length === 0 ? filter : `${filter} | ${sh`unforeseen ${foreseen}`}`;
  return sh`  unforeseen=$(printf '%s\n' "$answer" | ${new Raw(beyond)} | tr '\n' ' ')
  [ -z "$unforeseen" ] || fail ${what} ${expected} "$unforeseen" ${next}`;
}

/**
 * Shell lines that make `"$@"` what apt-get is asked for, and `$version` what was chosen last. They need `choose`,
 * `beside`, `offered` and `at`. What has been brought with another version of the first package comes along: apt would not go back
 * to an older one of what was not named, and takes away what does not fit.
 */
export function requestLines({
  packages,
  sameVersion = false,
  optional = [],
  beside = [],
  siblings = [],
  variants,
  formerly = variants,
  remove,
}: Transaction): string[] {
  const away = remove.map((name) => `${name}-`);
  const names = packages.map(({ name }) => name);
  const others = relatives(names, siblings, formerly);
  return [
    'set --',
    ...packages.map(({ name, version }, index) => {
      if (version === undefined) return sh`set -- "$@" ${name}`;
      if (sameVersion && index > 0) return sh`beside ${name}; set -- "$@" ${name}="$beside"`;
      return sh`choose ${name} ${prefix(version)}; set -- "$@" ${name}="$version"`;
    }),
    ...optional.map(
      (name) => sh`if offered ${name} | grep -qxF "$version"; then set -- "$@" ${name}="$version"; fi`,
    ),
    ...beside.map(
      ({ name, branch }) =>
        sh`beside=$(newest ${name} ${`${branch}.`}); if [ -n "$beside" ]; then set -- "$@" ${name}="$beside"; fi`,
    ),
    ...(siblings.length === 0
      ? []
      : [
          '# Package names hold no blanks, and are meant to be split.',
          '# shellcheck disable=SC2046',
          sh`for name in $(at "$version" ${[...names, ...optional, ...beside.map(({ name }) => name), ...remove].join(' ')} ${others}); do set -- "$@" "$name=$version"; done`,
        ]),
    sh`set -- install --allow-downgrades "$@" ${away}`.trimEnd(),
  ];
}

/**
 * Shell text for the packages that are held together with the first one, where they have its version. `formerly`: of
 * whatever it was called before, too, so that what was held with another branch can go with it.
 */
export function relatives(
  [first = '']: readonly string[],
  siblings: readonly string[] = [],
  formerly: readonly string[] = [first],
): Raw {
  if (siblings.length === 0) return new Raw('');
  return new Raw(formerly.map((name) => sh`$(siblings ${[name, ...siblings]})`).join(' '));
}

/** `29.7.2-`, which no other release begins with; `580.`, which every release of the branch does. */
function prefix(version: WantedVersion): string {
  return 'release' in version ? `${version.release}-` : `${version.branch}.`;
}

/** Lets packages be upgraded again; those that are not there, or not held, do not matter. */
export function unholdScript(names: readonly string[]): string {
  return [aptPrelude, 'wait_for_lock', sh`apt-mark unhold ${names} >/dev/null`].join('\n');
}

/**
 * apt takes what leans on a package along with it: looked at before, and refused, with all holds as they are. A package that pins others is purged: its
 * pin is configuration to dpkg, and would go on to hold. What no source offers is unknown to apt once it is purged.
 */
export function removeScript(names: readonly string[], before?: string): string {
  return [
    aptPrelude,
    unforeseenNames,
    consequenceFilters,
    'wait_for_lock',
    'mend',
    sh`answer=$(apt_get -s --allow-change-held-packages remove ${names} 2>&1) ||
  fail 'apt cannot take the packages away' 'a transaction that apt can do' "$answer" 'mend the packages of the host (apt-get -f install), and run again'
unforeseen=$(printf '%s\n' "$answer" | removals | unforeseen ${names} | tr '\n' ' ')
[ -z "$unforeseen" ] || fail 'apt would also remove other packages' ${`only ${names.join(', ')} go`} "$unforeseen" \
  'remove them by hand if nothing needs them, and run again'`,
    ...(before === undefined ? [] : [before]),
    sh`apt-mark unhold ${names} >/dev/null 2>&1 || :
pins='' others=''
set -- ${names}
for name; do
  if dpkg-query -L "$name" 2>/dev/null | grep -q /etc/apt/preferences.d/.; then pins="$pins $name"; else others="$others $name"; fi
done
# Package names hold no blanks, and are meant to be split.
# shellcheck disable=SC2086
if [ -n "$pins" ]; then apt purge $pins; fi
# shellcheck disable=SC2086
if [ -n "$others" ]; then apt remove $others; fi`,
  ].join('\n');
}
