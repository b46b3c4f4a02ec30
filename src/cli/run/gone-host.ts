import type { OwnNames } from '../../shared/azure/pools/prune.ts';
import { usageError } from '../../shared/base/errors.ts';
import { agentName } from '../../shared/contract/slots.ts';
import type { Fleet } from '../../fleet/inventory/fleet.ts';

/**
 * What a host that is gone may have been called in the pool: by the pattern that is given, else by its own where the
 * inventory still has it, else by every pattern there that tells hosts apart, and the default.
 */
export function namesOfGone(
  { hosts }: Fleet,
  host: string,
  pattern: string | undefined,
): readonly OwnNames[] {
  if (pattern !== undefined && !pattern.includes('{slot}')) {
    throw usageError({
      code: 'usage.option',
      what: '--agent-name is no pattern of agent names',
      expected: 'what agentName: was, e.g. gpu-{host}-{slot}',
      seen: pattern,
    });
  }
  const own = hosts.find(({ name }) => name === host)?.agentName;
  const known = hosts.map(({ agentName: each }) => each).filter((each) => each.includes('{host}'));
  const given = pattern ?? own;
  const patterns = given === undefined ? ['{host}-{slot}', ...known] : [given];
  return [...new Set(patterns)].map((each) => ({
    host,
    template: agentName({ name: host, agentName: each }, '{slot}'),
    configured: new Set(),
  }));
}
