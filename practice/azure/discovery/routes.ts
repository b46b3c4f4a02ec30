import { list, ok, refusal, type FakeCall, type Route } from '../http/reply.ts';
import { connectionData } from './connection-data.ts';
import { locationsOf } from './locations.ts';
import { listedAreas } from './resource-areas.ts';
import { serviceDefinitions, serviceType } from './service-definitions.ts';

/** A server of one's own lists none: its clients stay with the address that they have. */
function resourceAreas({ fake, baseUrl }: FakeCall) {
  return fake.publicUrl === undefined
    ? listedAreas.map((area) => ({ ...area, locationUrl: `${baseUrl}/` }))
    : [];
}

const sameId = (id: string) => (each: { readonly id: string }) => each.id === id.toLowerCase();

/** What clients ask before anything else: which resources there are, where, in which versions, and who they are. */
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
  // Agents ask for some at each start and each job; here none is switched on.
  [
    'GET',
    /^\/_apis\/featureFlags\/([^/]+)$/u,
    ({ baseUrl }, name = '') => {
      const states = { effectiveState: 'Off', explicitState: 'Undefined' };
      return ok({ name, description: '', uri: `${baseUrl}/_apis/FeatureFlags/${name}`, ...states });
    },
  ],
];
