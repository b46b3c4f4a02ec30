import { managedFiles } from '../../facts/probes/files.ts';
import { quote, sh } from '../../base/shell.ts';
import { failFunction } from '../fail.ts';

/** Headers first: without those of the running kernel DKMS builds for another kernel, or not at all. */
export const kernelHeaders = `kernel=$(uname -r)
if [ ! -e "/lib/modules/$kernel/build" ]; then
  [ -n "$(offered "linux-headers-$kernel")" ] || fail "no package source offers the headers of the running kernel" \\
    "linux-headers-$kernel" 'only other versions, if any' \\
    'upgrade the kernel (apt-get install linux-image-generic on Ubuntu, linux-image-amd64 on Debian), reboot, run again'
  apt install "linux-headers-$kernel"
fi
# A kernel may be built with another compiler than the system's first one: Ubuntu's HWE kernels are.
compiler=$(sed -n 's/.*(\\([^ ()]*-\\)\\{0,1\\}\\(gcc-[0-9][0-9]*\\) .*/\\2/p' /proc/version)
if [ -n "$compiler" ] && ! command -v "$compiler" >/dev/null && [ -n "$(offered "$compiler")" ]; then
  apt install "$compiler"
fi`;

/** The vendor's pinning package keeps apt on the branch. Older branches have none; the holds do it then. */
export function pin(packageName: string): string {
  return `if [ -n "$(offered ${quote(packageName)})" ]; then apt install ${quote(packageName)}; fi`;
}

/** Debian: NVIDIA's packages lean on some of the archive's contrib component. Taken back where apt does not like it. */
export const debianContrib = `contrib=/etc/apt/sources.list.d/azp-fleet-contrib.sources
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
    } >"$contrib"
    if apt-get indextargets >/dev/null 2>&1; then update "$contrib"; else rm -f "$contrib"; fi
  fi
fi`;

const nouveauText = `# Written by azp-fleet: the NVIDIA driver needs the GPUs for itself.
blacklist nouveau
blacklist nova_core
options nouveau modeset=0
`;

/** Keeps nouveau from the next boot on. */
export const blacklistNouveau = `${sh`printf %s ${nouveauText} >${managedFiles.nouveauBlacklist}`}
if command -v update-initramfs >/dev/null; then update-initramfs -u; fi`;

/** Loads the module and takes the kernel's word for it. `modprobe` alone may say yes to another module. */
export function loadModule(sysroot: string): string {
  return `${sh`loaded=${`${sysroot}/sys/module/nvidia/version`}`}
kernel=$(uname -r)
if command -v dkms >/dev/null && ! modinfo nvidia >/dev/null 2>&1; then
  dkms autoinstall -k "$kernel"
fi
answer=$(modprobe -a nvidia nvidia_uvm 2>&1) || :
if [ ! -r "$loaded" ]; then
  case $answer in
    *'Key was rejected'* | *'Required key not available'*)
      fail 'the kernel rejects the NVIDIA module, because Secure Boot is on' 'a loaded module' "$answer" \\
        'switch Secure Boot off in the firmware, or enrol the key of DKMS at the console' ;;
    *)
      fail 'the NVIDIA kernel module cannot be loaded' 'a loaded module' "$answer" \\
        'look at journalctl -k and at the newest /var/lib/dkms/nvidia*/*/build/make.log' ;;
  esac
fi
for service in nvidia-persistenced nvidia-fabricmanager; do
  if systemctl cat "$service.service" >/dev/null 2>&1; then
    systemctl enable -q "$service.service"
    systemctl restart "$service.service" || echo "$service does not start"
  fi
done`;
}

export function loadScript(sysroot: string): string {
  return `${failFunction}\n${loadModule(sysroot)}`;
}
