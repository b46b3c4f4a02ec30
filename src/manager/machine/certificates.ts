import { readFile } from 'node:fs/promises';

/** Where systems keep the authorities that they trust, as one file: Debian and Ubuntu, Fedora and its kin, SUSE. */
const systemBundles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/var/lib/ca-certificates/ca-bundle.pem',
];

/**
 * The host's own authorities and the site's, as PEM: programs that are given such a file trust nothing else. Undefined
 * where the site has none. Read at each call, because an update of the host changes its own. Throws when the site's
 * file cannot be read: with the host's alone everything would fail later, and say less.
 */
export async function trustedCertificates(
  { ca }: { readonly ca: boolean },
  siteFile: string,
  system: readonly string[] = systemBundles,
): Promise<string | undefined> {
  if (!ca) return undefined;
  const site = await readFile(siteFile, 'utf8');
  for (const file of system) {
    const own = await readFile(file, 'utf8').catch(() => '');
    if (own !== '') return joined(own, site);
  }
  return joined(site);
}

/** One after the other, each ended by a line break. Pure. */
function joined(...bundles: readonly string[]): string {
  return bundles.map((bundle) => `${bundle.trimEnd()}\n`).join('');
}
