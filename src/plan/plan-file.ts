import { readFile, writeFile } from 'node:fs/promises';

import { usageError } from '../base/errors.ts';
import type { FleetPlan } from './fleet-plan.ts';
import type { FleetSurvey } from './fleet-survey.ts';

/** Writes the plan for `provision --plan FILE`. It holds scripts and paths, no secret. */
export async function writePlanFile(file: string, plan: FleetPlan): Promise<void> {
  await writeFile(file, `${JSON.stringify(plan, null, 2)}\n`, { mode: 0o600 });
}

/** Reads a plan and checks that it is one of this version, for this inventory. */
export async function readPlanFile(
  file: string,
  expected: { readonly version: string; readonly inventoryDigest: string },
): Promise<FleetPlan> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw usageError(
      { code: 'plan.file', what: `the plan ${file} cannot be read`, seen: String(error) },
      error,
    );
  });
  const plan = parse(file, text);
  if (plan.version !== expected.version)
    throw usageError({
      code: 'plan.version',
      what: `the plan ${file} was made by another version of azp-fleet`,
      expected: expected.version,
      seen: plan.version,
      next: 'make it again with "azp-fleet plan -o FILE"',
    });
  if (plan.inventoryDigest !== expected.inventoryDigest)
    throw usageError({
      code: 'plan.inventory-changed',
      what: `the inventory is no longer the one that ${file} was made from`,
      next: 'make a new plan with "azp-fleet plan -o FILE", look at it, and apply that',
    });
  return plan;
}

/** The survey with the saved plan's word in place of the new one: only what was looked at then may be done. */
export function announcedBy(saved: FleetPlan, survey: FleetSurvey): FleetSurvey {
  const announced = new Map(saved.hosts.map((plan) => [plan.host, plan]));
  const changes = new Set(saved.fleet.map(({ id }) => id));
  return {
    hosts: survey.hosts.map((host) => ({ ...host, plan: announced.get(host.host.name) ?? host.plan })),
    failures: survey.failures,
    pools: { ...survey.pools, changes: survey.pools.changes.filter(({ id }) => changes.has(id)) },
  };
}

function parse(file: string, text: string): FleetPlan {
  try {
    const plan = JSON.parse(text) as FleetPlan;
    if (plan.schema === 1 && Array.isArray(plan.hosts)) return plan;
  } catch {
    // said below
  }
  throw usageError({
    code: 'plan.file',
    what: `${file} is not a plan of azp-fleet`,
    next: 'make one with "azp-fleet plan -o FILE"',
  });
}
