import type { AzureAgent, AzureClient } from '../../azure/client.ts';
import { ownerId } from '../../azure/pools/owner.ts';
import { FleetError, type Problem } from '../../base/errors.ts';
import type { Clock } from '../../base/machine/clock.ts';
import { leftForMs } from '../../contract/holder.ts';
import type { Facts } from '../../facts/facts.ts';
import { heldNames, wantedNames, type HeldNames, type WantedNames } from '../../plan/held-names.ts';
import type { Reached } from '../survey.ts';

export interface HeldSurvey {
  readonly held: readonly HeldNames[];
  /** Pool → why its agents could not be listed. */
  readonly blocked: ReadonlyMap<string, Problem>;
}

/**
 * Looks in the pools for names of these hosts that somebody else has: one listing for each pool, and none where all names
 * are at work on their hosts.
 */
export async function lookForHeldNames(
  client: AzureClient,
  reached: readonly Pick<Reached, 'host' | 'facts'>[],
  clock: Clock,
): Promise<HeldSurvey> {
  const wanted = reached.map(({ host, facts }) => ({
    host: host.name,
    owner: ownerOf(facts),
    names: wantedNames(host, facts),
  }));
  const pools = [...new Set(wanted.flatMap(({ names }) => names.map(({ pool }) => pool)))];
  const blocked = new Map<string, Problem>();
  const listed = await Promise.all(
    pools.map(async (pool): Promise<[string, readonly AzureAgent[]]> => {
      try {
        return [pool, await agentsOf(client, pool)];
      } catch (error) {
        if (!(error instanceof FleetError)) throw error;
        blocked.set(pool, error.at({ step: 'pool' }).problem);
        return [pool, []];
      }
    }),
  );
  return { held: foundIn(wanted, new Map(listed), clock), blocked };
}

/** Looks at these names once more: who has them now, with the facts of the host as it is now. */
export async function lookAgain(
  client: AzureClient,
  { host, pool, names, others }: HeldNames,
  facts: Facts,
  clock: Clock,
): Promise<readonly HeldNames[]> {
  const found = await client.findPool(pool);
  const asked = [...names.map(({ agent }) => agent), ...others];
  const agents =
    found === undefined ? [] : await Promise.all(asked.map((name) => client.findAgent(found.id, name)));
  const there = agents.filter((agent) => agent !== undefined);
  return foundIn([{ host, owner: ownerOf(facts), names }], new Map([[pool, there]]), clock);
}

function ownerOf({ machineId, manager: { installation } }: Facts): string | undefined {
  return installation === undefined ? undefined : ownerId(machineId, installation);
}

async function agentsOf(client: AzureClient, name: string): Promise<readonly AzureAgent[]> {
  const pool = await client.findPool(name);
  return pool === undefined ? [] : client.listAgents(pool.id);
}

function foundIn(
  wanted: readonly WantedNames[],
  agents: ReadonlyMap<string, readonly AzureAgent[]>,
  clock: Clock,
): readonly HeldNames[] {
  const now = { wall: clock.wall(), leftForMs: clock.scaled(leftForMs) };
  return wanted.flatMap((each) => heldNames(each, (pool) => agents.get(pool) ?? [], now));
}
