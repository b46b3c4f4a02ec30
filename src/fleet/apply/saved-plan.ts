import { access, constants, open, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

import { codeOf, FleetError, usageError } from '../../shared/base/errors.ts';
import { escapeHidden } from '../../shared/base/foreign-text.ts';
import { defined } from '../../shared/base/objects.ts';
import { factDigests } from '../plan/digest.ts';
import type { FleetPlan } from '../plan/fleet-plan.ts';
import { readPlan, readPlanHead } from '../plan/read-plan.ts';
import type { FleetSurvey } from './fleet-survey.ts';
import type { Survey } from './survey.ts';

const makeOne = 'make one with "azp-fleet plan -o FILE"';
/** Bytes: thousands of hosts with every script spelled out stay below. */
const longestFile = 512 * 1024 * 1024;

/** Rejects with a usage error if the plan cannot be written to the file, before any host is read. */
export async function checkPlanFile(file: string): Promise<void> {
  const there = await stat(file).catch(() => undefined);
  if (there?.isDirectory()) throw notWritable(file, 'EISDIR');
  // With the dot, a file instead of the folder is an error too.
  const needed = there ? file : `${dirname(file)}/.`;
  await access(needed, constants.W_OK).catch((error: unknown) => {
    throw notWritable(file, codeOf(error), error);
  });
}

/** Returns the plan with digests of the facts that it depends on, so that `provision --plan` names what has changed. */
export function withFactDigests(plan: FleetPlan, surveyed: readonly Survey[]): FleetPlan {
  const facts = new Map(surveyed.map((each) => [each.host.name, factDigests(each.facts)]));
  return {
    ...plan,
    hosts: plan.hosts.map((host) => ({ ...host, ...defined({ facts: facts.get(host.host) }) })),
  };
}

/** Writes the plan for `provision --plan FILE`, readable by its owner only. It contains scripts and paths, no secret. */
export async function writePlanFile(file: string, plan: FleetPlan): Promise<void> {
  const text = escapeHidden(`${JSON.stringify(plan, null, 2)}\n`);
  await writePrivately(file, text).catch((error: unknown) => {
    throw notWritable(file, codeOf(error), error);
  });
}

/** Writes the text. An existing file gets mode 0600 first; anything but a file (/dev/stdout) keeps its mode. */
async function writePrivately(file: string, text: string): Promise<void> {
  const handle = await open(file, constants.O_WRONLY | constants.O_CREAT, 0o600);
  try {
    if ((await handle.stat()).isFile()) {
      await handle.chmod(0o600);
      await handle.truncate();
    }
    await handle.writeFile(text);
  } finally {
    await handle.close();
  }
}

function notWritable(file: string, seen: string, cause?: unknown): FleetError {
  const next = seen === 'ENOENT' ? `mkdir -p ${dirname(file)}` : 'name another file with -o';
  return usageError({ code: 'plan.file', what: `the plan cannot be written to ${file}`, seen, next }, cause);
}

/** Reads a plan and checks that it is one of this version, for this inventory. */
export async function readPlanFile(
  file: string,
  expected: { readonly version: string; readonly inventoryDigest: string },
): Promise<FleetPlan> {
  const value = parsed(await textOf(file));
  const plan = readPlanHead(value);
  if (plan === undefined) throw notAPlan(file);
  if (plan.version !== expected.version)
    throw usageError({
      code: 'plan.version',
      what: `the plan ${file} was made by another version of azp-fleet`,
      expected: expected.version,
      seen: plan.version,
      next: makeOne,
    });
  if (plan.inventoryDigest !== expected.inventoryDigest)
    throw usageError({
      code: 'plan.inventory-changed',
      what: `the inventory has changed since the plan ${file} was made`,
      next: 'make a new plan with "azp-fleet plan -o FILE", check it, and apply it',
    });
  const whole = readPlan(value);
  if (whole === undefined) throw notAPlan(file);
  return whole;
}

/** Returns the survey with the saved plan instead of the new one: only changes that the user has checked are made. */
export function announcedBy(saved: FleetPlan, survey: FleetSurvey): FleetSurvey {
  const announced = new Map(saved.hosts.map((plan) => [plan.host, plan]));
  const changes = new Set(saved.fleet.map(({ id }) => id));
  return {
    ...survey,
    hosts: survey.hosts.map((host) => ({ ...host, plan: announced.get(host.host.name) ?? host.plan })),
    pools: { ...survey.pools, changes: survey.pools.changes.filter(({ id }) => changes.has(id)) },
  };
}

async function textOf(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size > longestFile) throw notAPlan(file);
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof FleetError) throw error;
    const what = `the plan ${file} cannot be read`;
    throw usageError({ code: 'plan.file', what, seen: codeOf(error), next: makeOne }, error);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function notAPlan(file: string): FleetError {
  return usageError({ code: 'plan.file', what: `${file} is not a plan of azp-fleet`, next: makeOne });
}
