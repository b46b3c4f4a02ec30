import { quote, sh } from '../../../shared/base/shell.ts';
import type { DriverSpec } from '../../inventory/fleet.ts';
import { componentFiles } from './files.ts';

/**
 * Debian: NVIDIA's packages lean on some of the archive's contrib component, and Debian's own driver is in contrib and
 * non-free, with its firmware.
 */
const components = {
  repo: ['contrib'],
  distro: ['contrib', 'non-free', 'non-free-firmware'],
} as const;

/**
 * Shell text that adds those which no other source has, from the archive that main is from. Taken back where apt does not
 * like it.
 */
export function debianComponents({ method }: Pick<DriverSpec, 'method'>): string {
  const whose = method === 'distro' ? method : 'repo';
  const file = componentFiles[whose];
  return `ours=$sources/${file.replace(/.*\//, '')} lacking=
need_component() {
  # The words in $() are apt's own placeholders.
  # shellcheck disable=SC2016
  if ! apt-get indextargets --format '$(SOURCESENTRY)' 'Created-By: Packages' "Component: $1" |
    grep -qvF "$ours:"; then lacking="$lacking $1"; fi
}
${components[whose].map((component) => sh`need_component ${component}`).join('\n')}
if [ -n "$lacking" ] && ! grep -qxF "Components:$lacking" "$ours" 2>/dev/null; then
  # shellcheck disable=SC2016
  entry=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(SOURCESENTRY)' \\
    'Created-By: Packages' 'Origin: Debian' 'Component: main' | head -n 1)
  origin=\${entry##* }
  origin=\${origin%:*}
  if [ -n "$entry" ] && [ -r "$origin" ]; then
    signed=$(sed -n 's/^Signed-By: *//p; s/^deb.*signed-by=\\([^] ]*\\).*/\\1/p' "$origin" | head -n 1)
    release=\${entry#* }
    {
      echo '# Written by azp-fleet: what the NVIDIA driver needs of the archive beside main.'
      printf 'Types: deb\\nURIs: %s\\nSuites: %s\\nComponents:%s\\n' "\${entry%% *}" "\${release%% *}" "$lacking"
      if [ -n "$signed" ]; then echo "Signed-By: $signed"; fi
    } >"$ours.new"
    # Whoever comes after an interruption here reads all lists again, this source's among them.
    rm -f /run/azp-fleet/package-lists
    mv "$ours.new" "$ours"
    if apt-get indextargets >/dev/null 2>&1; then
      source_added ${quote(file)} "$lacking"
      update "$ours"${whose === 'distro' ? '' : ' optional'}
    else
      rm -f "$ours"
    fi
  fi
fi`;
}
