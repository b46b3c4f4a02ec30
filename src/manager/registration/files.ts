import type { AzureAgent } from '../../azure/client.ts';
import { Capabilities } from '../../contract/paths.ts';
import type { Cause } from '../model.ts';

export type RegistrationDecision =
  | { readonly kind: 'create' }
  | { readonly kind: 'replace'; readonly agent: AzureAgent }
  /** Not now; asked again shortly. */
  | { readonly kind: 'wait'; readonly cause: Cause }
  /** Not without a person's word. */
  | { readonly kind: 'refuse'; readonly cause: Cause };

export interface RegistrationQuestion {
  readonly name: string;
  /** What the server has under this name, read just now. */
  readonly agent: AzureAgent | undefined;
  /** Our owner id. */
  readonly owner: string;
  /** An administrator has said that this host may take the name over. */
  readonly adopt: boolean;
  /** Containers of the slot in any state but gone. */
  readonly containers: number;
}

/**
 * Whether the name may get a new key now. The old key dies with it, so never while a container of the slot exists or
 * the server shows a job assigned to the agent; and never for an agent that somebody else registered.
 */
export function decideRegistration(question: RegistrationQuestion): RegistrationDecision {
  const { name, agent, owner, adopt, containers } = question;
  if (containers > 0) {
    return {
      kind: 'wait',
      cause: {
        code: 'slot.container-exists',
        what: `a container of agent ${name} still exists`,
        next: 'wait: it is collected first',
      },
    };
  }
  if (agent === undefined) return { kind: 'create' };
  const holder = agent.userCapabilities?.[Capabilities.owner];
  if (holder !== owner && !adopt) {
    return {
      kind: 'refuse',
      cause: {
        code: 'agent.name-held',
        what: `the pool already has an agent ${name} that ${holder === undefined ? 'was not registered by azp-fleet' : 'belongs to another host or an earlier installation'}`,
        next: 'choose another agentName, delete the agent in the pool, or take the name over: azp-fleet adopt',
      },
    };
  }
  if (agent.assignedRequest !== undefined) {
    return {
      kind: 'wait',
      cause: {
        code: 'agent.job-assigned',
        what: `the server still counts job ${agent.assignedRequest.jobName ?? agent.assignedRequest.requestId} as running on agent ${name}`,
        next: 'wait: the server notices within about 15 minutes that a job was cut off',
      },
    };
  }
  return { kind: 'replace', agent };
}
