import { quote, sh } from '../../base/shell.ts';
import type { PackageSource, Site } from '../package-manager.ts';
import { proxyExports } from '../proxy.ts';
import type { System } from '../system.ts';
import { vendors, type Vendor } from '../vendors.ts';
import { keyFile, sourceFile } from './files.ts';
import { architectures, layouts } from './layouts.ts';
import { aptPrelude } from './prelude.ts';

export function aptSource(vendor: Vendor, system: System, { mirrors, proxy }: Site): PackageSource {
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
  const values = sh`uri=${uri} file=${file} key_file=${key} supersedes=${pattern}`;
  return {
    file,
    text,
    keyFile: key,
    script: [...proxyExports(proxy), aptPrelude, writeSource(values, fetchKey, key, text)].join('\n'),
  };
}

/**
 * Writes key and source. apt's own helper downloads: a bare system has neither curl nor gpg, and the helper honours
 * apt's proxies. Two source files for one repository with different Signed-By stop all of apt, so others are renamed
 * to `.disabled`, which apt passes over.
 */
function writeSource(values: string, fetchKey: string, keyFile: string, text: string): string {
  return `download() {
  rm -f "$2"
  /usr/lib/apt/apt-helper -o Acquire::Retries=3 download-file "$1" "$2" \${3:+"SHA256:$3"} ||
    fail "$1 cannot be downloaded" "the file\${3:+ with sha256 $3}" 'the messages above' \\
      'check the network, the proxy and the mirrors in the inventory'
}
${values}
case $uri in
  https:*)
    if [ ! -s /etc/ssl/certs/ca-certificates.crt ]; then
      update ''
      apt install ca-certificates
    fi ;;
esac
for other in /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
  if [ ! -e "$other" ] || [ "$other" = "$file" ]; then continue; fi
  if grep -Eq "$supersedes" "$other" || grep -Fq "$uri" "$other"; then
    echo "switching off $other: $file replaces it"
    mv "$other" "$other.disabled"
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
