import type { FakeCall } from '../http/reply.ts';
import { areas, featureAvailability, serviceOwner } from './resource-areas.ts';

export const serviceType = 'LocationService2';

/**
 * Where each area's service is. The live service names whole addresses; a server of one's own says that they are
 * where the client has already found it, so that a client comes through by whatever name it uses.
 */
export function serviceDefinitions({ fake, baseUrl }: FakeCall) {
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
