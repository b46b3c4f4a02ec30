import { valueOf } from '../../shared/base/reading.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import { dockerVersion, loadedDriver, toolkitVersion } from '../facts/unread.ts';
import type { HostSpec, VersionSpec } from '../inventory/fleet.ts';
import { upstream } from '../packages/version.ts';
import { planHost } from '../plan/plan.ts';
import { allSteps } from '../steps/all.ts';
import type { StepName } from '../steps/change.ts';
import type { Desired, Step } from '../steps/step.ts';
import { hasNoWayBack, type PartName } from './parts.ts';

/** The steps that change a part. */
const ownSteps: Readonly<Record<PartName, readonly StepName[]>> = {
  driver: ['driver'],
  docker: ['docker'],
  toolkit: ['toolkit'],
  agent: ['image', 'manager'],
  manager: ['image', 'manager'],
};

/**
 * Returns the steps of an upgrade on one host: those of its parts, and what follows from them. `isManagerCurrent`: what the manager
 * lacks after the upgrade follows from it; otherwise the manager keeps what it has. Pure.
 */
export function stepsFor(
  parts: readonly PartName[],
  facts: GatheredFacts,
  isManagerCurrent: boolean,
): readonly Step[] {
  const own = new Set(parts.flatMap((part) => ownSteps[part]));
  const follows = (name: StepName): boolean => {
    // The CDI specification names the driver's libraries, and the settings of dockerd depend on the engine's version.
    if (name === 'toolkit') return hasNoWayBack(parts) && valueOf(toolkitVersion(facts)) !== undefined;
    return parts.includes('driver') && ownSteps.manager.includes(name) && isManagerCurrent;
  };
  return allSteps.flatMap((step) => {
    if (own.has(step.name)) return [step];
    return follows(step.name) ? [withoutPackages(step)] : [];
  });
}

/** Returns the step without changes of packages and their sources, which belong to an upgrade of its own part. */
function withoutPackages(step: Step): Step {
  return {
    name: step.name,
    *plan(facts, desired) {
      for (const item of step.plan(facts, desired))
        if (!('pending' in item || 'holding' in item || ('id' in item && /-source-\w+$/.test(item.id))))
          yield item;
    },
  };
}

/** Returns the host with the installed versions of the parts that are not upgraded, so that their steps change none of them. Pure. */
export function withOthersKept(host: HostSpec, facts: GatheredFacts, parts: readonly PartName[]): HostSpec {
  const docker = valueOf(dockerVersion(facts));
  const toolkit = valueOf(toolkitVersion(facts));
  const branch = valueOf(loadedDriver(facts))?.split('.')[0];
  const { version: _version, sha256: _sha256, ...driver } = host.driver;
  return {
    ...host,
    docker: parts.includes('docker') ? host.docker : kept(host.docker, docker),
    toolkit: parts.includes('toolkit') ? host.toolkit : kept(host.toolkit, toolkit),
    driver: parts.includes('driver') || branch === undefined ? host.driver : { ...driver, branch },
  };
}

function kept(spec: VersionSpec, version: string | undefined): VersionSpec {
  const [number] = /^\d+(?:\.\d+)*/.exec(upstream(version ?? '')) ?? [];
  return spec.left === true || number === undefined ? spec : { version: number };
}

/** Tells whether the manager and its image are as this desired state has them. Pure. */
export function isManagerCurrent(facts: GatheredFacts, desired: Desired): boolean {
  const steps = allSteps.filter(({ name }) => ownSteps.manager.includes(name));
  const { stages, refusals } = planHost(facts, desired, { steps, disturbOthers: true });
  return stages.length === 0 && refusals.length === 0;
}
