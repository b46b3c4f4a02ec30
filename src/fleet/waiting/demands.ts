import type { AzureAgent } from '../../shared/azure/client.ts';

/** A demand that an agent does not meet. */
export interface Lack {
  /** As in the pipeline: `gpu.model -equals H200`. */
  readonly demand: string;
  /** The agent's value; absent: it lacks the capability. */
  readonly has?: string;
}

interface Demand {
  readonly name: string;
  readonly operator?: string;
  readonly value: string;
}

function parsed(demand: string): Demand {
  const [, name = '', operator, value = ''] = /^(\S+)(?:\s+-(\w+)(?:\s+(.*))?)?$/u.exec(demand.trim()) ?? [];
  return operator === undefined
    ? { name, value }
    : { name, operator: operator.toLowerCase(), value: value.trim() };
}

/** Returns the version that a demand asks of the agent program; undefined: it asks for something else. Pure. */
export function demandedVersion(demand: string): string | undefined {
  const { name, operator, value } = parsed(demand);
  return isVersion(name) && operator === 'gtversion' ? value : undefined;
}

function isVersion(name: string): boolean {
  return name.toLowerCase() === 'agent.version';
}

/**
 * Returns the demands that an agent does not meet, as the server matches them: names and values ignore case, user
 * capabilities come first, and `-gtVersion` accepts the same version. Pure.
 */
export function lacks(agent: AzureAgent, demands: readonly string[]): readonly Lack[] {
  return demands.flatMap((demand): readonly Lack[] => {
    const { name, operator, value } = parsed(demand);
    const has = isVersion(name)
      ? (capability(agent.systemCapabilities, name) ?? agent.version)
      : (capability(agent.userCapabilities, name) ?? capability(agent.systemCapabilities, name));
    if (has === undefined) return [{ demand }];
    const isMet =
      operator === undefined ||
      (operator === 'equals' && has.toLowerCase() === value.toLowerCase()) ||
      (operator === 'gtversion' && isAtLeast(has, value));
    return isMet ? [] : [{ demand, has }];
  });
}

function capability(of: Readonly<Record<string, string>> | undefined, name: string): string | undefined {
  const wanted = name.toLowerCase();
  return Object.entries(of ?? {}).find(([each]) => each.toLowerCase() === wanted)?.[1];
}

function isAtLeast(version: string, least: string): boolean {
  const [left, right] = [version, least].map((text) => text.split('.').map(Number));
  for (let at = 0; at < Math.max(left?.length ?? 0, right?.length ?? 0); at += 1) {
    const difference = (left?.[at] ?? 0) - (right?.[at] ?? 0);
    if (Number.isNaN(difference)) return false;
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/** What Azure DevOps says of a job that no agent can run. */
export interface NoAgentFound {
  readonly pool: string;
  readonly demands: readonly string[];
}

/**
 * Parses `No agent found in pool P which satisfies the specified demands: A, B` (one a line in older releases), and
 * `… the following demand: A. All demands: A, B`; undefined: another message. Pure.
 */
export function noAgentFound(message: string): NoAgentFound | undefined {
  const [, pool, one, list] =
    /No agent found in pool (.+?) which satisfies the (?:following demands?: (.*?)\. All demands:|specified demands:)([\s\S]*)$/u.exec(
      message,
    ) ?? [];
  if (pool === undefined || list === undefined) return undefined;
  // Newer releases add the pool on a line of its own.
  const [all = ''] = list.split(/\n\s*Pool: /u);
  const demands = all.split(/[,\n]/u).map((each) => each.trim());
  const found = [...new Set([...(one ?? '').split(','), ...demands].map((each) => each.trim()))];
  // "agent.name" alone names a demand that the list has with its value.
  return {
    pool: pool.replaceAll(/^['"]|['"]$/gu, ''),
    demands: found.filter(
      (each) => each !== '' && !found.some((other) => other !== each && other.startsWith(`${each} `)),
    ),
  };
}
