import type { Facts } from '../../facts/facts.ts';
import type { HostSpec } from '../../inventory/fleet.ts';
import type { Platform } from '../../packages/distribution.ts';
import { flavorFor, versionFits } from './compatibility.ts';

interface Obstacle {
  readonly what: string;
  readonly next: string;
}

/**
 * The kernel that boots next has modules that the distribution has signed, and the libraries are of the wanted branch: at
 * most the modules have to be loaded, or a reboot brings both together. Nothing is built, and no key is needed.
 */
export function signedFits(facts: Facts, { driver }: HostSpec, platform: Platform): boolean {
  const { kernels, packages } = facts;
  const { userspace } = facts.driver;
  const next = kernels.at(-1);
  const covered = next !== undefined && platform.names.driver.signing.covers(packages, next.release);
  return covered && userspace !== undefined && versionFits(userspace, driver);
}

/** The distribution keeps modules and libraries together: what is held would fall behind its kernels. */
export function isSigned({ kernels, packages }: Facts, { names }: Platform): boolean {
  return kernels.some(({ release }) => names.driver.signing.covers(packages, release));
}

/** Why the kernel would reject modules that are built on this host. What it takes is a person at the console. */
export function secureBootObstacle(facts: Facts, host: HostSpec, platform: Platform): Obstacle | undefined {
  const { signing } = platform.names.driver;
  const { secureBoot, loaded, keys } = facts.driver;
  if (secureBoot !== true) return undefined;
  // It was built here, signed, and taken: the next one will be, too.
  if (loaded !== undefined && signing.builtHere(facts.packages)) return undefined;
  const key =
    keys.find(({ configured }) => configured) ?? keys.find(({ path }) => path === signing.certificate);
  if (key?.state === 'enrolled') return undefined;
  // The next boot's kernel is of the same distribution, and of the same make.
  if (key?.state === 'firmware' && signing.trustsFirmware(facts.kernel)) return undefined;
  const others = signing.readyMade(facts, host.driver, flavorFor(facts, host.driver));
  return {
    what: `Secure Boot is on, and the kernel would reject the modules that are built on this host: ${because(key)}`,
    next: `${wayFor(key, signing)}${others === undefined ? '' : `, or ${others}`}, or switch Secure Boot off in the firmware; then run again`,
  };
}

type Key = Facts['driver']['keys'][number];

function because(key: Key | undefined): string {
  if (key === undefined) return 'there is no key yet that they could be signed with';
  if (key.state === 'requested') return `${key.path} waits to be confirmed at the console`;
  if (key.state === 'new') return `${key.path} is not enrolled`;
  if (key.state === 'firmware')
    return `${key.path} is in the firmware's own list (db), which this kernel is not known to take for modules`;
  if (key.state === 'blocked') return `${key.path} is in a list of forbidden keys`;
  if (key.state === 'unclear') return `mokutil does not say whether ${key.path} is enrolled`;
  return `whether ${key.path} is enrolled cannot be told without mokutil`;
}

/** What cannot be done over SSH is said as such. */
function wayFor(
  key: Key | undefined,
  { certificate, create }: Platform['names']['driver']['signing'],
): string {
  const confirm = 'reboot, and confirm it at the console (MOK management: Enroll MOK), which no SSH reaches';
  if (key?.state === 'requested') return confirm;
  if (key?.state === 'unknown') return 'install mokutil on the host and run again';
  if (key?.state === 'unclear') return `look at what sudo mokutil --test-key ${key.path} says, and mend that`;
  if (key?.state === 'blocked') return `sign with another key (mok_certificate in /etc/dkms/framework.conf)`;
  const path = key?.path ?? certificate;
  return `${key === undefined ? `${create}, ` : ''}sudo mokutil --import ${path}, ${confirm}`;
}
