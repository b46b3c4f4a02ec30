import type { Facts, PciGpu } from '../../facts/facts.ts';
import type { DriverSpec, HostSpec } from '../../inventory/fleet.ts';
import { systemOf } from '../../packages/distribution.ts';
import type { Flavor } from '../../packages/names.ts';
import { type Generation, generationOf, openBranches, proprietaryBranches } from './generations.ts';

/** Returns whether a version is of the desired branch, and equal to the exact version where the inventory sets one. */
export function versionFits(version: string, spec: DriverSpec): boolean {
  return spec.version === undefined ? version.startsWith(`${spec.branch}.`) : version === spec.version;
}

/** Returns whether the running driver and its libraries match the inventory, however they were installed. */
export function isDesiredDriver(
  facts: Pick<Facts, 'gpus' | 'driver'>,
  host: Pick<HostSpec, 'driver'>,
): boolean {
  const { loaded, userspace, wasRemoved } = facts.driver;
  if (!host.driver.install) return true;
  return (
    loaded !== undefined &&
    versionFits(loaded, host.driver) &&
    (userspace === undefined ? !wasRemoved : userspace === loaded) &&
    flavorFits(facts, host.driver)
  );
}

interface Obstacle {
  readonly what: string;
  readonly next: string;
}

/** Returns the kernel modules to install: open if all GPUs support them, unless the inventory sets a flavor. */
export function flavorFor(facts: Pick<Facts, 'gpus'>, spec: DriverSpec): Flavor {
  if (spec.flavor !== 'auto') return spec.flavor;
  const found = generations(facts);
  if (found.some(isOld) || Number(spec.branch) < openBranches.first) return 'proprietary';
  const needed = found.some(({ modules }) => modules === 'open');
  return needed || Number(spec.branch) >= openBranches.anyGpu ? 'open' : 'proprietary';
}

/** Returns whether the loaded modules may stay: both kinds drive Turing to Ada. */
export function flavorFits(facts: Pick<Facts, 'gpus' | 'driver'>, spec: DriverSpec): boolean {
  if (facts.driver.open === undefined) return true;
  const loaded: Flavor = facts.driver.open ? 'open' : 'proprietary';
  if (spec.flavor !== 'auto') return loaded === spec.flavor;
  return generations(facts).every(({ modules }) => modules === 'either' || modules === loaded);
}

/** Returns the first branch that supports all of the host's GPUs; 0: every branch does. */
export function leastBranch(facts: Facts): number {
  return Math.max(0, ...generations(facts).map(({ firstBranch = 0 }) => firstBranch));
}

type Host = Pick<Facts, 'gpus' | 'os'>;

/** Returns why this driver branch, or this kind of modules, cannot drive the host's GPUs. */
export function generationObstacle(facts: Host, spec: DriverSpec): Obstacle | undefined {
  const flavor = flavorFor(facts, spec);
  for (const gpu of facts.gpus) {
    const obstacle =
      newerObstacle(gpu, spec) ??
      branchObstacle(facts, gpu, spec) ??
      packagedObstacle(facts, gpu, spec) ??
      modulesObstacle(facts, gpu, spec, flavor);
    if (obstacle !== undefined) return obstacle;
  }
  return facts.gpus.length === 0 ? undefined : flavorObstacle(spec, flavor);
}

/** A GPU that the table does not have gets a branch only where the inventory names one. */
function newerObstacle(gpu: PciGpu, spec: DriverSpec): Obstacle | undefined {
  if (generationOf(gpu.deviceId).isNewer !== true || spec.orNewer !== true) return undefined;
  return {
    what: `GPU ${gpu.address} (10de:${gpu.deviceId}) is newer than this release of azp-fleet knows: its first driver branch is not known`,
    next: 'set driver: { branch: "…" } for this host to one whose release notes list the GPU, or update azp-fleet',
  };
}

