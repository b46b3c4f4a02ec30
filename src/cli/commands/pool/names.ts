import { applyFleetChange } from '../../../fleet/apply/pools.ts';
import type { FleetChange } from '../../../fleet/plan/pools.ts';
import type { Context } from '../../../shared/base/context.ts';
import { ExitCode } from '../../../shared/base/errors.ts';
import { poolsOf } from '../../../shared/contract/slots.ts';
import { mayBecome, plainPools } from '../../../fleet/inventory/pool-pattern.ts';
import { say } from '../../render/lines/say.ts';
import { warn } from '../../render/problem.ts';
import { confirm } from '../../ask.ts';
import type { CommandInput } from '../../command.ts';
import { refuseControl } from '../../options.ts';
import { fittingPools } from '../../run/fitting-pools.ts';
import { openFleet, type OpenFleet } from '../../run/fleet.ts';
import { declined, type Result } from '../../result.ts';

export interface OpenPools extends OpenFleet {
  readonly pools: readonly string[];
  /** Patterns of the hosts' pools: what becomes of them, only the hosts know, which are not asked here. */
  readonly patterns: readonly string[];
}

/** The pools that are named, or those of the selected hosts; of their patterns, the pools there that fit one. */
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

/** Says what is to be known of pools that only the hosts can name. */
export function tellPatterns(context: Context, { options }: CommandInput, open: OpenPools): void {
  if (options.flag('json')) return;
  for (const pattern of open.patterns) {
    const found = open.pools.filter((pool) => mayBecome(pattern, pool));
    const seen = found.length === 0 ? 'no pool there fits' : `${found.join(', ')} may be meant`;
    warn(context.stderr, {
      what: `${pattern} is named after what each host has: ${seen}`,
      next: 'run "azp-fleet plan", which asks the hosts',
    });
  }
}

/** Shows the changes, asks, makes them in order. */
export async function carryOut(
  context: Context,
  input: CommandInput,
  open: OpenPools,
  changes: readonly FleetChange[],
): Promise<Result> {
  const { options } = input;
  tellPatterns(context, input, open);
  const tell = (text: string) => say(context.stderr, `${text}\n`);
  for (const { title, why } of changes) tell(`${title} (${why})`);
  const ask = changes.length > 0 && !options.flag('yes');
  if (ask && !(await confirm(context, 'Make these changes in Azure DevOps?'))) return declined;
  for (const change of changes) {
    await applyFleetChange(open.azure, change);
    tell(`done: ${change.title}`);
  }
  const text = () => (changes.length === 0 ? 'no changes\n' : '');
  return { exitCode: ExitCode.ok, json: { changes }, text };
}
