import path from 'node:path';

import type { Fleet } from '../../fleet/inventory/fleet.ts';
import { plainPools } from '../../fleet/inventory/pool-pattern.ts';
import { ownFiles } from '../../fleet/ssh/config/user-config.ts';
import { dropLines, type HostLines, linesAbout } from '../../fleet/ssh/write-fleet-file.ts';
import { countedJob, givenUpAt } from '../../shared/azure/job-requests.ts';
import { findLeftovers, type PoolLeftovers, type Pruned } from '../../shared/azure/pools/prune.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, type Problem, usageError } from '../../shared/base/errors.ts';
import { quote } from '../../shared/base/shell.ts';
import type { CommandInput } from '../command.ts';
import { count } from '../render/lines.ts';
import { declined, type Result } from '../result.ts';
import { openFleet } from '../run/fleet.ts';
import { namesOfGone, poolsOfFleet, prunePools } from '../run/pools.ts';

/**
 * Removes the agents of machines that no longer exist, if the server reports them offline and without a job in two
 * checks, and their lines in the SSH configuration that azp-fleet wrote. A host with an agent in use is refused whole.
 * Contacts no host; prints where the host is still named.
 */
export async function removeGone(
  context: Context,
  input: CommandInput,
  gone: readonly string[],
): Promise<Result> {
  checkArguments(input);
  const { fleet, azure } = await openFleet(context, input, []);
  const names = gone.flatMap((host) => {
    const own = namesOfGone(fleet, host, input.options.string('agentName'));
    const shared = own.find(({ template }) => !template.includes(host));
    if (shared !== undefined && fleet.hosts.length > 1) throw ambiguousNames(host, shared.template);
    return own;
  });
  const pools = await poolsOfFleet(azure, fleet);
  const all = await findLeftovers(
    azure,
    pools.map((pool) => ({ pool, hosts: names, visitors: [] })),
  );
  const missing = plainPools(fleet.hosts).filter((pool) => !all.some((each) => isSame(each.pool, pool)));
  const problems = [...missingPools(fleet, gone, missing), ...agentsInUse(all, context.clock)];
  const refused = new Set(problems.map(({ host }) => host));
  const leaving = gone.filter((host) => !refused.has(host));
  if (leaving.length === 0) {
    const json = { leftovers: [], pruned: [], sshLines: [] };
    return { exitCode: ExitCode.hostFailed, json, problems, aside: problems };
  }
  const found = all.map((pool) => ({ ...pool, found: pool.found.filter(({ host }) => !refused.has(host)) }));
  const ssh = sshLines(context, input, leaving, found);
  const after = [
    ...ssh.kept,
    ...missing.map((pool) => `${pool}: not found, or the token lacks permission; no agent is checked there`),
    ...leaving.flatMap((host) => leftHere(fleet, host)),
  ];
  const result = await prunePools(context, input, azure, found, { after, local: ssh });
  if (result === declined) return result;
  const isLeft = problems.length > 0 || ssh.isLeft();
  return {
    ...result,
    ...(isLeft ? { exitCode: ExitCode.hostFailed } : {}),
    json: { ...result.json, sshLines: ssh.lines() },
    problems,
    aside: problems,
  };
}

function checkArguments({ positionals, options }: CommandInput): void {
  if (positionals.length > 0) throw both(positionals);
  const idle = ['wait', 'force'].filter((name) => options.flag(name));
  if (idle.length > 0) throw withoutEffect(idle);
}

/** Returns a problem for each agent that is online or has a job. */
function agentsInUse(pools: readonly PoolLeftovers[], clock: Context['clock']): readonly Problem[] {
  return pools.flatMap(({ pool, inUse }) =>
    inUse.map(({ host, agent: { name, assignedRequest } }): Problem => {
      if (assignedRequest === undefined)
        return {
          code: 'remove.online',
          host,
          step: 'pool',
          what: `agent ${name} in pool ${pool} is online: its machine is not gone`,
          next: `remove it from the machine: azp-fleet remove ${quote(host)}`,
        };
      return {
        code: 'remove.agent-busy',
        host,
        step: 'pool',
        what: `${countedJob(name, assignedRequest, givenUpAt(assignedRequest, clock))}; nothing is removed`,
        next: 'run it again after that',
      };
    }),
  );
}

