import type { Facts } from '../../facts/facts.ts';
import type { HostSpec } from '../../inventory/fleet.ts';
import type { Platform } from '../../packages/distribution.ts';
import { isKept } from '../kept-stack.ts';
import { fabricObstacle, fabricSwitches } from './fabric.ts';
import { fabricPackages } from './fabric-manager.ts';
import { generationObstacle } from './flavor.ts';
import { secureBootObstacle } from './secure-boot.ts';

interface Obstacle {
  readonly what: string;
  readonly next: string;
}

/** Why no driver can be had on this machine at all. */
export function machineObstacle(facts: Facts, host: HostSpec): Obstacle | undefined {
  if (facts.platform === 'jetson' || facts.platform === 'wsl') {
    const name = facts.platform === 'jetson' ? 'a Jetson' : 'a Linux on Windows (WSL)';
    return { what: `this is ${name}, whose GPU stack is another one`, next: 'leave this host out' };
  }
  if (facts.gpus.length === 0) {
    const wanted = host.gpus ?? 0;
    if (wanted === 0) return undefined;
    return {
      what: `PCI shows no NVIDIA GPU, and the inventory says gpus: ${wanted}`,
      next: 'check that the cards are seated and powered (lspci -d 10de:), or correct the inventory',
    };
  }
  if (isKept(facts) && host.driver.install) {
    return {
      what: 'this is DGX OS, whose driver comes with the system and its own package sources',
      next: 'set driver: none for this host in the inventory',
    };
  }
  if (facts.gpus.every(({ boundTo }) => boundTo === 'vfio-pci')) {
    return {
      what: 'every GPU is reserved for virtual machines (vfio-pci)',
      next: 'put the virtual machines into the inventory instead, or unbind the GPUs from vfio-pci',
    };
  }
  return fabricObstacle(facts);
}

/** Why the wanted driver cannot be installed over what is there. */
export function installObstacle(facts: Facts, host: HostSpec, platform: Platform): Obstacle | undefined {
  const { method } = host.driver;
  if (facts.driver.runfile) {
    return {
      what: 'a driver from a .run file is installed, and packages must not be mixed with it',
      next: 'sudo nvidia-uninstall --silent, reboot, and run again, or set driver: { method: runfile } for this host',
    };
  }
  const obstacle = method === 'distro' ? ownObstacle(facts, host, platform) : undefined;
  return obstacle ?? generationObstacle(facts, host.driver) ?? secureBootObstacle(facts, host, platform);
}

/** Why the distribution's own packages will not do, whichever they are. Which branches it has, its package manager knows. */
function ownObstacle(facts: Facts, host: HostSpec, platform: Platform): Obstacle | undefined {
  const next = "set driver: { method: repo } for this host in the inventory, for NVIDIA's package source";
  const { pretty } = facts.os;
  if (platform.names.driver.own === undefined)
    return { what: `azp-fleet installs no driver from the package sources of ${pretty} itself`, next };
  if (fabricSwitches(facts) > 0 && fabricPackages(facts, host, platform).length === 0)
    return { what: `the driver of ${pretty} comes without the fabric manager that NVSwitches need`, next };
  return undefined;
}
