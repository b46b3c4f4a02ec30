import { quote, Raw, sh } from '../../../shared/base/shell.ts';
import type { PackageSource } from '../package-manager.ts';
import { proxyExports } from '../proxy.ts';
import { setAside } from '../set-aside.ts';
import type { Site } from '../site.ts';
import type { System } from '../system.ts';
import { vendors, type Vendor } from '../vendors.ts';
import { download, needAuthorities } from './download.ts';
import { keyFile, sourceFile } from './files.ts';
import { architectures, layouts } from './layouts.ts';
import { aptPrelude } from './prelude.ts';

/** A source as it has to be. */
export interface SourceParts {
  readonly uri: string;
  readonly file: string;
  readonly keyFile: string;
  readonly text: string;
  /** Extended regular expression: sources that match it, or name the URI, are for the same repository. */
  readonly supersedes: string;
  /** Shell text that puts the key into `$key`, with the folder `$work` and `download`. */
  readonly fetchKey: string;
}

export function sourceParts(vendor: Vendor, system: System, { mirrors }: Pick<Site, 'mirrors'>): SourceParts {
  const { base, mirror, pattern } = vendors[vendor];
  const own = mirrors[mirror];
  const { uri, suite, components, fetchKey } = layouts[vendor](own ?? base, system, own !== undefined);
  const [file, key] = [sourceFile(vendor), keyFile(vendor)];
  const text = `# Written by azp-fleet, which writes it again when it differs.
Types: deb
URIs: ${uri}
Suites: ${suite}
${components === '' ? '' : `Components: ${components}\n`}Architectures: ${architectures[system.machine]}
Signed-By: ${key}
`;
  return { uri, file, keyFile: key, text, supersedes: pattern, fetchKey };
}

export function aptSource(vendor: Vendor, system: System, site: Site): PackageSource {
  const parts = sourceParts(vendor, system, site);
  const { file, text, keyFile } = parts;
  return {
    file,
    text,
    keyFile,
    script: [...proxyExports(site.proxy), aptPrelude, download, writeSource(vendor, parts)].join('\n'),
  };
}

/**
 * Writes key and source. Two source files for one repository with different Signed-By stop all of apt, so others are
 * renamed to what ends in `.disabled`, which apt passes over.
 */
function writeSource(
  vendor: Vendor,
  { uri, file, keyFile, text, supersedes, fetchKey }: SourceParts,
): string {
  return `${sh`uri=${uri} file=${file} key_file=${keyFile} supersedes=${supersedes}`}
case $uri in
  https:*)
    ${needAuthorities} ;;
esac
for other in /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
  if [ ! -e "$other" ] || [ "$other" = "$file" ]; then continue; fi
  if grep -Eq "$supersedes" "$other" || grep -Fq "$uri" "$other"; then
    echo "switching off $other: $file replaces it"
    ${setAside(vendor)}
  fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# apt downloads as a user of its own.
chmod 755 "$work"
if id _apt >/dev/null 2>&1; then chown _apt "$work"; fi
key=$work/key
${fetchKey}
[ -s "$key" ] || fail 'the key of the package source is empty' ${quote(keyFile)} 'an empty file' 'check the mirror'
install -d -m 755 "\${key_file%/*}" "\${file%/*}"
install -m 644 "$key" "$key_file"
printf %s ${quote(text)} >"$work/source"
install -m 644 "$work/source" "$file"
if ! words=$(apt-get indextargets 2>&1 >/dev/null); then
  rm -f "$file"
  fail 'apt cannot read its sources any more, so the new one was taken back' 'sources that go together' "$words" \\
    'take the older entry for this repository out of /etc/apt/sources.list'
fi`;
}

/** Shell text after which no source for a vendor's repositories is read; that of its mirror only where it is ours. */
export function switchOffSources(vendor: Vendor): string {
  return sh`supersedes=${vendors[vendor].pattern}
rm -f ${sourceFile(vendor)} ${keyFile(vendor)}
for other in "$sources"/*.list "$sources"/*.sources; do
  if [ -e "$other" ] && grep -Eq "$supersedes" "$other"; then
    echo "switching off $other"
    ${new Raw(setAside(vendor))}
  fi
done`;
}
