import type { Activity } from '../world/activity.ts';
import type { Fake } from '../world/fake.ts';
import { admin } from '../world/identities.ts';
import { packageVersion } from '../world/packages.ts';
import type { FakeAgent } from '../world/state.ts';
import { describeAgentReference } from './agent-reference.ts';
import { describeIdentity } from './identity.ts';
import { chosenProperties } from './properties.ts';
import { describeRequest } from './request.ts';

/** What a caller wants to see of agents. */
export interface AgentDetails {
  readonly capabilities?: boolean;
  readonly assignedRequest?: boolean;
  readonly lastCompletedRequest?: boolean;
  /** Filters on names of properties; undefined: none. */
  readonly properties?: readonly string[] | undefined;
  /** The answer to a registration: it says how to log in. */
  readonly registered?: boolean;
}

/** An agent as the service shows it. Members that are undefined do not appear in the JSON. */
export function describeAgent(
  fake: Fake,
  baseUrl: string,
  agent: FakeAgent,
  activity: Activity,
  details: AgentDetails,
) {
  const { publicKey, clientId } = agent;
  const assigned = details.assignedRequest === true ? activity.assigned.get(agent.id) : undefined;
  const last = details.lastCompletedRequest === true ? activity.completed.get(agent.id) : undefined;
  const { _links, ...reference } = describeAgentReference(
    baseUrl,
    agent,
    activity.online.has(agent.id) ? 'online' : 'offline',
  );
  return {
    _links,
    maxParallelism: agent.maxParallelism,
    createdOn: agent.createdOn,
    statusChangedOn: agent.statusChangedOn,
    authorization: {
      clientId,
      ...(details.registered === true ? { authorizationUrl: `${agent.baseUrl}/_apis/oauth2/token` } : {}),
      ...(publicKey === undefined ? {} : { publicKey }),
    },
    ...reference,
    ...(details.registered === true
      ? { properties: { ServerUrl: { $type: 'System.String', $value: `${agent.baseUrl}/` } } }
      : chosenProperties(agent.properties, details.properties)),
    pendingUpdate: describeUpdate(baseUrl, agent),
    ...(details.capabilities === true
      ? { systemCapabilities: agent.systemCapabilities, userCapabilities: agent.userCapabilities }
      : {}),
    assignedRequest: assigned && describeRequest(fake, baseUrl, assigned, activity),
    lastCompletedRequest: last && describeRequest(fake, baseUrl, last, activity),
  };
}

/** Nothing when none was asked for, or the agent has come back with another version. */
function describeUpdate(baseUrl: string, { update, version }: FakeAgent) {
  if (update === undefined || update.from !== version) return undefined;
  return {
    currentState: update.state,
    reason: { code: 'manual' },
    requestedBy: describeIdentity(baseUrl, admin),
    requestTime: update.requestedOn,
    sourceVersion: packageVersion(update.from),
    targetVersion: packageVersion(update.to),
  };
}
