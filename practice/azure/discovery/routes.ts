import { createHash } from 'node:crypto';

import { parameter } from '../http/arguments.ts';
import { type FakeCall, type Route, list, ok, refusal } from '../http/reply.ts';
import { agentOf } from '../world/agent-index.ts';
import type { Fake } from '../world/fake.ts';
import { admin } from '../world/identities.ts';
import { locationsOf } from './locations.ts';
import others from './other-areas.json' with { type: 'json' };

/** Returns the areas. An Azure DevOps Server lists none: its clients keep the address that they have. */
function resourceAreas({ fake, baseUrl }: FakeCall) {
  return fake.publicUrl === undefined
    ? listedAreas.map((area) => ({ ...area, locationUrl: `${baseUrl}/` }))
    : [];
}

const sameId = (id: string) => (each: { readonly id: string }) => each.id === id.toLowerCase();

/** The first calls of clients: which resources exist, their paths and versions, and the caller's identity. */
export const discoveryRoutes: readonly Route[] = [
  [
    'OPTIONS',
    /^\/_apis(?:\/([^/]+)(?:\/([^/]+))?)?$/u,
    (_call, area, resource) => list(locationsOf(area, resource)),
  ],
  ['GET', /^\/_apis\/connectionData$/u, (call) => ok(connectionData(call))],
  ['GET', /^\/_apis\/resourceAreas$/u, (call) => list(resourceAreas(call))],
  [
    'GET',
    /^\/_apis\/resourceAreas\/([^/]+)$/u,
    (call, id = '') => ok(resourceAreas(call).find(sameId(id)) ?? null),
  ],
  [
    'GET',
    /^\/_apis\/serviceDefinitions(?:\/([^/]+))?$/u,
    (call, type = serviceType) =>
      list(type.toLowerCase() === serviceType.toLowerCase() ? serviceDefinitions(call) : []),
  ],
  [
    'GET',
    /^\/_apis\/serviceDefinitions\/([^/]+)\/([^/]+)$/u,
    (call, type = '', identifier = '') => {
      const found = serviceDefinitions(call).find((each) => each.identifier === identifier.toLowerCase());
      return found === undefined || type.toLowerCase() !== serviceType.toLowerCase()
        ? refusal(
            404,
            'ServiceDefinitionDoesNotExistException',
            `The service definition with service type '${type}' and identifier '${identifier}' does not exist.`,
            'Microsoft.VisualStudio.Services.WebApi',
          )
        : ok(found);
    },
  ],
  // Agents ask for feature flags at each start and each job; here none is set.
  [
    'GET',
    /^\/_apis\/featureFlags\/([^/]+)$/u,
    ({ baseUrl }, name = '') => {
      const states = { effectiveState: 'Off', explicitState: 'Undefined' };
      return ok({ name, description: '', uri: `${baseUrl}/_apis/FeatureFlags/${name}`, ...states });
    },
  ],
];

/**
 * Returns the caller's identity, the server's id, and, if `connectOptions` requests it, the addresses of its services.
 * Clients keep those by the instance's id and ask with the number of the last change that they know.
 */
function connectionData(call: FakeCall) {
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
      // Members with their default value are omitted (recorded).
      ...(known ? { clientCacheFresh: true } : {}),
      ...(wantsServices(query) && !known
        ? { accessMappings: [accessMapping(call)], serviceDefinitions: serviceDefinitions(call) }
        : {}),
    },
  };
}

/** Parses the options by number or name, in any case: None, IncludeServices and its sums with other options. */
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

/** Returns another number for other addresses: a client that cached those of another name of this server asks again. */
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

/** The areas of clients that this server answers, with the ids and names of the live service (recorded). */
const areas: readonly { readonly id: string; readonly name: string }[] = [
  { id: 'a85b8835-c1a1-4aac-ae97-1c3d0ba72dbd', name: 'distributedtask' },
  { id: '79134c72-4a58-4b42-976c-04e7115f32bf', name: 'core' },
  { id: 'a81a0441-de52-4000-aa15-ff0e07bfbbaa', name: 'pipelinePermissions' },
  // An agent looks up the address of builds before its first step, though it asks this server for none.
  { id: '5d6898bb-45ec-463f-95f9-54d49c71752e', name: 'build' },
  { id: '00025394-6065-48ca-87d9-7f5672854ef7', name: 'Location Service' },
  { id: '951917ac-a960-4999-8464-e3f0aa25b381', name: 'SPS Location Service' },
];

/**
 * All that the live service lists (recorded). If a client does not find its area, it asks Microsoft's servers for
 * it, with the token; if this server lists the area, the client reports that this server lacks it.
 */
const listedAreas: typeof areas = [...areas, ...Object.entries(others).map(([id, name]) => ({ id, name }))];

/** The path where clients of the .NET SDK ask for feature flags; not among the recorded areas, unverified. */
const featureAvailability = 'c8e5af97-4b95-4e73-9e7f-69a06507967c';

/**
 * Returns the owner of the addresses. Clients of the .NET SDK use only the server itself if it is an Azure
 * DevOps Server, and follow the addresses in the answer otherwise.
 */
function serviceOwner(fake: Fake): string {
  return fake.publicUrl === undefined
    ? '00025394-6065-48ca-87d9-7f5672854ef7'
    : '87966eaa-cb2a-443f-be3c-47bd3b5bf3cb';
}

const serviceType = 'LocationService2';

/**
 * Returns the address of each area's service. The live service reports whole addresses; an Azure DevOps Server reports the
 * address that the client used, so that each name of the server works.
 */
function serviceDefinitions({ fake, baseUrl }: FakeCall) {
  return [...areas.map(({ id }) => id), featureAvailability].map((identifier) => ({
    serviceType,
    identifier,
    displayName: serviceType,
    serviceOwner: serviceOwner(fake),
    status: 'active',
    ...(fake.publicUrl === undefined
      ? {
          relativeToSetting: 'fullyQualified',
          locationMappings: [{ accessMappingMoniker: 'PublicAccessMapping', location: `${baseUrl}/` }],
        }
      : { relativeToSetting: 'context', relativePath: '/', locationMappings: [] }),
  }));
}
