import { Raw, sh } from '../../../shared/base/shell.ts';
import type { Transaction, WantedVersion } from '../transaction.ts';

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
export function prefix(version: WantedVersion): string {
  return 'release' in version ? `${version.release}-` : `${version.branch}.`;
}
