import type { Facts } from '../../fleet/facts/facts.ts';
import type { Fleet } from '../../fleet/inventory/fleet.ts';
import type { PartName } from '../../fleet/packages/package-record.ts';
import { removalOf } from '../../fleet/steps/remove/remove.ts';
import { deregister, ownerId } from '../../shared/azure/pools/agents.ts';
import { findLeftovers } from '../../shared/azure/pools/prune.ts';
import type { Context } from '../../shared/base/context.ts';
import { usageError } from '../../shared/base/errors.ts';
import { quote } from '../../shared/base/shell.ts';
import type { CommandInput } from '../command.ts';
import type { Result } from '../result.ts';
import { openFleet } from '../run/fleet.ts';
import { carryOut } from '../run/own-plan.ts';
import { namesOfGone, poolsOfFleet, prunePools } from '../run/pools.ts';

const parts: readonly PartName[] = ['toolkit', 'docker', 'driver'];

/** Takes hosts out of the fleet: what was put there goes, and their agents with it. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const { options, positionals } = input;
  const gone = options.list('gone');
  if (gone.length > 0) return removeGone(context, input, gone);
  if (positionals.length === 0 && options.list('limit').length === 0) throw unnamed();
  const asked = new Set(parts.filter((part) => options.flag(part)));
  const opened = await openFleet(context, input);
  return carryOut(
    context,
    input,
    {
      question: (where) => `Remove all this from ${where}?`,
      unasked: 'review the plan with --dry-run, then run again with --yes',
      changes: (now, before, host) =>
        removalOf(now, { host, owner: ownerOf(before), parts: asked, root: context.root }),
      removes: true,
      again: () => 'run the same command again: what is gone is left out',
    },
    { opened, deregister: async (agents) => void (await deregister(opened.azure, agents)) },
  );
}

/** What its manager has marked its agents with. */
function ownerOf({ machineId, manager: { installation } }: Facts): string | undefined {
  return installation === undefined ? undefined : ownerId(machineId, installation);
}

function unnamed(): Error {
  return usageError({
    code: 'usage.arguments',
    what: 'remove needs the names of hosts',
    expected: 'azp-fleet remove HOST…',
    next: 'name them, or all of them with "*"',
  });
}

/**
 * The agents of machines that no longer answer: offline and without a job by the server's word, and that twice. The host is
 * not asked; what else names it is told.
 */
export async function removeGone(
  context: Context,
  input: CommandInput,
  gone: readonly string[],
): Promise<Result> {
  if (input.positionals.length > 0) throw both(input.positionals);
  const { fleet, azure } = await openFleet(context, input, []);
  const names = gone.flatMap((host) => {
    const found = namesOfGone(fleet, host, input.options.string('agentName'));
    const shared = found.find(({ template }) => !template.includes(host));
    if (shared !== undefined && fleet.hosts.length > 1) throw tellsNoHosts(host, shared.template);
    return found;
  });
  const pools = await poolsOfFleet(azure, fleet);
  const looks = await findLeftovers(
    azure,
    pools.map((pool) => ({ pool, hosts: names, visitors: [] })),
  );
  const after = gone.flatMap((host) => leftHere(fleet, host));
  return prunePools(context, input, azure, looks, after);
}

/** What still names the host on the machine where this runs. Its owner edits both: they may be under version control. */
function leftHere({ hosts, file }: Fleet, host: string): readonly string[] {
  const spec = hosts.find(({ name }) => name === host);
  if (spec === undefined) return [];
  const { address = host, port = 22 } = spec.ssh;
  const known = port === 22 ? address : `[${address}]:${port}`;
  return [
    `${host} is still in ${file}: remove it, or provision counts it as unreachable`,
    `its key is still in known_hosts: ssh-keygen -R ${quote(known)}`,
  ];
}

function both(hosts: readonly string[]): Error {
  return usageError({
    code: 'usage.option',
    what: '--gone reaches no host, and hosts are named as well',
    seen: hosts.join(' '),
    next: 'run the command once for each',
  });
}

function tellsNoHosts(host: string, template: string): Error {
  return usageError({
    code: 'usage.option',
    what: `the agents of ${host} have names that other hosts may use too`,
    expected: 'agentName: with {host} in it',
    seen: template,
    next: 'delete its agents in Azure DevOps by hand, or name what they were called with --agent-name',
  });
}
