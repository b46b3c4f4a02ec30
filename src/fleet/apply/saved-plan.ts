import { access, constants, open, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

import { codeOf, FleetError, usageError } from '../../shared/base/errors.ts';
import { escapeHidden } from '../../shared/base/foreign-text.ts';
import type { FleetPlan } from '../plan/fleet-plan.ts';
import { readPlan, readPlanHead } from '../plan/read-plan.ts';
import type { FleetSurvey } from './fleet-survey.ts';

const makeOne = 'make one with "azp-fleet plan -o FILE"';
/** Bytes: thousands of hosts with every script spelled out stay below. */
const longestFile = 512 * 1024 * 1024;

/** Rejects with a usage error when the plan could not be written there: known before any host is asked. */
export async function checkPlanFile(file: string): Promise<void> {
  const there = await stat(file).catch(() => undefined);
  if (there?.isDirectory()) throw notWritable(file, 'EISDIR');
  // Appending the dot makes a file in the place of the folder an error too.
  const needed = there ? file : `${dirname(file)}/.`;
  await access(needed, constants.W_OK).catch((error: unknown) => {
    throw notWritable(file, codeOf(error), error);
  });
}

/** Writes the plan for `provision --plan FILE`, for us alone to read. It holds scripts and paths, no secret. */
export async function writePlanFile(file: string, plan: FleetPlan): Promise<void> {
  const text = escapeHidden(`${JSON.stringify(plan, null, 2)}\n`);
  await writePrivately(file, text).catch((error: unknown) => {
    throw notWritable(file, codeOf(error), error);
  });
}

/** A file that is there loses a wider mode before it gets the text; what is no file (/dev/stdout) keeps its own. */
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
      what: `the inventory is no longer the one that ${file} was made from`,
      next: 'make a new plan with "azp-fleet plan -o FILE", look at it, and apply that',
    });
  const whole = readPlan(value);
  if (whole === undefined) throw notAPlan(file);
  return whole;
}

/** The survey with the saved plan's word in place of the new one: only what was looked at then may be done. */
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
