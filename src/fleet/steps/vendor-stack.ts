import type { Facts } from '../facts/facts.ts';
import type { VersionSpec } from '../inventory/fleet.ts';
import { platformOf } from '../packages/distribution.ts';
import type { Desired } from './step.ts';
import { defined } from '../../shared/base/objects.ts';

/**
 * DGX OS calls itself another system; its driver, Docker Engine and toolkit NVIDIA keeps together, in sources of its own:
 * they are not ours to install, to hold or to replace. They are configured, and what runs is checked.
 */
export function isVendorStack({ platform }: Pick<Facts, 'platform'>): boolean {
  return platform === 'dgx';
}

/** The wishes with the versions that are there, where those are not ours to choose. */
export function withInstalledVersions(facts: Facts, desired: Desired): Desired {
  const { docker, toolkit } = desired.host;
  return {
    ...desired,
    host: {
      ...desired.host,
      docker: found(docker, facts.docker.serverVersion, keepsVendorEngine(facts)),
      toolkit: found(toolkit, facts.toolkit.version, isVendorStack(facts)),
    },
  };
}

function found(wish: VersionSpec, version: string | undefined, kept: boolean): VersionSpec {
  return kept || wish.left === true ? { ...wish, ...defined({ version }) } : wish;
}

/** The system's own Docker Engine stays, because it comes with everything else, or because Docker has none for it. */
export function keepsVendorEngine(facts: Facts): boolean {
  return isVendorStack(facts) || platformOf(facts)?.names.engine.kept === true;
}

/** Why there is no engine to configure, where it comes with everything else. */
export function engineObstacle(facts: Facts): { readonly what: string; readonly next: string } | undefined {
  return isVendorStack(facts) && facts.packages['docker-ce'] === undefined
    ? missingVendorPart('Docker Engine')
    : undefined;
}

/** What is missing comes with the system, by hand. `what` is one of its parts. */
export function missingVendorPart(what: string): { readonly what: string; readonly next: string } {
  return {
    what: `${what} is not installed, and DGX OS has its own`,
    next: 'install it as the DGX OS user guide says, from its own package sources, and run again',
  };
}
