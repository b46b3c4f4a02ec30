import { quote, sh } from '../../../shared/base/shell.ts';
import type { PackageSource, TrustStore } from '../package-manager.ts';
import { proxyExports } from '../shell.ts';
import { switchOffOthers, withdrawFiles, type SourceParts } from '../sources.ts';
import { allVendors, nvidiaMachine, type Site, type System, type Vendor, vendors } from '../vendors.ts';
import { toolsetFiles, toolsetFolder } from './headers.ts';
import { dnfPrelude } from './prelude.ts';
import { epelFiles } from './repositories.ts';

/** Returns the id of a vendor's repository, which is also the name of its file. */
export function repositoryId(vendor: Vendor): string {
  return `azp-fleet-${vendor}`;
}

export function sourceFile(vendor: Vendor): string {
  return `/etc/yum.repos.d/${repositoryId(vendor)}.repo`;
}

/** Returns the file of the key that signs a vendor's packages. */
export function keyFile(vendor: Vendor): string {
  return `/etc/pki/rpm-gpg/${repositoryId(vendor)}`;
}

/** Files of repositories, as a shell pattern. */
export const sourceGlobs = '/etc/yum.repos.d/*.repo';

const siteCaFile = '/etc/pki/ca-trust/source/anchors/azp-fleet-site.crt';

export const dnfFolders: readonly string[] = [
  '/etc/yum.repos.d',
  '/etc/pki/rpm-gpg',
  '/etc/pki/ca-trust/source/anchors',
  '/etc/dnf/plugins',
  toolsetFolder,
];

export const dnfFiles: readonly string[] = [
  ...allVendors.flatMap((vendor) => [sourceFile(vendor), keyFile(vendor)]),
  ...epelFiles,
  ...toolsetFiles,
  siteCaFile,
];

/** The path and key of a vendor's repository below its base. */
interface Layout {
  readonly uri: string;
  /** Address of the key that signs its packages. TLS or the site's mirror is trusted for it. */
  readonly key: string;
}

const layouts: Readonly<Record<Vendor, (base: string, system: System) => Layout>> = {
  // Each of NVIDIA's repositories has its own key (NVIDIA/cuda-repo-management, README).
  nvidia: (base, { nvidia, machine }) => {
    const uri = `${base}/${nvidia.folder}/${nvidiaMachine[machine]}`;
    return { uri, key: `${uri}/repodata/repomd.xml.key` };
  },
  docker: (base, { docker, machine }) => ({
    uri: `${base}/${docker.folder}/${docker.release}/${machine}/stable`,
    key: `${base}/${docker.folder}/gpg`,
  }),
  'nvidia-container-toolkit': (base, { machine }) => ({
    uri: `${base}/stable/rpm/${machine}`,
    key: `${base}/gpgkey`,
  }),
};

/**
 * Returns a vendor's repository. dnf checks signatures of packages, but not of lists: NVIDIA's signature of the toolkit's lists does
 * not always match (NVIDIA/holodeck). On releases 8 and 9 NVIDIA's driver is a module with streams. `module_hotfixes` shows
 * packages of all streams, so that the version chooses the branch and locks keep it.
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
 * Writes key and source. Another file for the same repository is renamed to `.disabled`, which dnf ignores: it would offer the
 * packages with other settings.
 */
function writeSource(
  vendor: Vendor,
  { uri, file, keyFile: keyPath, text, supersedes, key }: SourceParts,
): string {
  return `${sh`uri=${uri} file=${file} key_file=${keyPath} supersedes=${supersedes} address=${key}`}
${switchOffOthers(vendor, sourceGlobs)}
${sourceFunctions}
bring_key "$address" "$key_file" "$uri"
put_source "$file" ${quote(text)}`;
}

/**
 * Shell functions. `bring_key ADDRESS FILE REPOSITORY [SHA256]` downloads a key, writes it and imports it into rpm; curl is installed,
 * because rpm depends on it. `put_source FILE TEXT` writes a repository that all users can read. They need the prelude.
 */
export const sourceFunctions = `bring_key() (
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  words=$(curl -fsSL --retry 3 --connect-timeout 20 --max-time 120 -o "$work/key" "$1" 2>&1) ||
    fail "$1 cannot be downloaded" 'the key of the package source' "$words" \\
      'check the network, the proxy and the mirrors in the inventory'
  grep -q 'BEGIN PGP PUBLIC KEY' "$work/key" ||
    fail "$1 is not the key of a package source" 'a PGP public key' "$(head -c 200 "$work/key")" 'check the mirror'
  seen=$(sha256sum <"$work/key")
  case \${4:-} in
    '' | "\${seen%% *}") ;;
    *) fail "$1 is another key than that of $3" "sha256 $4" "\${seen%% *}" 'check the mirror' ;;
  esac
  install -d -m 755 "\${2%/*}"
  install -m 644 "$work/key" "$2"
  wait_for_lock
  until rpm --import "$2"; do
    [ -n "$(package_lock_holder)" ] ||
      fail "rpm rejected the key of $3" 'a key that the host accepts' 'the messages above' \\
        'check update-crypto-policies --show on the host: newer systems reject old keys'
    wait_for_lock
  done
)
put_source() (
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  printf %s "$2" >"$work/source"
  install -d -m 755 "\${1%/*}"
  install -m 644 "$work/source" "$1"
)`;

/**
 * Removes a repository and its key, and with the driver's a mirror of EPEL and the compiler settings for Oracle's kernels. Keys in
 * rpm's database stay, because other repositories may use them.
 */
export function withdrawal(vendor: Vendor): { readonly files: readonly string[]; readonly script: string } {
  const files = [
    sourceFile(vendor),
    keyFile(vendor),
    ...(vendor === 'nvidia' ? [...epelFiles, ...toolsetFiles] : []),
  ];
  return withdrawFiles(files);
}

/** update-ca-trust writes it with all authorities. */
const bundle = '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem';

/** ca-certificates is installed, because dnf depends on it. */
export const dnfTrust: TrustStore = {
  file: siteCaFile,
  // The bundle has a heading for each certificate, so the lines are compared, not the text.
  trusted: sh`[ -r ${siteCaFile} ] && [ -r ${bundle} ] && ! grep -vxFf ${bundle} ${siteCaFile} | grep -Eq '^[A-Za-z0-9+/]{20,}=*$'`,
  script: (caPem) => sh`install -d -m 755 /etc/pki/ca-trust/source/anchors
printf %s ${caPem} >${siteCaFile}.new
mv ${siteCaFile}.new ${siteCaFile}
update-ca-trust extract`,
  withdraw: sh`rm -f ${siteCaFile} ${siteCaFile}.new
update-ca-trust extract`,
};
