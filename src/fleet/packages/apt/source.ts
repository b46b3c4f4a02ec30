import { quote, sh } from '../../../shared/base/shell.ts';
import type { PackageManager, PackageSource, TrustStore } from '../package-manager.ts';
import { proxyExports } from '../shell.ts';
import { setAside, switchOffOthers, withdrawFiles, type SourceParts } from '../sources.ts';
import {
  allVendors,
  type Machine,
  nvidiaMachine,
  type Site,
  type System,
  type Vendor,
  vendors,
} from '../vendors.ts';
import { aptPrelude, download, needAuthorities } from './prelude.ts';

export function sourceFile(vendor: Vendor): string {
  return `/etc/apt/sources.list.d/azp-fleet-${vendor}.sources`;
}

/** apt reads the format from the ending: `.gpg` is binary, `.asc` is text. */
function keyFile(vendor: Vendor): string {
  return `/etc/apt/keyrings/azp-fleet-${vendor}.${vendor === 'nvidia' ? 'gpg' : 'asc'}`;
}

/** Source files of Debian's components beside main, by `method` of the driver. */
export const componentFiles = {
  repo: '/etc/apt/sources.list.d/azp-fleet-contrib.sources',
  distro: '/etc/apt/sources.list.d/azp-fleet-non-free.sources',
} as const;

/** Files of sources, as shell patterns. */
export const sourceGlobs = '/etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources';

export const siteCaFile = '/usr/local/share/ca-certificates/azp-fleet-site.crt';

export const aptFolders: readonly string[] = [
  '/etc/apt/sources.list.d',
  '/etc/apt/keyrings',
  '/usr/local/share/ca-certificates',
];

export const aptFiles: readonly string[] = [
  ...allVendors.flatMap((vendor) => [sourceFile(vendor), keyFile(vendor)]),
  componentFiles.distro,
  siteCaFile,
];

/** How a vendor's repository lies below its base. */
interface Layout {
  readonly uri: string;
  /** A codename, or `/` for a flat repository, as in `stable/deb/amd64/`. */
  readonly suite: string;
  readonly components: string;
  /** Shell text that puts the key into `$key`, a file in the folder `$work`. It may use `download URL FILE [SHA256]`. */
  readonly fetchKey: string;
}

/** dpkg's names for machines. */
const architectures: Readonly<Record<Machine, string>> = { x86_64: 'amd64', aarch64: 'arm64' };

type Layouts = Readonly<Record<Vendor, (base: string, system: System, mirrored: boolean) => Layout>>;

const layouts: Layouts = {
  /**
   * The key is in the vendor's keyring package, whose sha256 is known for x86_64. Elsewhere TLS or the site's mirror is
   * trusted.
   */
  nvidia: (base, { nvidia, machine }, mirrored) => {
    const uri = `${base}/${nvidia.folder}/${nvidiaMachine[machine]}`;
    const pin =
      mirrored || machine !== 'x86_64' || nvidia.keySha256 === undefined ? '' : ` ${nvidia.keySha256}`;
    return {
      uri,
      suite: '/',
      components: '',
      fetchKey: `download ${quote(`${uri}/cuda-keyring_1.1-1_all.deb`)} "$work/keyring.deb"${pin}
dpkg-deb --fsys-tarfile "$work/keyring.deb" | tar -xOf - ./usr/share/keyrings/cuda-archive-keyring.gpg >"$key"`,
    };
  },
  /** TLS or the site's mirror is trusted for the key. */
  docker: (base, { docker }) => {
    const uri = `${base}/${docker.folder}`;
    return {
      uri,
      suite: docker.release,
      components: 'stable',
      fetchKey: sh`download ${`${uri}/gpg`} "$key"`,
    };
  },
  /** One flat repository for all distributions. The key is trusted like Docker's. */
  'nvidia-container-toolkit': (base, { machine }) => ({
    uri: `${base}/stable/deb/${architectures[machine]}`,
    suite: '/',
    components: '',
    fetchKey: sh`download ${`${base}/gpgkey`} "$key"`,
  }),
};

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
  return { uri, file, keyFile: key, text, supersedes: pattern, key: fetchKey };
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
 * Writes key and source. Two sources of one repository with different Signed-By make apt fail, so others are renamed to
 * `.disabled`, which apt ignores.
 */
function writeSource(vendor: Vendor, { uri, file, keyFile, text, supersedes, key }: SourceParts): string {
  return `${sh`uri=${uri} file=${file} key_file=${keyFile} supersedes=${supersedes}`}
case $uri in
  https:*)
    ${needAuthorities} ;;
esac
${switchOffOthers(vendor, sourceGlobs)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# apt downloads as a separate user.
chmod 755 "$work"
if id _apt >/dev/null 2>&1; then chown _apt "$work"; fi
key=$work/key
${key}
[ -s "$key" ] || fail 'the key of the package source is empty' ${quote(keyFile)} 'an empty file' 'check the mirror'
install -d -m 755 "\${key_file%/*}" "\${file%/*}"
install -m 644 "$key" "$key_file"
printf %s ${quote(text)} >"$work/source"
install -m 644 "$work/source" "$file"
if ! words=$(apt-get indextargets 2>&1 >/dev/null); then
  rm -f "$file"
  fail 'apt cannot read its sources any more, so the new one was removed' 'sources without conflicts' "$words" \\
    'remove the older entry for this repository from /etc/apt/sources.list'
fi`;
}

/** Returns shell text that switches off all sources of a vendor; a mirror's only where it is ours. */
export function switchOffSources(vendor: Vendor): string {
  return sh`supersedes=${vendors[vendor].pattern}
rm -f ${sourceFile(vendor)} ${keyFile(vendor)}
for other in "$sources"/*.list "$sources"/*.sources; do
  if [ -e "$other" ] && grep -Eq "$supersedes" "$other"; then
    echo "switching off $other"
    ${setAside(vendor)}
  fi
done`;
}

/** Removes a source, its key, and Debian's components for it. apt forgets them with its next update. */
export function withdrawal(vendor: Vendor): ReturnType<PackageManager['withdraw']> {
  const files = [
    sourceFile(vendor),
    keyFile(vendor),
    ...(vendor === 'nvidia' ? Object.values(componentFiles) : []),
  ];
  return withdrawFiles(files);
}

/** update-ca-certificates writes it last, with all authorities. */
const bundle = '/etc/ssl/certs/ca-certificates.crt';

export const aptTrust: TrustStore = {
  file: siteCaFile,
  trusted: sh`[ -r ${siteCaFile} ] && [ -r ${bundle} ] && case $(cat ${bundle}) in *"$(cat ${siteCaFile})"*) ;; *) false ;; esac`,
  script: (caPem, proxy) =>
    [
      ...proxyExports(proxy),
      aptPrelude,
      sh`if ! command -v update-ca-certificates >/dev/null; then
  update ''
  apt install ca-certificates
fi
install -d -m 755 /usr/local/share/ca-certificates
printf %s ${caPem} >${siteCaFile}.new
mv ${siteCaFile}.new ${siteCaFile}
update-ca-certificates`,
    ].join('\n'),
  withdraw: sh`rm -f ${siteCaFile} ${siteCaFile}.new
update-ca-certificates --fresh`,
};
