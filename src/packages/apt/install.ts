import { Raw, sh } from '../../base/shell.ts';
import { proxyExports } from '../proxy.ts';
import type { Transaction, WantedVersion } from '../transaction.ts';
import { sourceFile } from './files.ts';
import { aptPrelude } from './prelude.ts';
import { removalFilters } from './removals.ts';

/** Unhold, look at what would go, install exactly, confirm, hold. Holds come back whatever happens in between. */
export function installScript({
  vendor,
  packages,
  sameVersion = false,
  siblings = [],
  remove,
  mayRemove,
  optional = [],
  proxy,
  before,
  after,
}: Transaction): string {
  const names = packages.map(({ name }) => name);
  const related = relatives(names, siblings);
  const away = remove.map((name) => `${name}-`);
  return [
    ...proxyExports(proxy),
    aptPrelude,
    removalFilters,
    '# Package names hold no blanks, and are meant to be split.',
    '# shellcheck disable=SC2046',
    sh`hold_all() { hold ${names} ${related}; }`,
    sh`update ${sourceFile(vendor)}`,
    'trap hold_all EXIT',
    '# shellcheck disable=SC2046',
    sh`apt-mark unhold ${[...names, ...remove]} ${related} >/dev/null 2>&1 || :`,
    ...(before === undefined ? [] : [before]),
    'set --',
    ...packages.map(({ name, version }, index) => {
      if (version === undefined) return sh`set -- "$@" ${name}`;
      const choice = sameVersion && index > 0 ? '' : sh`choose ${name} ${prefix(version)}; `;
      return `${choice}${sh`set -- "$@" ${name}="$version"`}`;
    }),
    ...optional.map(
      (name) => sh`if offered ${name} | grep -qxF "$version"; then set -- "$@" ${name}="$version"; fi`,
    ),
    sh`set -- install --allow-downgrades "$@" ${away}`.trimEnd(),
    guard([...new Set([...remove, ...mayRemove])]),
    'apt "$@"',
    ...packages.flatMap(({ name, version }) =>
      version === undefined ? [] : [sh`confirm ${name} ${prefix(version)}`],
    ),
    'hold_all',
    'trap - EXIT',
    ...(after === undefined ? [] : [after]),
  ].join('\n');
}

/** The same holds for packages that are there already. */
export function holdScript(names: readonly string[], siblings: readonly string[] = []): string {
  const split = siblings.length === 0 ? [] : ['# shellcheck disable=SC2046'];
  return [aptPrelude, ...split, sh`hold ${names} ${relatives(names, siblings)}`.trimEnd()].join('\n');
}

function relatives(names: readonly string[], siblings: readonly string[]): Raw {
  return new Raw(siblings.length === 0 ? '' : sh`$(siblings ${[names[0] ?? '', ...siblings]})`);
}

/** `29.7.2-`, which no other release begins with; `580.`, which every release of the branch does. */
function prefix(version: WantedVersion): string {
  return 'release' in version ? `${version.release}-` : `${version.branch}.`;
}

/** apt resolves a conflict by removing; only what is replaced may go. What cannot be resolved, apt says itself. */
function guard(foreseen: readonly string[]): string {
  return sh`unforeseen=$(apt_get -s "$@" 2>/dev/null | removals | unforeseen ${foreseen} | tr '\n' ' ')
[ -z "$unforeseen" ] || fail 'apt would also remove other packages' ${
    foreseen.length === 0 ? 'nothing is removed' : `only ${foreseen.join(', ')} may go`
  } "$unforeseen" 'remove them by hand if nothing needs them, or leave this host out, and run again'`;
}
