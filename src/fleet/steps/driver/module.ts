import type { Facts } from '../../facts/facts.ts';
import { driverModules } from '../../facts/probes/driver.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import { hasModule } from '../../packages/kernel-module.ts';
import { enableServices, startServices, type desiredServices } from './services.ts';
import type { HostRoot } from '../../../shared/base/host-root.ts';
import { failFunction, Raw, sh } from '../../../shared/base/shell.ts';

type Units = ReturnType<typeof desiredServices>;

const nouveauText = `# Written by azp-fleet: the NVIDIA driver needs the GPUs for itself.
blacklist nouveau
blacklist nova_core
options nouveau modeset=0
`;

/** Returns which seats lose their picture by another driver, each as the end of a reason. */
export function lostScreens({ driver: { screens, nouveau } }: Pick<Facts, 'driver'>): readonly string[] {
  return screens.map(({ seat, connectors, users }) => {
    const who = users.length === 0 ? 'login screen' : `desktop of ${users.join(', ')}`;
    const until = nouveau ? '; the driver is installed for computing, without screens' : ' until the reboot';
    return `${seat} (${who}, at ${connectors.join(', ')}) loses its picture${until}`;
  });
}

/** Returns shell text that blocks nouveau from the next boot on. */
export function blacklistNouveau(refreshInitramfs: string): string {
  return `${sh`printf %s ${nouveauText} >${managedFiles.nouveauBlacklist}`}\n${refreshInitramfs}`;
}

/**
 * Returns shell text that loads the module and checks the loaded version: `modprobe` may succeed with another module. Services
 * are enabled first, so that an enabled service that is not running shows an interruption.
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
      fail 'Secure Boot is on, and the kernel rejects the NVIDIA module' 'a loaded module' "$answer" \\
              'disable Secure Boot in the firmware, or enroll the key of DKMS at the console' ;;
    *)
      if ${hasModule('$kernel')}; then
        fail "loading the NVIDIA module failed on Linux $kernel" 'a loaded module' "$answer" \\
                  'check journalctl -k for the reason'
      fi
      fail "no NVIDIA module was built for Linux $kernel" 'a loaded module' "$answer" \\
        'check the newest /var/lib/dkms/nvidia*/*/build/make.log' ;;
  esac
fi`;
  return [enableServices(units), load, startServices(units)].filter(Boolean).join('\n');
}

export function loadScript(root: HostRoot, units: Units): string {
  return `${failFunction}\n${loadModule(root, units)}`;
}

/** Returns shell text that unloads the driver's modules, where nothing uses them and their packages are installed. */
function unload({ prefix }: HostRoot): string {
  return sh`modules=${`${prefix}/sys/module`}
for module in ${new Raw(driverModules)}; do
  if [ -d "$modules/$module" ]; then modprobe -r "$module" || :; fi
done`;
}

/** Returns shell text that unloads the module before the driver's packages are removed. */
export function unloadModule(root: HostRoot): string {
  return `${unload(root)}
  if [ -d "$modules/nvidia" ]; then echo 'the NVIDIA module is in use and stays loaded until the next boot'; fi`;
}

/** Returns shell text that unloads the module of a removed driver after another driver's packages are installed. */
export function replaceModule(root: HostRoot): string {
  return `${unload(root)}
[ ! -d "$modules/nvidia" ] ||
  fail 'the module of the removed driver is in use again' 'a module that can be unloaded' \\
      "$(cat "$modules/nvidia/version")" 'run again: the plan will include a reboot'`;
}
