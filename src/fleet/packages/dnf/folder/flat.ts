import { quote, Raw, sh } from '../../../../shared/base/shell.ts';

/** Of a repository, seen from its root. */
export const indexPath = 'repodata/primary.xml';

const repository = 'azp-fleet-bundle';

/**
 * Shell function `describe FOLDER SOURCES`: what a repository says of its index, and what tells dnf of the repository, in a
 * folder of its own. `module_hotfixes`: packages of a module come without the module's metadata here, whatever stream of it
 * the host has enabled (dnf/db/group.py, `_test_fail_safe`). What the packages are was checked by the digests of the bundle,
 * and the index holds dnf to the digest of each (dnf/base.py, `verifyLocalPkg`): it is trusted as a script of ours is.
 */
export const describeFunction = sh`describe() {
  mkdir -p "$2"
  digest=$(sha256sum <"$1/${new Raw(indexPath)}" | cut -c 1-64)
  cat >"$1/repodata/repomd.xml" <<END
<repomd xmlns="http://linux.duke.edu/metadata/repo"><revision>$digest</revision><data type="primary">
<checksum type="sha256">$digest</checksum><open-checksum type="sha256">$digest</open-checksum>
<location href="${new Raw(indexPath)}"/><timestamp>0</timestamp>
</data></repomd>
END
  cat >"$2/${new Raw(repository)}.repo" <<END
[${new Raw(repository)}]
name=${new Raw(repository)}
baseurl=file://$1
enabled=1
gpgcheck=0
repo_gpgcheck=0
module_hotfixes=1
END
}`;

/**
 * Plugins that ask Red Hat or Amazon at every call of dnf, keep an account of what they sent, or keep in /var/cache/dnf which
 * names there are to complete. dnf goes on where it has none of the name.
 */
export const withoutPlugins = [
  'subscription-manager',
  'product-id',
  'release-notification',
  'generate_completion_cache',
]
  .map((name) => `--disableplugin=${name}`)
  .join(' ');

/** Shell functions in the place of others: what would bring a repository brings none. `next`: what to do. */
export function noRepositories(next: string): string {
  return `more_packages() {
  fail "packages are missing that \${1##*/} would bring" 'all of them in the bundle' none ${quote(next)}
}
more_source() {
  more_packages "$1"
}`;
}
