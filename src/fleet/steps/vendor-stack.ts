import type { Facts } from '../facts/facts.ts';
import type { VersionSpec } from '../inventory/fleet.ts';
import { platformOf } from '../packages/distribution.ts';
import type { Desired } from './step.ts';
import { defined } from '../../shared/base/objects.ts';

/**
 * Returns whether the host runs DGX OS. NVIDIA maintains its driver, Docker Engine and toolkit in its own repositories, so azp-fleet
 * configures and checks them, and does not install, hold or replace them.
 */
export function isVendorStack({ platform }: Pick<Facts, 'platform'>): boolean {
  return platform === 'dgx';
}

/** Returns the desired state with installed versions where azp-fleet does not choose them. */
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

function found(spec: VersionSpec, version: string | undefined, kept: boolean): VersionSpec {
  return kept || spec.left === true ? { ...spec, ...defined({ version }) } : spec;
}

/** Returns whether the distribution's own Docker Engine stays: on DGX OS, or where Docker has no packages. */
export function keepsVendorEngine(facts: Facts): boolean {
  return isVendorStack(facts) || platformOf(facts)?.names.engine.kept === true;
}

/** Returns the obstacle of DGX OS without its Docker Engine. */
export function engineObstacle(facts: Facts): { readonly what: string; readonly next: string } | undefined {
  return isVendorStack(facts) && facts.packages['docker-ce'] === undefined
    ? missingVendorPart('Docker Engine')
    : undefined;
}

/** Describes a missing part of DGX OS, which its owner installs. */
export function missingVendorPart(what: string): { readonly what: string; readonly next: string } {
  return {
    what: `${what} is not installed; DGX OS has its own`,
    next: 'install it by the DGX OS user guide, from its own package repositories, and run again',
  };
}
