import type { AzureAgent } from '../../shared/azure/client.ts';
import { Capabilities } from '../../shared/contract/paths.ts';
import { offSince } from '../../shared/contract/idle.ts';
import type { Verdict } from '../../shared/health/verdict.ts';

/**
 * That a host which does not answer has ended itself: its manager has disabled its agents in the pool and said why, and none
 * of them is online. Undefined: the pool does not say so. Pure.
 */
export function switchedOff(agents: readonly AzureAgent[]): Verdict | undefined {
  if (agents.some(({ status }) => status === 'online')) return undefined;
  const [since] = agents.flatMap(({ enabled, userCapabilities }) =>
    enabled ? [] : (offSince(userCapabilities?.[Capabilities.drainReason]) ?? []),
  );
  if (since === undefined) return undefined;
  return {
    state: 'off',
    cause: `${since}, and powered itself off (idle:)`,
    next: 'start it at its provider when it is needed; its agents come back by themselves',
  };
}
