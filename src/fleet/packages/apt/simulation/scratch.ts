import { sh } from '../../../../shared/base/shell.ts';

/**
 * Shell text that gives apt a world of its own for as long as the script runs: its lists begin as the host's, and its
 * configuration is the host's without what would be run at an update. `$scratch` is its folder, which `APT_CONFIG` leads
 * every tool of apt into; it is not below /run/azp-fleet, which is closed to the user that apt downloads as. `$sources`
 * is where its sources have to be put.
 *
 * The host's lists are links: apt writes a list beside the old one, and puts it into its place by renaming. Of lists
 * only those of packages are read. Even a simulation has apt log how it would go about it, in its log folder. Pins that a package brought, and that go with it, are taken out one by one.
 */
export const makeScratch = `umask 022
find /run -maxdepth 1 -name 'azp-fleet-simulation.*' -mmin +60 -exec rm -rf {} +
scratch=$(mktemp -d /run/azp-fleet-simulation.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
chmod 755 "$scratch"
cd "$scratch"
sources=$scratch/sources.list.d
mkdir -p lists/partial cache/archives/partial conf.d preferences.d keys pins "$sources"
# apt downloads as a user of its own.
if id _apt >/dev/null 2>&1; then chown _apt lists/partial cache/archives/partial keys pins; fi
link() {
  for file in "$@"; do
    if [ -e "$file" ]; then ln -s "$file" "$into/"; fi
  done
}
into=lists
link /var/lib/apt/lists/*Release /var/lib/apt/lists/*Release.gpg /var/lib/apt/lists/*_Packages*
into=preferences.d
link /etc/apt/preferences.d/*
into=conf.d
link /etc/apt/apt.conf.d/*
if [ -e /etc/apt/apt.conf ]; then ln -s /etc/apt/apt.conf conf.d/zzzz-main; fi
cp /var/lib/dpkg/status status
cat >apt.conf <<END
Dir::Etc::Parts "$scratch/conf.d";
Dir::Etc::Main "$scratch/last.conf";
END
cat >last.conf <<END
Dir::State::Lists "$scratch/lists";
Dir::State::Status "$scratch/status";
Dir::Cache "$scratch/cache";
Dir::Cache::Archives "archives";
Dir::Cache::PkgCache "pkgcache.bin";
Dir::Cache::SrcPkgCache "srcpkgcache.bin";
Dir::Log "$scratch";
Dir::Log::Planner "";
Dir::Etc::SourceList "$scratch/sources.list";
Dir::Etc::SourceParts "$sources";
Dir::Etc::PreferencesParts "$scratch/preferences.d";
Acquire::PDiffs "false";
Acquire::Retries "1";
Acquire::http::Timeout "10";
Acquire::https::Timeout "10";
#clear Acquire::Languages;
Acquire::Languages "none";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
END
export APT_CONFIG="$scratch/apt.conf"
for target in $(apt-config dump Acquire::IndexTargets | sed -n 's/^\\(Acquire::IndexTargets::deb.*\\)::MetaKey .*/\\1/p'); do
  case $target in
    *::deb::Packages) ;;
    *) echo "$target::DefaultEnabled \\"false\\";" >>last.conf ;;
  esac
done`;

/** Has apt trust the site's authority beside those of the host, which may not have it yet. */
export function trustSite(caPem: string): string {
  return sh`{ cat /etc/ssl/certs/ca-certificates.crt 2>/dev/null || :; printf '%s\n' ${caPem}; } >ca.crt
printf 'Acquire::https::CAInfo "%s/ca.crt";\n' "$scratch" >>last.conf`;
}
