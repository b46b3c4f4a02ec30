/** Debian: NVIDIA's packages lean on some of the archive's contrib component. Taken back where apt does not like it. */
export const debianContrib = `contrib=$sources/azp-fleet-contrib.sources
# The words in $() are apt's own placeholders.
# shellcheck disable=SC2016
if [ -z "$(apt-get indextargets --format '$(COMPONENT)' 'Created-By: Packages' 'Component: contrib')" ]; then
  # shellcheck disable=SC2016
  entry=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(SOURCESENTRY)' \\
    'Created-By: Packages' 'Origin: Debian' 'Component: main' | head -n 1)
  origin=\${entry##* }
  origin=\${origin%:*}
  if [ -n "$entry" ] && [ -r "$origin" ]; then
    signed=$(sed -n 's/^Signed-By: *//p; s/^deb.*signed-by=\\([^] ]*\\).*/\\1/p' "$origin" | head -n 1)
    release=\${entry#* }
    {
      echo '# Written by azp-fleet: what NVIDIA packages need of the contrib component.'
      printf 'Types: deb\\nURIs: %s\\nSuites: %s\\nComponents: contrib\\n' "\${entry%% *}" "\${release%% *}"
      if [ -n "$signed" ]; then echo "Signed-By: $signed"; fi
    } >"$contrib.new"
    # Whoever comes after an interruption here reads all lists again, this source's among them.
    rm -f /run/azp-fleet/package-lists
    mv "$contrib.new" "$contrib"
    if apt-get indextargets >/dev/null 2>&1; then update "$contrib" optional; else rm -f "$contrib"; fi
  fi
fi`;
