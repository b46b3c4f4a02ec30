import { Raw, sh } from '../../../shared/base/shell.ts';
import type { Transaction, WantedVersion } from '../transaction.ts';

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
export function prefix(version: WantedVersion): string {
  return 'release' in version ? `${version.release}-` : `${version.branch}.`;
}
