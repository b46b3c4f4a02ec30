import { missingOf, type Libraries, type LibraryNames } from '../../libraries.ts';

/**
 * What .NET, which the agent is made with, loads on Debian and Ubuntu: learn.microsoft.com/dotnet/core/install, "dependencies"
 * of the page of each system. Each under all names of the releases that are supported, the newest first.
 */
const libraries: readonly LibraryNames[] = [
  { what: 'ICU', names: ['libicu78', 'libicu76', 'libicu74', 'libicu72', 'libicu70'] },
  { what: 'OpenSSL', names: ['libssl3t64', 'libssl3'] },
  { what: 'Kerberos', names: ['libgssapi-krb5-2'] },
  { what: 'zlib', names: ['zlib1g'] },
];

export function agentLibraries(packages: Readonly<Record<string, string>>): Libraries {
  return missingOf(libraries, packages);
}
