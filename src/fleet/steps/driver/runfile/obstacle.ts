import type { Facts } from '../../../facts/facts.ts';
import type { Platform } from '../../../packages/distribution.ts';
import { Room } from '../../packages/room.ts';
import type { Desired } from '../../step.ts';
import { fabricSwitches } from '../fabric.ts';
import { generationObstacle } from '../flavor.ts';
import { rebootReason } from '../installation.ts';
import { driverPackages, hasDesktop } from '../present.ts';
import { secureBootObstacle } from '../secure-boot.ts';
import { folder } from './scripts.ts';
import { besideLoaded } from './options.ts';

interface Obstacle {
  readonly what: string;
  readonly next: string;
}

/**
 * Bytes that it takes: the file (398 MB of 580.173.02, as NVIDIA's server has it), what is unpacked of it while it is installed,
 * what stays below /usr, and sources and modules of DKMS; of the last three nobody tells, so about three times as much each.
 */
const needs = { [folder]: 1_800_000_000, '/usr': 1_400_000_000, '/var/lib': 300_000_000 };

/** Why NVIDIA's `.run` file cannot be run over what is there. */
export function runfileObstacle(facts: Facts, desired: Desired, platform: Platform): Obstacle | undefined {
  const { host, supplies } = desired;
  if (supplies !== undefined) {
    return {
      what: 'a bundle has packages, and no .run file of a driver',
      next: 'set driver: { method: repo } for this host in the inventory, or leave --bundle out',
    };
  }
  return (
    foreign(facts, platform) ??
    generationObstacle(facts, host.driver) ??
    unfit(facts, desired, platform) ??
    secureBootObstacle(facts, host, platform)
  );
}

/** What the installer would write over, and package managers write over again. */
function foreign(facts: Facts, platform: Platform): Obstacle | undefined {
  const packages = driverPackages(facts, platform);
  if (packages.length > 0) {
    return {
      what: `a driver is installed from packages (${shortened(packages)}), and a .run file must not be mixed with them`,
      next: `${platform.packages.removal(packages)}, reboot, and run again`,
    };
  }
  if (!hasDesktop(facts, platform)) return undefined;
  return {
    what: 'this host has a desktop, and a .run file writes over what it draws with',
    next: 'set driver: { method: repo } for this host in the inventory, whose packages go with those of a desktop',
  };
}

function unfit(facts: Facts, { host }: Desired, platform: Platform): Obstacle | undefined {
  const { branch } = host.driver;
  if (fabricSwitches(facts) > 0) {
    return {
      what: 'a .run file comes without the fabric manager, which must have its very version and which NVSwitches need',
      next: "set driver: { method: repo } for this host in the inventory, for NVIDIA's packages, which have it",
    };
  }
  const reason = facts.driver.secureBoot === true ? 'Secure Boot is on' : rebootReason(facts, host, platform);
  if (reason === undefined || Number(branch) >= besideLoaded.first) return undefined;
  return {
    what: `${reason}, and the .run files of branch ${branch} install only where they can load their module at once`,
    next: `set driver: { method: runfile, branch: "${besideLoaded.first}" } or newer, or method: repo, for this host in the inventory`,
  };
}

/** What is not there cannot be measured on the host beforehand: these are figures of such files. */
export function cramped(facts: Facts): Obstacle | undefined {
  const found = new Room(facts).take(needs);
  return found && { what: `NVIDIA's .run file ${found.what}`, next: found.next };
}

function shortened(names: readonly string[]): string {
  return names.slice(0, 3).join(', ') + (names.length > 3 ? ` and ${names.length - 3} more` : '');
}
