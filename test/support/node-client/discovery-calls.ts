import { ProjectVisibility } from 'azure-devops-node-api/interfaces/CoreInterfaces.js';
import { ConnectOptions } from 'azure-devops-node-api/interfaces/common/VSSInterfaces.js';
import { expect } from 'vitest';
import type { ClientCall } from './world.ts';

const guid = expect.stringMatching(/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/u) as unknown;
const distributedTask = 'a85b8835-c1a1-4aac-ae97-1c3d0ba72dbd';
const unknownId = '00000000-0000-0000-0000-000000000001';
const below = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/lab\/$/u) as unknown;

/** Connection, areas, service definitions and projects. */
export const discoveryCalls: readonly ClientCall[] = [
  {
    name: 'connect',
    call: ({ web }) => web.connect(),
    shape: {
      authenticatedUser: { id: guid, providerDisplayName: 'Lab Admin', isActive: true },
      authorizedUser: { id: guid, properties: { Account: { $type: 'System.String' } } },
      instanceId: guid,
      deploymentId: guid,
      deploymentType: 'hosted',
    },
    source: 'recorded GET /_apis/ConnectionData',
  },
  {
    name: 'getConnectionData',
    call: ({ locations }) => locations.getConnectionData(),
    shape: {
      deploymentType: 1,
      locationServiceData: {
        serviceOwner: guid,
        defaultAccessMappingMoniker: 'PublicAccessMapping',
        lastChangeId: expect.any(Number),
        lastChangeId64: expect.any(Number),
      },
    },
    source: 'recorded GET /_apis/ConnectionData',
  },
  {
    name: 'getConnectionData with services',
    call: ({ locations }) => locations.getConnectionData(ConnectOptions.IncludeServices, -1, -1),
    shape: {
      locationServiceData: {
        accessMappings: [{ moniker: 'PublicAccessMapping', virtualDirectory: 'lab' }],
        serviceDefinitions: expect.arrayContaining([
          expect.objectContaining({
            serviceType: 'LocationService2',
            identifier: distributedTask,
            status: 1,
          }),
        ]),
      },
    },
    source: 'client LocationServiceData',
  },
  {
    name: 'getConnectionData for a client that is up to date',
    call: async ({ locations }) => {
      const { locationServiceData: known } = await locations.getConnectionData();
      return await locations.getConnectionData(
        ConnectOptions.IncludeServices,
        known?.lastChangeId,
        known?.lastChangeId,
      );
    },
    shape: { locationServiceData: { clientCacheFresh: true } },
    source: 'client LocationServiceData',
  },
  {
    name: 'getResourceAreas',
    call: ({ locations }) => locations.getResourceAreas(),
    shape: expect.arrayContaining([
      { id: distributedTask, name: 'distributedtask', locationUrl: below },
      { id: '79134c72-4a58-4b42-976c-04e7115f32bf', name: 'core', locationUrl: below },
    ]),
    source: 'recorded GET /_apis/ResourceAreas',
  },
  {
    name: 'getResourceArea',
    call: ({ locations }) => locations.getResourceArea(distributedTask),
    shape: { id: distributedTask, name: 'distributedtask', locationUrl: below },
    source: 'recorded GET /_apis/ResourceAreas',
  },
  {
    name: 'getResourceArea of an unknown id',
    call: ({ locations }) => locations.getResourceArea(unknownId),
    shape: null,
    source: 'client ResourceAreaInfo',
  },
  {
    name: 'getProcesses',
    call: ({ core }) => core.getProcesses(),
    shape: expect.arrayContaining([
      expect.objectContaining({ id: 'b8a3a935-7e91-48b8-a94c-606d37c3e9f2', name: 'Basic', isDefault: true }),
    ]),
    source: 'client Process',
  },
  {
    name: 'getProcessById',
    call: ({ core }) => core.getProcessById('6b724908-ef14-45cf-84f8-768b5384da45'),
    shape: { name: 'Scrum', isDefault: false },
    source: 'client Process',
  },
  {
    name: 'getProcessById of an unknown id',
    call: ({ core }) => core.getProcessById(unknownId),
    shape: null,
    source: 'client Process',
  },
  {
    name: 'getServiceDefinitions',
    call: ({ locations }) => locations.getServiceDefinitions('LocationService2'),
    shape: expect.arrayContaining([expect.objectContaining({ identifier: distributedTask })]),
    source: 'locations ServiceDefinitions',
  },
  {
    name: 'getServiceDefinition',
    call: ({ locations }) => locations.getServiceDefinition('LocationService2', distributedTask),
    shape: { identifier: distributedTask, locationMappings: [{ location: below }] },
    source: 'locations ServiceDefinitions',
  },
  {
    name: 'getServiceDefinition of an unknown id: 404 is null',
    call: ({ locations }) => locations.getServiceDefinition('LocationService2', unknownId),
    shape: null,
    source: 'locations ServiceDefinitions',
  },
  {
    name: 'getProjects',
    call: ({ core }) => core.getProjects(),
    shape: expect.arrayContaining([
      expect.objectContaining({
        id: guid,
        name: 'vision',
        state: 'wellFormed',
        revision: expect.any(Number),
      }),
      expect.objectContaining({ name: 'two words', url: expect.stringContaining('/_apis/projects/') }),
    ]),
    source: 'recorded GET /_apis/projects',
  },
  {
    name: 'getProjects, one at a time',
    call: ({ core }) => core.getProjects(undefined, 1, 1),
    shape: [{ id: guid, name: 'two words' }],
    source: 'contract GET /{organization}/_apis/projects',
  },
  {
    name: 'getProject by name',
    call: ({ core }) => core.getProject('Vision'),
    shape: {
      id: guid,
      name: 'vision',
      visibility: 0,
      defaultTeam: { id: guid, name: 'vision Team' },
      _links: { self: { href: expect.any(String) }, web: { href: expect.any(String) } },
    },
    source: 'recorded GET /_apis/projects/GroupTests_000001',
  },
  {
    name: 'getProject by id, with capabilities',
    call: ({ core, project }) => core.getProject(project.id, true),
    shape: {
      name: 'vision',
      capabilities: {
        versioncontrol: { sourceControlType: 'Git' },
        processTemplate: { templateName: 'Basic' },
      },
    },
    source: 'recorded GET /_apis/projects/Area1000001',
  },
  {
    name: 'getProject with a space in its name',
    call: ({ core }) => core.getProject('two words'),
    shape: { name: 'two words' },
    source: 'contract GET /{organization}/_apis/projects/{projectId}',
  },
  {
    name: 'getProject of an unknown id: 404 is null',
    call: ({ core }) => core.getProject('unknown'),
    shape: null,
    source: 'contract GET /{organization}/_apis/projects/{projectId}',
  },
  {
    name: 'queueCreateProject',
    call: ({ core }) =>
      core.queueCreateProject({
        name: 'made',
        visibility: ProjectVisibility.Private,
        capabilities: {
          versioncontrol: { sourceControlType: 'Git' },
          processTemplate: { templateTypeId: 'b8a3a935-7e91-48b8-a94c-606d37c3e9f2' },
        },
      }),
    shape: { id: guid, status: expect.any(Number), url: expect.stringContaining('/_apis/operations/') },
    source: 'recorded POST /_apis/projects',
  },
];
