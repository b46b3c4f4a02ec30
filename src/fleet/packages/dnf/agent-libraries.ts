import { missingOf, type Libraries, type LibraryNames } from '../libraries.ts';

/** What .NET, which the agent is made with, loads on Red Hat's systems (learn.microsoft.com/dotnet/core/install/linux-rhel). */
const libraries: readonly LibraryNames[] = [
  { what: 'ICU', names: ['libicu'] },
  { what: 'OpenSSL', names: ['openssl-libs'] },
  { what: 'Kerberos', names: ['krb5-libs'] },
  { what: 'zlib', names: ['zlib-ng-compat', 'zlib'] },
];

export function agentLibraries(packages: Readonly<Record<string, string>>): Libraries {
  return missingOf(libraries, packages);
}
