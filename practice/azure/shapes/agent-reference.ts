import type { FakeAgent } from '../world/state.ts';

/** An agent as job requests name theirs. What is not known of it, the service leaves out. */
export function describeAgentReference(baseUrl: string, agent: FakeAgent, status: 'online' | 'offline') {
  const { id, poolId, name, version, osDescription, enabled, provisioningState } = agent;
  return {
    _links: {
      self: { href: `${baseUrl}/_apis/distributedtask/pools/${poolId}/agents/${id}` },
      web: { href: `${baseUrl}/_settings/agentpools?view=jobs&poolId=${poolId}&agentId=${id}` },
    },
    id,
    name,
    version,
    ...(osDescription === '' ? {} : { osDescription }),
    enabled,
    status,
    provisioningState,
    // The service's name for the public address; recorded with every agent that users bring.
    ...(provisioningState === 'Provisioned' ? { accessPoint: 'CodexAccessMapping' } : {}),
  };
}
