import { Raw, sh } from '../../../shared/base/shell.ts';
import { siblingsOf, splitting, versionPrefix, type TransactionParts } from '../scripts.ts';
import { unforeseenNames } from '../shell.ts';
import type { Transaction } from '../transaction.ts';
import { aptPrelude, consequenceFilters } from './prelude.ts';
import { sourceFile, switchOffSources } from './source.ts';

/**
 * `bring` and `pin` install packages that must be there first. `pin` purges the pinning packages that a new one replaces: their pins
 * are settings, which stay in effect after a removal; `$purged` names what it purged. `complete_packages` restores the dependencies
 * that are `$lacking`.
 * `release NAME…` removes holds: dpkg's own program tells in a moment which there are, and apt-mark starts apt.
 * `source_added FILE COMPONENTS` names the components of the system's archive that apt reads from now on.
 */
const bringFunctions = `bring() {
  guard install "$@"
  apt install "$@"
}
complete_packages() {
  # Package names hold no blanks, and are meant to be split.
  # shellcheck disable=SC2086
  bring --allow-downgrades $lacking
}
release() {
  # Package names hold no blanks, and are meant to be split.
  # shellcheck disable=SC2046
  set -- $(dpkg-query -W -f='\${db:Status-Want} \${Package}\\n' "$@" 2>/dev/null | sed -n 's/^hold //p')
  if [ "$#" -gt 0 ]; then apt-mark unhold "$@" >/dev/null 2>&1 || :; fi
}
purged=
pin() {
  bring "$@"
  for name in $(left "\${1%-*}-*"); do
    wait_for_lock
    dpkg --purge "$name"
    purged="$purged $name"
  done
}
source_added() {
  echo "added $1:$2"
}`;

/** apt checks the package by the signed lists. */
const unpackFunction = `unpack() {
  name=$1 wanted=$1
  for word; do
    case $word in "$name="*) wanted=$word ;; esac
  done
  words=$(cd "$trial" && apt-get -q download "$wanted" 2>&1) || fail "$wanted cannot be fetched" 'the package' \\
    "$(printf '%s\\n' "$words" | unread | head -n 1)" 'check the network, the proxy and the mirrors in the inventory, and run again'
  dpkg-deb -x "$trial"/*.deb "$trial/files"
}`;

/** apt resolves a conflict by removing, and follows a pin to an older version: `guard` stops both. */
export const aptTransactions: TransactionParts = {
  name: 'apt',
  functions: [aptPrelude, consequenceFilters],
  holdFunctions: [aptPrelude],
  ask: [
    'if ! answer=$(apt_get -s "$@" 2>/dev/null) && incomplete; then',
    '  complete_packages',
    '  "$again" "$@"',
    '  return',
    'fi',
  ],
  bring: [bringFunctions],
  complete: ['if incomplete; then complete_packages; fi'],
  canHold: [],
  sourceFile,
  switchOff: switchOffSources,
  unhold: (names, related) => sh`release ${names} ${related}`.trimEnd(),
  related,
  request: requestLines,
  unpack: () => unpackFunction,
  perform: 'apt "$@"',
  confirm: ({ name, version }) =>
    version === undefined ? [] : [sh`confirm ${name} ${versionPrefix(version)}`],
  purge: ({ without, remove }) => (without === undefined || remove.length === 0 ? [] : [purgePins(remove)]),
};

/** The pins of a removed package are settings and stay: they would prefer packages that apt no longer reads. */
function purgePins(names: readonly string[]): string {
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

/**
 * Returns shell lines that set `"$@"` to the arguments of apt-get. They need `know`, `choose`, `beside`, `offered` and `at`. Siblings that
 * are offered at the version are named too: apt does not downgrade packages that are not named, and removes those that conflict.
 */
export function requestLines(transaction: Transaction): string[] {
  const { packages, sameVersion = false, optional = [], beside = [], siblings = [], remove } = transaction;
  const names = packages.map(({ name }) => name);
  const more = [...optional, ...beside.map(({ name }) => name)];
  const known = [...packages.flatMap(({ name, version }) => (version === undefined ? [] : [name])), ...more];
  return [
    ...(siblings.length > 0
      ? [splitting, '# shellcheck disable=SC2046', sh`know ${known} ${related(transaction)}`]
      : known.length > 0
        ? [sh`know ${known}`]
        : []),
    'set --',
    ...packages.map(({ name, version }, index) => {
      if (version === undefined) return sh`set -- "$@" ${name}`;
      if (sameVersion && index > 0) return sh`beside ${name}; set -- "$@" ${name}="$beside"`;
      return sh`choose ${name} ${versionPrefix(version)}; set -- "$@" ${name}="$version"`;
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
          splitting,
          '# shellcheck disable=SC2046',
          sh`for name in $(at "$version" ${[...names, ...more, ...remove].join(' ')}); do set -- "$@" "$name=$version"; done`,
        ]),
    // apt does not know a purged package that no source offers.
    ...remove.map(
      (name) => sh`case " $purged " in *${` ${name} `}*) ;; *) set -- "$@" ${`${name}-`} ;; esac`,
    ),
    'set -- install --allow-downgrades "$@"',
  ];
}

/** Also unholds packages that were held with the first package under an earlier name, so that they can change with it. */
function related({ packages, siblings, variants, formerly = variants }: Transaction): Raw {
  return siblingsOf(
    packages.map(({ name }) => name),
    siblings,
    formerly,
  );
}

/** Lets packages be upgraded again. Packages that are not installed, or not held, are ignored. */
export function unholdScript(names: readonly string[]): string {
  return [aptPrelude, 'wait_for_lock', sh`apt-mark unhold ${names} >/dev/null`].join('\n');
}

/**
 * Removes packages. apt would remove what depends on them too: the script checks that first, and stops with all holds in
 * place. A package that pins others is purged, because dpkg keeps its pin as configuration. `before` runs after the check:
 * apt no longer knows a package that no source offers once it is purged.
 */
export function removeScript(names: readonly string[], before?: string): string {
  return [
    aptPrelude,
    unforeseenNames,
    consequenceFilters,
    'wait_for_lock',
    'repair',
    'unpack_again',
    sh`answer=$(apt_get -s --allow-change-held-packages remove ${names} 2>&1) ||
  fail 'apt cannot remove the packages' 'a transaction that apt can do' "$answer" 'fix the packages of the host (apt-get -f install), and run again'
unforeseen=$(printf '%s\n' "$answer" | removals | unforeseen ${names} | tr '\n' ' ')
[ -z "$unforeseen" ] || fail 'apt would also remove other packages' ${`only ${names.join(', ')} may be removed`} "$unforeseen" \
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
