import type { GatheredFacts } from '../facts/facts.ts';
import type { FactsWith } from '../facts/unread.ts';
import type { DriverSpec, VersionSpec } from '../inventory/fleet.ts';
import { platformOf } from '../packages/distribution.ts';
import { compareVersions, upstream } from '../packages/version.ts';
import { generationObstacle } from './driver/compatibility.ts';
import type { Desired } from './step.ts';

/**
 * Returns the desired state with the host's newer versions where the inventory sets none. Versions that the inventory sets
 * stay, even older ones. Pure.
 */
export function withNewerVersions(
  facts: FactsWith<'packages' | 'toolkit' | 'gpus' | 'driver'>,
  desired: Desired,
): Desired {
  const { host } = desired;
  const { packages } = facts;
  const own = platformOf(facts)?.names.engine.own ?? '';
  return {
    ...desired,
    host: {
      ...host,
      docker: newerOf(host.docker, packages['docker-ce'] ?? packages[own]),
      toolkit: newerOf(host.toolkit, facts.toolkit.version),
      driver: newerBranch(facts, host.driver),
    },
  };
}

/** Returns the spec with the version that is there, where that is newer and accepted. Pure. */
export function newerOf(spec: VersionSpec, seen: string | undefined): VersionSpec {
  const [version] = /^\d+(\.\d+)+/.exec(upstream(seen ?? '')) ?? [];
  if (spec.orNewer !== true || version === undefined) return spec;
  return compareVersions(version, spec.version) > 0 ? { ...spec, version } : spec;
}

/** Returns the spec with the newer branch that runs, or will after a reboot, if it supports the GPUs. */
export function newerBranch(facts: FactsWith<'gpus' | 'driver'>, configured: DriverSpec): DriverSpec {
  if (configured.orNewer !== true) return configured;
  const spec = withDistributionBranch(facts, configured);
  const { loaded, userspace } = facts.driver;
  const [newest = 0] = [loaded, userspace]
    .map((version) => Number.parseInt(version ?? '', 10))
    .filter((branch) => branch > Number(spec.branch))
    .toSorted((a, b) => b - a);
  const newer = { ...spec, branch: String(newest) };
  return newest === 0 || generationObstacle(facts, newer) !== undefined ? spec : newer;
}

/** Returns the spec with the distribution's branch where its own packages are installed. */
function withDistributionBranch(facts: GatheredFacts, spec: DriverSpec): DriverSpec {
  const own = platformOf(facts)?.names.driver.own;
  return spec.method === 'distro' && own !== undefined ? { ...spec, branch: own.branch } : spec;
}
