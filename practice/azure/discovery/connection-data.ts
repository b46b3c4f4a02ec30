import { createHash } from 'node:crypto';
import { parameter } from '../http/query.ts';
import type { FakeCall } from '../http/reply.ts';
import { agentOf } from '../world/agent-index.ts';
import { admin } from '../world/identities.ts';
import { areas, serviceOwner } from './resource-areas.ts';
import { serviceDefinitions } from './service-definitions.ts';

/**
 * Who calls, which server this is, and, where `connectOptions` asks for it, at which addresses its services are.
 * Clients keep those by the instance's id and ask with the number of the last change that they know.
 */
export function connectionData(call: FakeCall) {
  const { fake, baseUrl, query } = call;
  const { collectionId: instanceId } = fake.state;
  const user = caller(call);
  const lastChange = changeNumber(baseUrl);
  const known =
    Number(parameter(query, 'lastChangeId64') ?? parameter(query, 'lastChangeId') ?? -1) === lastChange;
  return {
    authenticatedUser: user,
    authorizedUser: user,
    instanceId,
    deploymentId: instanceId,
    deploymentType: fake.publicUrl === undefined ? 'hosted' : 'onPremises',
    locationServiceData: {
      serviceOwner: serviceOwner(fake),
      defaultAccessMappingMoniker: 'PublicAccessMapping',
      lastChangeId: lastChange,
      lastChangeId64: lastChange,
      // Members that have their usual value do not appear (recorded).
      ...(known ? { clientCacheFresh: true } : {}),
      ...(wantsServices(query) && !known
        ? { accessMappings: [accessMapping(call)], serviceDefinitions: serviceDefinitions(call) }
        : {}),
    },
  };
}

/** By number or name, in any case: None, IncludeServices and its sums with other options. */
function wantsServices(query: URLSearchParams): boolean {
  const options = (parameter(query, 'connectOptions') ?? '').toLowerCase();
  return options.split(/[\s,]+/u).includes('includeservices') || (Number(options) & 1) === 1;
}

function accessMapping({ fake, baseUrl }: FakeCall) {
  const { origin, pathname } = new URL(baseUrl);
  return {
    displayName: 'Public Access Mapping',
    moniker: 'PublicAccessMapping',
    accessPoint: `${origin}/`,
    serviceOwner: serviceOwner(fake),
    virtualDirectory: pathname.slice(1),
  };
}

/** Another number for other addresses: whoever kept those of another name of this server asks anew. */
function changeNumber(baseUrl: string): number {
  return createHash('sha256').update(`${baseUrl} ${areas.length}`).digest().readUInt32BE() >>> 1;
}

function caller({ fake, agentId }: FakeCall) {
  const agent = agentOf(fake.state, agentId ?? 0);
  if (agent === undefined) {
    return {
      id: admin.id,
      descriptor: `Microsoft.IdentityModel.Claims.ClaimsIdentity;${fake.state.collectionId}\\${admin.uniqueName}`,
      subjectDescriptor: admin.descriptor,
      providerDisplayName: admin.displayName,
      customDisplayName: admin.displayName,
      ...identityOf(admin.uniqueName),
    };
  }
  return {
    id: agent.clientId,
    descriptor: `Microsoft.TeamFoundation.ServiceIdentity;${agent.clientId}`,
    subjectDescriptor: `svc.${Buffer.from(agent.clientId).toString('base64url')}`,
    providerDisplayName: agent.name,
    ...identityOf(agent.clientId),
  };
}

function identityOf(account: string) {
  return {
    isActive: true,
    properties: { Account: { $type: 'System.String', $value: account } },
    resourceVersion: 2,
    metaTypeId: 0,
  };
}
