import { driverModules } from '../../facts/probes/driver.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import { hasModule } from '../../packages/kernel-module.ts';
import { enableServices, startServices, type wantedServices } from './services.ts';
import type { HostRoot } from '../../../shared/base/host-root.ts';
import { failFunction, Raw, sh } from '../../../shared/base/shell.ts';

type Units = ReturnType<typeof wantedServices>;

const nouveauText = `# Written by azp-fleet: the NVIDIA driver needs the GPUs for itself.
blacklist nouveau
blacklist nova_core
options nouveau modeset=0
`;

/** Keeps nouveau away from the next boot on. */
export function blacklistNouveau(refreshInitramfs: string): string {
  return `${sh`printf %s ${nouveauText} >${managedFiles.nouveauBlacklist}`}\n${refreshInitramfs}`;
}

/**
 * Loads the module and takes the kernel's word for it. `modprobe` alone may say yes to another module. The services are
 * enabled before it, so that one which is enabled and does not run tells of an interruption.
 */
export function loadModule(root: HostRoot, units: Units): string {
  const load = `${sh`loaded=${`${root.prefix}/sys/module/nvidia/version`}`}
kernel=$(uname -r)
if command -v dkms >/dev/null && ! ${hasModule('$kernel')}; then
  dkms autoinstall -k "$kernel" || echo "dkms ended with exit code $?"
fi
answer=$(modprobe -a nvidia nvidia_uvm 2>&1) || :
if [ ! -r "$loaded" ]; then
  case $answer in
    *'Key was rejected'* | *'Required key not available'*)
      fail 'the kernel rejects the NVIDIA module, because Secure Boot is on' 'a loaded module' "$answer" \\
        'switch Secure Boot off in the firmware, or enrol the key of DKMS at the console' ;;
    *)
      if ${hasModule('$kernel')}; then
        fail "the NVIDIA module is built for Linux $kernel, and not loaded" 'a loaded module' "$answer" \\
          'look at journalctl -k: the kernel says there why it does not take it'
      fi
      fail "no NVIDIA module was built for Linux $kernel" 'a loaded module' "$answer" \\
        'look at the newest /var/lib/dkms/nvidia*/*/build/make.log' ;;
  esac
fi`;
  return [enableServices(units), load, startServices(units)].filter(Boolean).join('\n');
}

export function loadScript(root: HostRoot, units: Units): string {
  return `${failFunction}\n${loadModule(root, units)}`;
}

/** Shell text: unloads the driver's modules, as long as nothing uses them and their packages are there. */
function unload({ prefix }: HostRoot): string {
  return sh`modules=${`${prefix}/sys/module`}
for module in ${new Raw(driverModules)}; do
  if [ -d "$modules/$module" ]; then modprobe -r "$module" || :; fi
done`;
}

/** Before the driver's packages go. */
export function dropModule(root: HostRoot): string {
  return `${unload(root)}
if [ -d "$modules/nvidia" ]; then echo 'something uses the NVIDIA module, which stays loaded until the next boot'; fi`;
}

/** After the packages of another one have come: the module of the driver before, which is gone, makes room. */
export function replaceModule(root: HostRoot): string {
  return `${unload(root)}
[ ! -d "$modules/nvidia" ] ||
  fail 'something has begun to use the module of the driver that was taken away' 'a module that can be unloaded' \\
    "$(cat "$modules/nvidia/version")" 'run again: the plan then has a reboot'`;
}
