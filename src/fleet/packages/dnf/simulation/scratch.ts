import { sh } from '../../../../shared/base/shell.ts';
import { lockList } from '../files.ts';

/**
 * Shell text that gives dnf a world of its own for as long as the script runs, in `$scratch`: its lists begin as links to
 * the host's, which dnf replaces one by one, as it renames new ones into place; `$sources` has the host's repositories;
 * the list of locks is a copy. The database of what is installed is the host's: nothing is begun that would write to it.
 */
export const makeScratch = `umask 022
find /run -maxdepth 1 -name 'azp-fleet-simulation.*' -mmin +60 -exec rm -rf {} +
scratch=$(mktemp -d /run/azp-fleet-simulation.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch"
sources=$scratch/repos
mkdir -p cache log plugins "$sources"
if [ -d /var/cache/dnf ]; then
  cp -rs /var/cache/dnf/. cache/
  rm -f cache/*.pid
fi
for conf in /etc/dnf/plugins/*.conf; do
  if [ -e "$conf" ]; then cp "$conf" plugins/; fi
done
printf '[main]\\nenabled=1\\nlocklist=%s/locks\\n' "$scratch" >plugins/versionlock.conf
cat ${lockList} >all-locks 2>/dev/null || :
cp all-locks locks`;

/** Has dnf trust the site's authority beside those of the host, which may not have it yet. */
export function trustSite(caPem: string): string {
  return sh`{ cat /etc/pki/tls/certs/ca-bundle.crt 2>/dev/null || :; printf '%s\n' ${caPem}; } >ca.crt
authority=--setopt=sslcacert=$scratch/ca.crt`;
}