/** Refuses an old branch that the host's packages do not have. A `.run` file is checked by its digest. */
function packagedObstacle(facts: Host, gpu: PciGpu, spec: DriverSpec): Obstacle | undefined {
  const { isRetired, lastBranch } = generationOf(gpu.deviceId);
  if (isRetired !== true || spec.method === 'runfile') return undefined;
  if (spec.method === 'distro' && oldBranch(facts, gpu) !== undefined) return undefined;
  return {
    what: `${device(gpu)} needs driver branch ${lastBranch}, which no package repository for this host has`,
    next: oldBranch(facts, gpu) ?? ignoreOrMove(gpu),
  };
}

/** Returns how to set the last branch of a GPU that NVIDIA's repositories no longer have. */
function oldBranch({ os }: Host, { deviceId }: PciGpu): string | undefined {
  const { isRetired, lastBranch } = generationOf(deviceId);
  const { older = [] } = systemOf(os)?.names.driver.own ?? {};
  if (isRetired !== true || !older.some((branch) => branch === lastBranch)) return undefined;
  return `set driver: { method: distro, branch: "${lastBranch}" } for this host in the inventory`;
}

function branchObstacle(facts: Host, gpu: PciGpu, spec: DriverSpec): Obstacle | undefined {
  const { firstBranch = 0, lastBranch = Number.POSITIVE_INFINITY, isRetired } = generationOf(gpu.deviceId);
  const branch = Number(spec.branch);
  // A distribution packages one branch, or a few.
  const method = spec.method === 'distro' ? 'method: repo, ' : '';
  if (branch > lastBranch) {
    const suitsAll = generations(facts).every((other) => (other.firstBranch ?? 0) <= lastBranch);
    const set =
      isRetired !== true
        ? `set driver: { ${method}branch: "${lastBranch}" } for this host in the inventory`
        : oldBranch(facts, gpu);
    return {
      what: `driver branch ${spec.branch} does not support ${device(gpu)}; ${lastBranch} is the last one that does`,
      next: (suitsAll ? set : undefined) ?? ignoreOrMove(gpu),
    };
  }
  if (branch >= firstBranch) return undefined;
  return {
    what: `driver branch ${spec.branch} does not support ${device(gpu)}; ${firstBranch} is the first one that does`,
    next: `set driver: { ${method}branch: "${firstBranch}" } or newer for this host in the inventory`,
  };
}

function modulesObstacle(
  facts: Pick<Facts, 'gpus'>,
  gpu: PciGpu,
  spec: DriverSpec,
  flavor: Flavor,
): Obstacle | undefined {
  const { modules } = generationOf(gpu.deviceId);
  if (modules === 'either' || modules === flavor) return undefined;
  const older = facts.gpus.find(({ deviceId }) => isOld(generationOf(deviceId)));
  return {
    what: `${device(gpu)} needs ${modules} kernel modules, not ${flavor} ones`,
    next:
      spec.flavor === 'auto' && older !== undefined
        ? ignoreOrMove(older)
        : `set driver: { flavor: ${modules} } or auto for this host in the inventory`,
  };
}

function flavorObstacle(spec: DriverSpec, flavor: Flavor): Obstacle | undefined {
  const branch = Number(spec.branch);
  const { first } = openBranches;
  const { last } = proprietaryBranches;
  if (flavor === 'open' ? branch >= first : branch <= last) return undefined;
  const [other, limit] = flavor === 'open' ? ['proprietary', `from ${first} on`] : ['open', `up to ${last}`];
  return {
    what: `driver branch ${spec.branch} has no ${flavor} kernel modules`,
    next: `set driver: { flavor: ${other} } or auto for this host, or a branch ${limit}`,
  };
}

function device({ address, deviceId }: PciGpu): string {
  return `GPU ${address} (10de:${deviceId}, ${generationOf(deviceId).name})`;
}

/** Returns the next action where no driver supports all GPUs; the older one may be a display card. */
function ignoreOrMove({ deviceId }: PciGpu): string {
  return `set gpus: { ignore: ["10de:${deviceId}"] } for this host if that is a display card, or move it to another host`;
}

function isOld({ modules }: Generation): boolean {
  return modules === 'proprietary';
}

function generations(facts: Pick<Facts, 'gpus'>): readonly Generation[] {
  return facts.gpus.map(({ deviceId }) => generationOf(deviceId));
}
