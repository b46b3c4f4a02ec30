import { sh } from '../../shared/base/shell.ts';

/** What a program needs of the system's libraries and does not find. */
export interface Libraries {
  /** In words: `ICU`. None: all are there. */
  readonly missing: readonly string[];
  /** Shell text for `before` of a transaction that brings them. It says what no source offers. */
  readonly script: string;
}

/** One library, under all names that it has on the systems of a family, the newest first. */
export interface LibraryNames {
  readonly what: string;
  readonly names: readonly string[];
}

export function missingOf(
  libraries: readonly LibraryNames[],
  packages: Readonly<Record<string, string>>,
): Libraries {
  const missing = libraries.filter(({ names }) => names.every((name) => packages[name] === undefined));
  if (missing.length === 0) return { missing: [], script: '' };
  return {
    missing: missing.map(({ what }) => what),
    script: [functions, ...missing.map(({ what, names }) => sh`first ${what} ${names}`), finish].join('\n'),
  };
}

/** Shell function `first WHAT NAME…`: the first of them that is offered is put on the list in `$libraries`. */
const functions = `libraries=
first() {
  what=$1
  shift
  for name in "$@"; do
    if [ -n "$(offered "$name")" ]; then
      libraries="$libraries $name"
      return
    fi
  done
  fail "no package source offers $what for agents on the host" "one of $*" 'none' 'complete the mirror'
}`;

const finish = `# Package names hold no blanks, and are meant to be split.
# shellcheck disable=SC2086
bring $libraries`;
