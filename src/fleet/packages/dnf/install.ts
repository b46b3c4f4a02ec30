import { sh } from '../../../shared/base/shell.ts';
import { siblingsOf, versionPrefix, type TransactionParts } from '../scripts.ts';
import { unforeseenNames } from '../shell.ts';
import type { Transaction } from '../transaction.ts';
import type { Vendor } from '../vendors.ts';
import { bringFunctions, consequenceFilters, dnfPrelude, performFunction } from './prelude.ts';
import { keyFile, sourceFile, sourceFunctions } from './source.ts';

export const dnfTransactions: TransactionParts = {
  name: 'dnf',
  functions: [dnfPrelude, unforeseenNames, consequenceFilters, sourceFunctions],
  holdFunctions: [dnfPrelude, consequenceFilters, sourceFunctions, bringFunctions],
  ask: [
    'wait_for_lock',
    'answer=$(request "$@" | dnf_run --assumeno --allowerasing shell 2>&1) || :',
    `trouble=$(printf '%s\\n' "$answer" | troubles)`,
    `[ -z "$trouble" ] || fail 'dnf found no solution' "$*" "$trouble" 'complete the mirror, or check the versionlocks and excludes of the host'`,
  ],
  bring: [bringFunctions, performFunction],
  // `update` settles what an interrupted transaction left.
  complete: [],
  canHold: ['can_hold'],
  sourceFile,
  unhold: (names, relatives) => sh`unlock ${names} ${relatives}`,
  related,
  request: requestLines,
  unpack: unpackFunction,
  perform: 'perform "$@"',
  confirm: ({ name, version }) => [
    sh`confirm ${name} ${version === undefined ? '' : versionPrefix(version)}`,
  ],
  purge: () => [],
};

/**
 * rpm checks the signature by the vendor's key alone, because the next line runs what is in the package. A folder of packages has no
 * vendor: the digests of its packages were checked when they came to the host.
 */
function unpackFunction(vendor: Vendor | undefined): string {
  const check =
    vendor === undefined
      ? ''
      : sh`
  rpmkeys --dbpath "$trial/keys" --import ${keyFile(vendor)}
  words=$(rpmkeys --dbpath "$trial/keys" --checksig "$trial/package.rpm" 2>&1) || :
  case $words in
    *'signatures OK'*) ;;
    *) fail "$wanted is not signed by its vendor" 'signatures OK' "$words" 'check the mirrors in the inventory' ;;
  esac`;
  return `unpack() {
  name=$1 wanted=$1
  for word; do
    case $word in "$name-"[0-9]*) wanted=$word ;; esac
  done
  address=$(dnf_run -q repoquery --location --arch="$(uname -m),noarch" "$wanted" 2>/dev/null | tail -n 1)
  words=$(curl -fsSL --retry 3 --connect-timeout 20 --speed-time 60 --speed-limit 1 -o "$trial/package.rpm" "$address" 2>&1) ||
    fail "\${address:-$wanted} cannot be fetched" 'the package' "$words" \\
      'check the network, the proxy and the mirrors in the inventory, and run again'${check}
  command -v cpio >/dev/null || fail 'cpio is not installed' 'cpio, to look into a package' none 'sudo dnf install cpio'
  rpm2cpio "$trial/package.rpm" >"$trial/package.cpio"
  (cd "$trial/files" && cpio --quiet -idm <../package.cpio)
}`;
}

function related({ packages, siblings }: Transaction) {
  return siblingsOf(
    packages.map(({ name }) => name),
    siblings,
  );
}

/**
 * Returns shell lines that set `"$@"` to the packages to install, `$away` to the installed packages to remove, and `$version` to the version that
 * was chosen last, without epoch and release.
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
      const choice = sameVersion && index > 0 ? '' : sh`choose ${name} ${versionPrefix(version)}; `;
      return `${choice}${sh`set -- "$@" ${name}-"$version"`}`;
    }),
    ...optional.map(
      (name) => sh`if [ -n "$(newest ${name} "$version-")" ]; then set -- "$@" ${name}-"$version"; fi`,
    ),
    ...remove.map((name) => sh`if [ -n "$(installed ${name})" ]; then away="$away "${name}; fi`),
  ];
}

/** Lets packages be upgraded again. Packages that are not locked are ignored. */
export function unholdScript(names: readonly string[]): string {
  return [dnfPrelude, 'wait_for_lock', sh`unlock ${names}`].join('\n');
}

/**
 * Removes packages. dnf would remove what depends on them too: the script checks that first, and stops. It asks no source, so
 * that one that does not answer prevents no removal.
 */
export function removeScript(names: readonly string[], before?: string): string {
  return [
    dnfPrelude,
    unforeseenNames,
    consequenceFilters,
    'settle',
    sh`answer=$(dnf_run --disablerepo='*' --assumeno remove ${names} 2>&1) || :
trouble=$(printf '%s\n' "$answer" | troubles)
[ -z "$trouble" ] || fail 'dnf cannot remove the packages' 'a transaction that dnf can do' "$trouble" \
  'fix the packages of the host (dnf check), and run again'
unforeseen=$(printf '%s\n' "$answer" | removals | unforeseen ${names} | tr '\n' ' ')
[ -z "$unforeseen" ] || fail 'dnf would also remove other packages' ${`only ${names.join(', ')} may be removed`} "$unforeseen" \
  'remove them by hand if nothing needs them, and run again'`,
    ...(before === undefined ? [] : [before]),
    sh`unlock ${names}
dnf_run --disablerepo='*' -y remove ${names}`,
  ].join('\n');
}
