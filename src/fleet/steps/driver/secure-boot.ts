import type { Facts } from '../../facts/facts.ts';
import type { HostSpec } from '../../inventory/fleet.ts';
import type { Platform } from '../../packages/distribution.ts';
import { flavorFor, versionFits } from './compatibility.ts';

interface Obstacle {
  readonly what: string;
  readonly next: string;
}

/**
 * Returns whether the next kernel has modules signed by the distribution, and the libraries are of the desired branch. Then
 * nothing is built and no key is needed: the modules are loaded, or the host reboots.
 */
export function signedFits(facts: Facts, { driver }: HostSpec, platform: Platform): boolean {
  const { kernels, packages } = facts;
  const { userspace } = facts.driver;
  const next = kernels.at(-1);
  const covered = next !== undefined && platform.names.driver.signing.covers(packages, next.release);
  return covered && userspace !== undefined && versionFits(userspace, driver);
}

/** Returns whether the distribution signs the modules. It upgrades them with the libraries, so neither is held. */
export function isSigned({ kernels, packages }: Facts, { names }: Platform): boolean {
  return kernels.some(({ release }) => names.driver.signing.covers(packages, release));
}

/** Returns why the kernel would reject modules built on this host. The fix needs a person at the console. */
export function secureBootObstacle(facts: Facts, host: HostSpec, platform: Platform): Obstacle | undefined {
  const { signing } = platform.names.driver;
  const { secureBoot, loaded, keys } = facts.driver;
  if (secureBoot !== true) return undefined;
  // A module built and signed here is loaded: the kernel accepts that key.
  if (loaded !== undefined && signing.builtHere(facts.packages)) return undefined;
  const key =
    keys.find(({ configured }) => configured) ?? keys.find(({ path }) => path === signing.certificate);
  if (key?.state === 'enrolled') return undefined;
  // The next kernel is of the same distribution.
  if (key?.state === 'firmware' && signing.trustsFirmware(facts.kernel)) return undefined;
  const others = signing.readyMade(facts, host.driver, flavorFor(facts, host.driver));
  return {
    what: `Secure Boot is on, and the kernel would reject modules built on this host: ${keyProblem(key)}`,
    next: `${keyAction(key, signing)}${others === undefined ? '' : `, or ${others}`}, or disable Secure Boot in the firmware; then run again`,
  };
}

type Key = Facts['driver']['keys'][number];

function keyProblem(key: Key | undefined): string {
  if (key === undefined) return 'no signing key exists yet';
  if (key.state === 'requested') return `${key.path} waits to be confirmed at the console`;
  if (key.state === 'new') return `${key.path} is not enrolled`;
  if (key.state === 'firmware')
    return `${key.path} is in the firmware's own list (db), which this kernel may not trust for modules`;
  if (key.state === 'blocked') return `${key.path} is in a list of forbidden keys`;
  if (key.state === 'unclear') return `mokutil does not say whether ${key.path} is enrolled`;
  return `unknown whether ${key.path} is enrolled: mokutil is not installed`;
}

/** Returns the next action for a key; says which part needs the console. */
function keyAction(
  key: Key | undefined,
  { certificate, create }: Platform['names']['driver']['signing'],
): string {
  const confirm = 'reboot, and confirm it at the console (MOK management: Enroll MOK), not over SSH';
  if (key?.state === 'requested') return confirm;
  if (key?.state === 'unknown') return 'install mokutil on the host and run again';
  if (key?.state === 'unclear') return `run sudo mokutil --test-key ${key.path}, and fix what it reports`;
  if (key?.state === 'blocked') return `sign with another key (mok_certificate in /etc/dkms/framework.conf)`;
  const path = key?.path ?? certificate;
  return `${key === undefined ? `${create}, ` : ''}sudo mokutil --import ${path}, ${confirm}`;
}
