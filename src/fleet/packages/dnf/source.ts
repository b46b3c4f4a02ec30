import { quote, sh } from '../../../shared/base/shell.ts';
import type { PackageSource } from '../package-manager.ts';
import { proxyExports } from '../proxy.ts';
import { setAside } from '../set-aside.ts';
import type { Site } from '../site.ts';
import type { System } from '../system.ts';
import { vendors, type Vendor } from '../vendors.ts';
import { keyFile, repositoryId, sourceFile } from './files.ts';
import { layouts } from './layouts.ts';
import { sourceFunctions } from './put-source.ts';
import { dnfPrelude } from './prelude.ts';

/** A source as it has to be. */
export interface SourceParts {
  readonly uri: string;
  readonly file: string;
  readonly keyFile: string;
  readonly text: string;
  /** Extended regular expression: files that match it, or name the URI, are for the same repository. */
  readonly supersedes: string;
  /** Address of the key. */
  readonly key: string;
}

/**
 * Packages are signed, and checked. Lists are not: NVIDIA's signature of the toolkit's does not always fit them
 * (NVIDIA/holodeck). NVIDIA's driver comes as streams of a module on releases 8 and 9; `module_hotfixes` shows all of
 * them, whichever stream is enabled, so that the branch is chosen by its version and kept by locks, as everywhere.
 */
export function sourceParts(vendor: Vendor, system: System, { mirrors }: Pick<Site, 'mirrors'>): SourceParts {
  const { base, mirror, pattern } = vendors[vendor];
  const { uri, key } = layouts[vendor](mirrors[mirror] ?? base, system);
  const [file, keyPath] = [sourceFile(vendor), keyFile(vendor)];
  const text = `# Written by azp-fleet, which writes it again when it differs.
[${repositoryId(vendor)}]
name=${repositoryId(vendor)}
baseurl=${uri}
enabled=1
gpgcheck=1
repo_gpgcheck=0
gpgkey=file://${keyPath}
module_hotfixes=1
`;
  return { uri, file, keyFile: keyPath, text, supersedes: pattern, key };
}

export function dnfSource(vendor: Vendor, system: System, site: Site): PackageSource {
  const parts = sourceParts(vendor, system, site);
  const { file, text, keyFile: key } = parts;
  return {
    file,
    text,
    keyFile: key,
    script: [...proxyExports(site.proxy), dnfPrelude, writeSource(vendor, parts)].join('\n'),
  };
}

/**
 * Writes key and source. Another file for the same repository would offer its
 * packages unfiltered beside ours, and is renamed to what ends in `.disabled`, which dnf passes over.
 */
function writeSource(
  vendor: Vendor,
  { uri, file, keyFile: keyPath, text, supersedes, key }: SourceParts,
): string {
  return `${sh`uri=${uri} file=${file} key_file=${keyPath} supersedes=${supersedes} address=${key}`}
for other in /etc/yum.repos.d/*.repo; do
  if [ ! -e "$other" ] || [ "$other" = "$file" ]; then continue; fi
  if grep -Eq "$supersedes" "$other" || grep -Fq "$uri" "$other"; then
    echo "switching off $other: $file replaces it"
    ${setAside(vendor)}
  fi
done
${sourceFunctions}
bring_key "$address" "$key_file" "$uri"
put_source "$file" ${quote(text)}`;
}
