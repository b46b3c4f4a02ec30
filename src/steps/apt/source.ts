import { sha256 } from '../../base/digest.ts';
import { quote, sh } from '../../base/shell.ts';
import type { Facts } from '../../facts/facts.ts';
import type { Proxy } from '../../inventory/fleet.ts';
import { aptPrelude } from './prelude.ts';
import { proxyExports } from './proxy.ts';

/** A vendor's package source and the key that signs it, as we write them. */
export interface AptSource {
  /** `/etc/apt/sources.list.d/NAME.sources` */
  readonly file: string;
  /** Base URL without trailing slash. */
  readonly uri: string;
  /** A codename, or `/` for a flat repository, as in `stable/deb/amd64/`. */
  readonly suite: string;
  readonly components: string;
  readonly arch: string;
  /** Where the key goes. */
  readonly keyFile: string;
  /** Shell text that puts the key into `$key`, a temporary file. It may use `download URL FILE [SHA256]`. */
  readonly fetchKey: string;
  /** Extended regular expression: other source files that match it are for the same repository, and are switched off. */
  readonly supersedes: string;
}

export function sourceText(source: AptSource): string {
  const components = source.components === '' ? '' : `Components: ${source.components}\n`;
  return `# Written by azp-fleet, which writes it again when it differs.
Types: deb
URIs: ${source.uri}
Suites: ${source.suite}
${components}Architectures: ${source.arch}
Signed-By: ${source.keyFile}
`;
}

/** The file is there with our text, and its key beside it. */
export function hasSource(facts: Facts, source: AptSource): boolean {
  return facts.files[source.file] === sha256(sourceText(source)) && facts.files[source.keyFile] !== undefined;
}

/**
 * Writes key and source. apt's own helper downloads: a bare system has neither curl nor gpg, and the helper honours
 * apt's proxies. Two source files for one repository with different Signed-By stop all of apt, so others are renamed
 * to `.disabled`, which apt passes over.
 */
export function writeSource(source: AptSource, proxy: Proxy): string {
  return `${[...proxyExports(proxy), aptPrelude].join('\n')}
download() {
  rm -f "$2"
  /usr/lib/apt/apt-helper -o Acquire::Retries=3 download-file "$1" "$2" \${3:+"SHA256:$3"} ||
    fail "$1 cannot be downloaded" "the file\${3:+ with sha256 $3}" 'the messages above' \\
      'check the network, the proxy and the mirrors in the inventory'
}
${sh`uri=${source.uri} file=${source.file} key_file=${source.keyFile} supersedes=${source.supersedes}`}
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
${source.fetchKey}
[ -s "$key" ] || fail 'the key of the package source is empty' ${quote(source.keyFile)} 'an empty file' 'check the mirror'
install -d -m 755 "\${key_file%/*}" "\${file%/*}"
install -m 644 "$key" "$key_file"
printf %s ${quote(sourceText(source))} >"$work/source"
install -m 644 "$work/source" "$file"
if ! words=$(apt-get indextargets 2>&1 >/dev/null); then
  rm -f "$file"
  fail 'apt cannot read its sources any more, so the new one was taken back' 'sources that go together' "$words" \\
    'take the older entry for this repository out of /etc/apt/sources.list'
fi`;
}
