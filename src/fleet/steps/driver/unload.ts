import type { HostRoot } from '../../../shared/base/machine/host-root.ts';
import { Raw, sh } from '../../../shared/base/shell.ts';
import { driverModules } from '../../facts/probes/driver.ts';

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
