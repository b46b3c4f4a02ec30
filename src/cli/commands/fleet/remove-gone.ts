import { findLeftovers } from '../../../shared/azure/pools/prune.ts';
import type { Context } from '../../../shared/base/context.ts';
import { usageError } from '../../../shared/base/errors.ts';
import { quote } from '../../../shared/base/shell.ts';
import type { Fleet } from '../../../fleet/inventory/fleet.ts';
import type { CommandInput } from '../../command.ts';
import { openFleet } from '../../run/fleet.ts';
import { namesOfGone } from '../../run/gone-host.ts';
import { poolsOfFleet, prunePools } from '../../run/prune-pools.ts';
import type { Result } from '../../result.ts';

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
    `${host} still stands in ${file}: take it out there, or provision counts it as unreachable`,
    `its key still stands in known_hosts: ssh-keygen -R ${quote(known)}`,
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
    what: `the agents of ${host} cannot be told from those of other hosts by their names`,
    expected: 'agentName: with {host} in it',
    seen: template,
    next: 'delete its agents in Azure DevOps by hand, or name what they were called with --agent-name',
  });
}
