import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { type DebFile, putFile } from './deb.ts';

/** A package of rpm, whose files have the same sources as those of Debian's packages. */
export interface Rpm {
  readonly name: string;
  /** `3:29.7.2-1.el9`; always with the epoch. */
  readonly version: string;
  readonly takenFrom: RpmSource;
  readonly requires?: readonly string[];
  readonly provides?: readonly string[];
  readonly conflicts?: readonly string[];
  readonly obsoletes?: readonly string[];
  readonly files?: readonly DebFile[];
  /** Body of a script that runs after the installation, with `sh`. */
  readonly post?: string;
  /** Runs before its files are removed; `$1` is the number of versions that stay: 0 in a removal, 1 in an upgrade. */
  readonly preun?: string;
  /** Runs after its files are removed; `$1` as above. */
  readonly postun?: string;
}

/** Writes the input of rpmbuild: NAME-VERSION.spec and NAME-VERSION/ in `folder`. */
export function writeRpmSource(rpm: Rpm, folder: string): void {
  mustBeTaken(rpm.name, rpm.takenFrom);
  const name = `${rpm.name}-${rpm.version.replace(':', '-')}`;
  const tree = join(folder, name);
  mkdirSync(tree, { recursive: true });
  chmodSync(tree, 0o755);
  for (const file of rpm.files ?? []) putFile(tree, file);
  writeFileSync(`${tree}.spec`, specOf(rpm, name));
}

/**
 * Builds all of `$1/REPOSITORY/*.spec` into the repositories below `$2`, for the script's container: signed with the key in
 * `$GNUPGHOME`, lightly compressed. A `modules.yaml` beside them becomes the repository's modules.
 */
export const buildRepositories = `set -eu
sources=$1 out=$2
printf '%s\\n' '%_gpg_name azp-fleet lab' '%__gpg /usr/bin/gpg' '%_buildhost lab' '%debug_package %{nil}' \\
  '%__os_install_post %{nil}' '%_build_id_links none' '%_binary_payload w1.gzdio' '%_topdir /tmp/rpmbuild' >/root/.rpmmacros
cd "$sources"
find . -name '*.spec' | while read -r spec; do
  folder=$(dirname "$spec")
  rpmbuild -bb --quiet --define "_sourcedir $sources/$folder" --define "_rpmdir $out/$folder" "$spec" >/tmp/words 2>&1 ||
    { cat "$spec" /tmp/words; exit 1; }
done
find "$out" -name '*.rpm' -exec rpmsign --addsign {} + >/tmp/words 2>&1 || { cat /tmp/words; exit 1; }
find . -name '*.spec' -exec dirname {} + | sort -u | while read -r folder; do
  createrepo_c -q "$out/$folder"
  if [ -e "$folder/modules.yaml" ]; then
    modifyrepo_c --mdtype=modules "$folder/modules.yaml" "$out/$folder/repodata" >/dev/null
  fi
done
gpgconf --kill all`;

function specOf({ name, version, takenFrom, files = [], ...rest }: Rpm, tree: string): string {
  const [, epoch = '', upstream = '', release = ''] = /^(\d+):(.+)-([^-]+)$/.exec(version) ?? [];
  const list = (label: string, names: readonly string[] = []): string[] =>
    names.map((each) => `${label}: ${each}`);
  return [
    `# Taken-From: ${rpmSources[takenFrom]}\nName: ${name}\nEpoch: ${epoch}\nVersion: ${upstream}\nRelease: ${release}`,
    'Summary: of the lab\nLicense: MIT\nAutoReqProv: no',
    ...list('Requires', rest.requires),
    ...list('Provides', rest.provides),
    ...list('Conflicts', rest.conflicts),
    ...list('Obsoletes', rest.obsoletes),
    `%description\nof the lab\n%install\ncp -a %{_sourcedir}/${tree}/. %{buildroot}`,
    ...(['post', 'preun', 'postun'] as const).flatMap((when) =>
      rest[when] === undefined ? [] : [`%${when}\n${rest[when]}`],
    ),
    '%files',
    ...files.map(({ path }) => `"${path}"`),
    '',
  ].join('\n');
}

/** The source of a stand-in's name, relations and repository. */
const rpmSources = {
  'nvidia-driver': 'NVIDIA/yum-packaging-nvidia-driver, nvidia-driver.spec of main (570)',
  'nvidia-kmod-common': 'NVIDIA/yum-packaging-nvidia-kmod-common, nvidia-kmod-common.spec of main (570)',
  'nvidia-persistenced': 'NVIDIA/yum-packaging-nvidia-persistenced, nvidia-persistenced.spec of main (570)',
  'dkms-nvidia': 'NVIDIA/yum-packaging-dkms-nvidia, dkms-nvidia.spec and dkms-open-nvidia.spec of main',
  'docker-ce-packaging':
    'docker/docker-ce-packaging, rpm/SPECS, and docker/containerd-packaging, rpm/containerd.spec',
  'container-toolkit': 'NVIDIA/nvidia-container-toolkit and libnvidia-container, packaging/rpm/SPECS',
  'rocky-9':
    "Rocky Linux 9: the system's own BaseOS, AppStream and extras, with the relations that tests need",
  'rocky-9-appstream': 'Rocky Linux 9, AppStream: ocl-icd-2.2.13-4.el9',
  'centos-8':
    'CentOS Stream 8, PowerTools: opencl-filesystem-1.0-6.el8; which repository of release 9 has it no list that was to be had says',
  'epel-9': 'EPEL 9: dkms, with what its spec names of compilers and headers',
} as const;

type RpmSource = keyof typeof rpmSources;

/** Throws for a package without a source. */
export function mustBeTaken(name: string, takenFrom: string | undefined): void {
  if (takenFrom === undefined || !Object.hasOwn(rpmSources, takenFrom))
    throw new Error(`${name} does not say what it was taken from: see rpmSources`);
}