/** Returns a problem for each pool of a gone host that cannot be read: it may have agents with jobs. */
function missingPools(
  { hosts }: Fleet,
  gone: readonly string[],
  missing: readonly string[],
): readonly Problem[] {
  return gone.flatMap((host) => {
    const own = plainPools(hosts.filter(({ name }) => name === host));
    return own
      .filter((pool) => missing.includes(pool))
      .map((pool): Problem => ({
        code: 'pool.missing',
        host,
        step: 'pool',
        what: `pool ${pool} not found, or the token lacks permission: its agents and their jobs are unknown`,
        next: `check the token and pool:, or remove ${host} from the inventory if the pool was deleted`,
      }));
  });
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** Returns the lines of the hosts in our SSH configuration, and what removes them where all agents of the host are removed. */
function sshLines(
  { cwd, home }: Context,
  { inventory }: CommandInput,
  hosts: readonly string[],
  found: readonly PoolLeftovers[],
) {
  const files = ownFiles(home);
  const file = path.resolve(cwd, inventory);
  const all = linesAbout(files, file, hosts);
  const own = all.filter(({ ofOther }) => !ofOther);
  let left: ReadonlySet<string> = new Set();
  let dropped: readonly HostLines[] = [];
  return {
    name: 'these lines in ~/.ssh',
    shown: own.map((each) => `${each.file}: ${lineCount(each)}`),
    kept: all
      .filter(({ ofOther }) => ofOther)
      .map((each) => `${each.file}: ${lineCount(each)} kept: the file is of another inventory`),
    remove: (pruned: readonly Pruned[]): readonly string[] => {
      left = hostsLeft(found, pruned);
      dropped = own.filter(({ host }) => !left.has(host));
      dropLines(
        files,
        file,
        hosts.filter((host) => !left.has(host)),
      );
      return own.map(
        (each) => `${each.file}: ${lineCount(each)} ${left.has(each.host) ? 'kept' : 'removed'}`,
      );
    },
    /** Whether an agent was kept by the second check. */
    isLeft: () => left.size > 0,
    lines: () =>
      all.map((each) => ({
        file: each.file,
        host: each.host,
        lines: each.lines,
        removed: dropped.includes(each),
      })),
  };
}

function lineCount({ lines, host }: HostLines): string {
  return `${count(lines, 'line')} of ${host}`;
}

/** Returns the hosts of agents that the second check kept. */
function hostsLeft(found: readonly PoolLeftovers[], pruned: readonly Pruned[]): ReadonlySet<string> {
  const kept = new Set(
    pruned.filter(({ removed }) => !removed).map(({ pool, agent }) => JSON.stringify([pool, agent])),
  );
  return new Set(
    found.flatMap(({ pool, found: agents }) =>
      agents.filter(({ name }) => kept.has(JSON.stringify([pool, name]))).map(({ host }) => host),
    ),
  );
}

/** Returns the files of the user that still name the host: the user edits them. */
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
    what: '--gone cannot be combined with host names',
    seen: hosts.join(' '),
    next: 'run the command separately for each',
  });
}

function withoutEffect(flags: readonly string[]): Error {
  return usageError({
    code: 'usage.option',
    what: `--gone does not use ${flags.map((flag) => `--${flag}`).join(' and ')}`,
    expected: 'agents that are offline and without a job are removed, others stay',
    next: 'leave it out',
  });
}

function ambiguousNames(host: string, template: string): Error {
  return usageError({
    code: 'usage.option',
    what: `agents of other hosts may have the same names as those of ${host}`,
    expected: 'agentName: with {host}',
    seen: template,
    next: 'delete its agents in Azure DevOps, or pass their names with --agent-name PATTERN',
  });
}
