import type { Facts } from '../facts/facts.ts';
import type { DriverSpec, VersionSpec } from '../inventory/fleet.ts';
import { platformOf } from '../packages/distribution.ts';
import { compareVersions, upstream } from '../packages/version.ts';
import { generationObstacle } from './driver/compatibility.ts';
import type { Desired } from './step.ts';

/**
 * The same wishes, where nobody asked for a version and the host has a newer one: that is what is wanted then. What was
 * asked for stays as it is, also where it is older. Pure.
 */
export function withNewerVersions(facts: Facts, desired: Desired): Desired {
  const { host } = desired;
  const { packages } = facts;
  const own = platformOf(facts)?.names.engine.own ?? '';
  return {
    ...desired,
    host: {
      ...host,
      docker: kept(host.docker, packages['docker-ce'] ?? packages[own]),
      toolkit: kept(host.toolkit, facts.toolkit.version),
      driver: newerBranch(facts, host.driver),
    },
  };
}

function kept(wish: VersionSpec, seen: string | undefined): VersionSpec {
  const [version] = /^\d+(\.\d+)+/.exec(upstream(seen ?? '')) ?? [];
  if (wish.orNewer !== true || version === undefined) return wish;
  return compareVersions(version, wish.version) > 0 ? { ...wish, version } : wish;
}

/** What runs, or what will after a reboot. A branch that cannot drive the GPUs is none to keep. */
export function newerBranch(facts: Facts, asked: DriverSpec): DriverSpec {
  if (asked.orNewer !== true) return asked;
  const wish = withOwnBranch(facts, asked);
  const { loaded, userspace } = facts.driver;
  const [newest = 0] = [loaded, userspace]
    .map((version) => Number.parseInt(version ?? '', 10))
    .filter((branch) => branch > Number(wish.branch))
    .toSorted((a, b) => b - a);
  const newer = { ...wish, branch: String(newest) };
  return newest === 0 || generationObstacle(facts, newer) !== undefined ? wish : newer;
}

/** A distribution's own packages are of its branch, not of the one that NVIDIA's would be. */
function withOwnBranch(facts: Facts, wish: DriverSpec): DriverSpec {
  const own = platformOf(facts)?.names.driver.own;
  return wish.method === 'distro' && own !== undefined ? { ...wish, branch: own.branch } : wish;
}
