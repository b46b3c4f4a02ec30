import pLimit from 'p-limit';

import type { ApplyTools, CountedJobs } from '../../fleet/apply/apply-tools.ts';
import { readCountedJobs, refuseCountedJobs } from '../../fleet/apply/counted-jobs.ts';
import { ownerOf } from '../../fleet/apply/held-names.ts';
import type { Reached } from '../../fleet/apply/survey.ts';
import type { PartName } from '../../fleet/packages/package-record.ts';
import type { Refusal } from '../../fleet/steps/change.ts';
import { hasManager, poolsNow, removalOf } from '../../fleet/steps/remove/remove.ts';
import { countedJobs, deregister } from '../../shared/azure/pools/agents.ts';
import { valueOf } from '../../shared/base/reading.ts';
import { asIfAbsent } from '../../fleet/facts/unread.ts';
import type { Context } from '../../shared/base/context.ts';
import { usageError } from '../../shared/base/errors.ts';
import { quote } from '../../shared/base/shell.ts';
import type { CommandInput } from '../command.ts';
import type { Result } from '../result.ts';
import { openFleet, type OpenFleet } from '../run/fleet.ts';
import { carryOut, type OwnPlan } from '../run/own-plan.ts';
import { removeGone } from './remove-gone.ts';

const parts: readonly PartName[] = ['toolkit', 'docker', 'driver'];

/** Removes azp-fleet from hosts, and their agents from Azure DevOps. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const { options, positionals } = input;
  const gone = options.list('gone');
  if (gone.length > 0) return removeGone(context, input, gone);
  if (positionals.length === 0 && options.list('limit').length === 0) throw unnamed();
  const [wait, force] = [options.flag('wait'), options.flag('force')];
  if (wait && force) throw contrary();
  const opened = await openFleet(context, input);
  const { plan, tools } = removal(context, input, opened);
  return carryOut(context, input, plan, { opened, ...tools });
}

/** Returns the plan of `remove`, and what it asks of Azure DevOps. */
export function removal(
  context: Context,
  { options }: Pick<CommandInput, 'options'>,
  { azure }: Pick<OpenFleet, 'azure'>,
) {
  const chosen = new Set(parts.filter((part) => options.flag(part)));
  const [wait, force] = [options.flag('wait'), options.flag('force')];
  const counted: CountedJobs = {
    wait,
    read: (host, facts) => {
      const owner = valueOf(ownerOf(facts));
      if (owner === undefined || !hasManager(asIfAbsent(facts))) return Promise.resolve([]);
      return countedJobs(azure, { owner, pools: poolsNow(facts, host) });
    },
  };
  const refusals = new Map<string, readonly Refusal[]>();
  const look = async (reached: readonly Pick<Reached, 'host' | 'facts'>[]): Promise<void> => {
    const limit = pLimit(parallelCalls);
    const refused = async ({ host, facts }: (typeof reached)[number]) => {
      const jobs = await readCountedJobs(counted, host, facts);
      refusals.set(host.name, refuseCountedJobs(facts, jobs, { wait, clock: context.clock }));
    };
    await Promise.all(reached.map((each) => limit(() => refused(each))));
  };
  const plan: OwnPlan = {
    command: 'remove',
    question: (where) => `Remove azp-fleet from ${where}?`,
    unasked: 'review the plan with --dry-run, then run again with --yes',
    changes: (now, before, host) => [
      ...removalOf(now, { host, owner: valueOf(ownerOf(before)), parts: chosen, root: context.root, force }),
      ...(refusals.get(host.name) ?? []),
    ],
    removes: true,
    again: () => 'run the same command again: it skips what is already removed',
  };
  const deregisterAll: ApplyTools['deregister'] = async (agents, host) => {
    const staying: string[] = [];
    await deregister(azure, agents, force ? (what) => void staying.push(what) : undefined);
    const later = `later run azp-fleet remove --gone ${quote(host)}`;
    return staying.map((what) => `stays in Azure DevOps: ${what}; ${later}`);
  };
  return { plan, tools: { deregister: deregisterAll, ...(force ? {} : { counted, look }) } };
}

/** Calls to Azure DevOps at the same time. */
const parallelCalls = 4;

function contrary(): Error {
  return usageError({
    code: 'usage.option',
    what: '--wait and --force exclude each other',
    expected: '--wait: until the server counts no job; --force: agents with such a job stay in the pool',
    next: 'leave one of them out',
  });
}

function unnamed(): Error {
  return usageError({
    code: 'usage.arguments',
    what: 'remove needs the names of hosts',
    expected: 'azp-fleet remove HOST…',
    next: 'name the hosts, or use "*" for all',
  });
}
