import { Raw, sh } from '../../../shared/base/shell.ts';
import { proxyExports } from '../proxy.ts';
import type { Bound } from '../simulation.ts';
import type { Transaction } from '../transaction.ts';
import { consequenceFilters } from './consequences.ts';
import { sourceFile } from './files.ts';
import { aptPrelude } from './prelude.ts';
import { prefix, relatives, requestLines } from './request.ts';
import { switchOffSources } from './source.ts';

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
