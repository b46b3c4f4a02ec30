import { sh } from '../../../base/shell.ts';
import type { Libraries } from '../../libraries.ts';

/**
 * What .NET, which the agent is made with, loads on Debian and Ubuntu: learn.microsoft.com/dotnet/core/install, "dependencies"
 * of the page of each system. Each under all names of the releases that are supported, the newest first.
 */
const libraries: readonly { readonly what: string; readonly names: readonly string[] }[] = [
  { what: 'ICU', names: ['libicu78', 'libicu76', 'libicu74', 'libicu72', 'libicu70'] },
  { what: 'OpenSSL', names: ['libssl3t64', 'libssl3'] },
  { what: 'Kerberos', names: ['libgssapi-krb5-2'] },
  { what: 'zlib', names: ['zlib1g'] },
];

export function agentLibraries(packages: Readonly<Record<string, string>>): Libraries {
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
