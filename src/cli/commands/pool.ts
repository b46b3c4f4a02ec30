import { applyFleetChange } from '../../fleet/apply/pools.ts';
import { mayBecome, plainPools } from '../../fleet/inventory/pool-pattern.ts';
import { type FleetChange, planPools } from '../../fleet/plan/pools.ts';
import type { Pool } from '../../shared/azure/client.ts';
import { poolOverviews, readPoolState } from '../../shared/azure/pools/overview.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, type Problem, usageError } from '../../shared/base/errors.ts';
import { completed, nearest } from '../../shared/base/nearest.ts';
import { poolsOf } from '../../shared/contract/slots.ts';
import { confirm } from '../ask.ts';
import type { CommandInput } from '../command.ts';
import { refuseControl } from '../options.ts';
import { painter } from '../render/color.ts';
import { say } from '../render/lines.ts';
import { poolTable } from '../render/pools.ts';
import { warn } from '../render/problem.ts';
import { declined, type Result } from '../result.ts';
import { openFleet, type OpenFleet } from '../run/fleet.ts';
import { fittingPools } from '../run/pools.ts';

/** Lists the pools. Changes nothing. A missing pool is an error if it was named; one of the inventory may be created later. */
export async function runList(context: Context, input: CommandInput): Promise<Result> {
  const open = await openPools(context, input);
  const { fleet, azure, pools } = open;
  warnOfPatterns(context, input, open);
  const overviews = await poolOverviews(azure, pools, fleet.projects, context.clock.wall());
  const style = { width: context.stdout.columns ?? 160, paint: painter(context.stdout, context.env) };
  const named = new Set(input.positionals);
  const missing = overviews.filter(({ name, id }) => id === undefined && named.has(name));
  const problems = await Promise.all(
    missing.map(async ({ name }) => missingPool(name, await azure.listPools())),
  );
  const shown = overviews.filter((overview) => !missing.includes(overview));
  return {
    exitCode: missing.length > 0 ? ExitCode.usage : ExitCode.ok,
    json: { pools: overviews },
    problems,
    aside: problems,
    ...(shown.length > 0 ? { text: () => `${poolTable(shown, style).join('\n')}\n` } : {}),
  };
}

function missingPool(name: string, all: readonly Pool[]): Problem {
  const names = all.filter(({ isHosted }) => isHosted !== true).map((pool) => pool.name);
  const near = nearest(name, names) ?? completed(name, names);
  return {
    code: 'pool.missing',
    step: 'pool',
    what: `${name} not found, or the token lacks permission`,
    next:
      near === undefined ? 'list the pools of the inventory: azp-fleet pool list' : `did you mean "${near}"?`,
  };
}

/** Creates missing pools, and turns off automatic agent updates in existing ones. */
export async function runCreate(context: Context, input: CommandInput): Promise<Result> {
  const open = await openPools(context, input);
  return await carryOut(context, input, open, planPools(await readPoolState(open.azure, open.pools, [])));
}

/** Permits projects to use the pools. */
export async function runAuthorize(context: Context, input: CommandInput): Promise<Result> {
  const open = await openPools(context, input);
  const named = input.options.list('project');
  const projects = named.length > 0 ? named : open.fleet.projects;
  if (projects.length === 0) {
    throw usageError({
      code: 'usage.project-missing',
      what: 'the project is missing',
      next: 'add --project NAME, or "projects:" to the inventory',
    });
  }
  return await carryOut(
    context,
    input,
    open,
    planPools(await readPoolState(open.azure, open.pools, projects)),
  );
}

export interface OpenPools extends OpenFleet {
  readonly pools: readonly string[];
  /** Pool name patterns of the hosts: only facts of the hosts resolve them, which these commands do not read. */
  readonly patterns: readonly string[];
}

/** Returns the named pools, or those of the selected hosts, with existing pools that match their patterns. */
export async function openPools(context: Context, input: CommandInput): Promise<OpenPools> {
  const named = input.positionals;
  refuseControl(named, 'the name of a pool');
  const open = await openFleet(context, input, []);
  if (named.length > 0) return { ...open, pools: named, patterns: [] };
  const plain = plainPools(open.hosts);
  const patterns = [...new Set(open.hosts.flatMap(poolsOf))].filter((pool) => !plain.includes(pool));
  const fitting = await fittingPools(open.azure, patterns);
  return { ...open, pools: [...new Set([...plain, ...fitting])], patterns };
}

/** Warns of pool names that depend on facts of the hosts. */
export function warnOfPatterns(context: Context, { options }: CommandInput, open: OpenPools): void {
  if (options.flag('json')) return;
  for (const pattern of open.patterns) {
    const found = open.pools.filter((pool) => mayBecome(pattern, pool));
    const seen = found.length === 0 ? 'no existing pool matches' : `${found.join(', ')} match`;
    warn(context.stderr, {
      what: `pool name ${pattern} depends on facts of the hosts: ${seen}`,
      next: 'run "azp-fleet plan", which reads the hosts',
    });
  }
}

/** Shows the changes, asks, applies them in order. */
export async function carryOut(
  context: Context,
  input: CommandInput,
  open: OpenPools,
  changes: readonly FleetChange[],
): Promise<Result> {
  const { options } = input;
  warnOfPatterns(context, input, open);
  const print = (text: string) => say(context.stderr, `${text}\n`);
  for (const { title, why } of changes) print(`${title} (${why})`);
  const ask = changes.length > 0 && !options.flag('yes');
  if (ask && !(await confirm(context, 'Make these changes in Azure DevOps?'))) return declined;
  for (const change of changes) {
    await applyFleetChange(open.azure, change);
    print(`done: ${change.title}`);
  }
  const text = () => (changes.length === 0 ? 'no changes\n' : '');
  return { exitCode: ExitCode.ok, json: { changes }, text };
}
