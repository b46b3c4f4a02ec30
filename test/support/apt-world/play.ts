import { existsSync, readFileSync, rmSync } from 'node:fs';

import type { Facts } from '../../../src/fleet/facts/facts.ts';
import { platformOf } from '../../../src/fleet/packages/distribution.ts';
import { allVendors } from '../../../src/fleet/packages/vendors.ts';
import { planHost, questionFor } from '../../../src/fleet/plan/plan.ts';
import type { Change, Shape } from '../../../src/fleet/steps/change.ts';
import type { Desired, Step } from '../../../src/fleet/steps/step.ts';
import type { AptWorld } from './world.ts';
import { simulate } from '../../unit/fleet/steps/simulate.ts';

/** What one run does to a host. */
export interface Played {
  /** What it says: titles, and below each what apt says that it would do. Refusals, with what is to be done. */
  readonly plan: readonly string[];
  /** What `apt-get` is then asked for, without the options that all have. */
  readonly asked: readonly string[];
  /** Why it broke off. */
  readonly failed?: string;
  /** The host afterwards. */
  readonly facts: Facts;
}

/**
 * Plans, has apt asked, and runs what concerns packages for real, as far as apt decides. What the other changes do is in
 * `simulate`.
 */
export async function play(
  world: AptWorld,
  steps: readonly Step[],
  before: Facts,
  desired: Desired,
): Promise<Played> {
  const options = { steps, disturbOthers: true };
  const question = questionFor(before, desired, options, {});
  const answers =
    question === undefined ? {} : question.read((await world.run(`set -eu\n${question.script}`)).stdout);
  const { stages, refusals } = planHost(before, desired, options, { answers, final: false });
  const plan = [
    ...refusals.map(({ what, next }) => `refused: ${what}; ${next}`),
    ...stages.flat().flatMap(described),
  ];
  if (refusals.length > 0) return { plan, asked: [], facts: before };
  let facts = before;
  for (const change of stages.flat()) {
    if (change.kind === 'shape') throw new Error(`${change.title} is not known: ${change.why ?? ''}`);
    const failed = await carryOut(world, change, facts, desired);
    if (failed !== undefined) return { plan, asked: asked(world), failed, facts };
    facts = withModule(facts, await world.seen(simulate(facts, change, desired)));
  }
  return { plan, asked: asked(world), facts };
}

/** What has just been loaded is what is installed. */
function withModule(before: Facts, { driver, ...rest }: Facts): Facts {
  const loads = driver.loaded !== before.driver.loaded;
  return { ...rest, driver: { ...driver, loaded: loads ? driver.userspace : driver.loaded } };
}

async function carryOut(
  world: AptWorld,
  change: Change,
  facts: Facts,
  desired: Desired,
): Promise<string | undefined> {
  const name = change.id.replace(/-[0-9a-f]{10}$/, '');
  if (name.endsWith('-source')) addSources(world, facts, desired);
  if (change.bound === undefined && !name.endsWith('-hold')) return undefined;
  for (const action of change.actions) {
    if (action.kind !== 'run') continue;
    const { code, stderr } = await world.run(action.script);
    if (code !== 0) return stderr.trim();
  }
  return undefined;
}

/** Where keys come from is tried in other tests. */
function addSources({ host }: AptWorld, facts: Facts, desired: Desired): void {
  const platform = platformOf(facts);
  if (platform === undefined) throw new Error('the system is supported');
  for (const vendor of allVendors) {
    const { file, text } = platform.packages.source(vendor, platform, desired);
    host.file(file, text.replace(/^Signed-By: .*\n/m, ''));
  }
}

function described({ title, details = [] }: Change | Shape): string[] {
  const signs = { add: '+', change: '~', remove: '-' } as const;
  return [title, ...details.map(({ marker, text }) => `  ${signs[marker]} ${text}`)];
}

function asked({ host }: AptWorld): string[] {
  const file = host.at('/run/asked');
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  rmSync(file);
  return lines.map((line) => line.slice(line.indexOf(' install ') + 1));
}
