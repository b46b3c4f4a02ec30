import {
  TaskAgentPoolActionFilter,
  TaskAgentPoolType,
} from 'azure-devops-node-api/interfaces/TaskAgentInterfaces.js';
import { expect } from 'vitest';
import { refusal, type ClientCall } from './world.ts';

const guid = expect.stringMatching(/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/u) as unknown;
const identity = { id: guid, displayName: expect.any(String), uniqueName: expect.any(String) };
const pools = '/{organization}/_apis/distributedtask/pools';
const { Automation: automation, Deployment: deployment } = TaskAgentPoolType;

/** Calls about pools, their packages and their maintenance. */
export const poolCalls: readonly ClientCall[] = [
  {
    name: 'getAgentPools',
    call: ({ tasks }) => tasks.getAgentPools(),
    shape: expect.arrayContaining([
      expect.objectContaining({ name: 'Default', isHosted: false, poolType: automation }),
      expect.objectContaining({ name: 'Azure Pipelines', isHosted: true }),
    ]),
    source: `contract GET ${pools}`,
  },
  {
    name: 'getAgentPools by name, in any case',
    call: ({ tasks }) => tasks.getAgentPools('CLIENT'),
    shape: [
      {
        id: expect.any(Number),
        name: 'client',
        createdOn: expect.any(Date),
        createdBy: identity,
        owner: identity,
        scope: guid,
        size: 2,
        targetSize: null,
        agentCloudId: null,
        autoSize: true,
        isLegacy: false,
        options: 0,
      },
    ],
    source: 'recorded GET /_apis/distributedtask/pools',
  },
  {
    name: 'getAgentPools by an unknown name',
    call: ({ tasks }) => tasks.getAgentPools('unknown'),
    shape: [],
    source: `contract GET ${pools}`,
  },
  {
    name: 'getAgentPools for deployment',
    call: ({ tasks }) => tasks.getAgentPools(undefined, undefined, deployment),
    shape: [],
    source: `contract GET ${pools}`,
  },
  {
    name: 'getAgentPools that one may manage',
    call: ({ tasks, pool }) =>
      tasks.getAgentPools(pool.name, undefined, automation, TaskAgentPoolActionFilter.Manage),
    shape: [{ name: 'client' }],
    source: `contract GET ${pools}`,
  },
  {
    name: 'getAgentPoolsByIds',
    call: ({ tasks, pool }) => tasks.getAgentPoolsByIds([pool.id, 1, 999_999]),
    shape: [{ name: 'Default' }, { name: 'client' }],
    source: 'client TaskAgentPool',
  },
  {
    name: 'getAgentPool',
    call: ({ tasks, pool }) => tasks.getAgentPool(pool.id),
    shape: { name: 'client', isHosted: false, poolType: automation, size: 2 },
    source: `contract GET ${pools}/{poolId}`,
  },
  {
    name: 'getAgentPool of an unknown id: 404 is null',
    call: ({ tasks }) => tasks.getAgentPool(999_999),
    shape: null,
    source: `contract GET ${pools}/{poolId}`,
  },
  {
    name: 'addAgentPool, autoUpdate not minded',
    call: ({ tasks }) => tasks.addAgentPool({ name: 'added', autoProvision: false, autoUpdate: false }),
    shape: { id: expect.any(Number), name: 'added', size: 0, autoProvision: false, autoUpdate: true },
    source: `contract POST ${pools}`,
  },
  {
    name: 'addAgentPool with a taken name',
    call: ({ tasks }) => refusal(tasks.addAgentPool({ name: 'Client' })),
    shape: { statusCode: 409, typeKey: 'TaskAgentPoolExistsException' },
    source: `contract POST ${pools}`,
  },
  {
    name: 'addAgentPool without a name',
    call: ({ tasks }) => refusal(tasks.addAgentPool({})),
    shape: { statusCode: 400 },
    source: `contract POST ${pools}`,
  },
  {
    name: 'updateAgentPool',
    call: async ({ tasks }) => {
      const { id = 0 } = await tasks.addAgentPool({ name: 'updated' });
      await tasks.updateAgentPool({ name: 'renamed', autoUpdate: false }, id);
      return await tasks.getAgentPool(id);
    },
    shape: { name: 'renamed', autoUpdate: false },
    source: `contract PATCH ${pools}/{poolId}`,
  },
  {
    name: 'deleteAgentPool',
    call: async ({ tasks }) => {
      const { id = 0 } = await tasks.addAgentPool({ name: 'deleted' });
      await tasks.deleteAgentPool(id);
      return await tasks.getAgentPool(id);
    },
    shape: null,
    source: `contract DELETE ${pools}/{poolId}`,
  },
  {
    name: 'getResourceLimits, preview versions only',
    call: ({ tasks }) => tasks.getResourceLimits(),
    shape: expect.arrayContaining([expect.objectContaining({ parallelismTag: 'Private', isHosted: false })]),
    source: 'locations resourcelimits',
  },
  {
    name: 'getResourceUsage',
    call: ({ tasks }) => tasks.getResourceUsage('Private', false, true),
    shape: { resourceLimit: { parallelismTag: 'Private', isHosted: false }, usedCount: expect.any(Number) },
    source: 'contract GET /{organization}/_apis/resourceusage',
  },
  {
    name: 'getPackages, the newest',
    call: ({ tasks }) => tasks.getPackages('agent', 'linux-x64', 1),
    shape: [
      {
        type: 'agent',
        platform: 'linux-x64',
        version: { major: expect.any(Number) },
        downloadUrl: expect.any(String),
      },
    ],
    source: 'client PackageMetadata',
  },
  {
    name: 'getPackage of an unknown id: 404 is null',
    call: ({ tasks }) => tasks.getPackage('agent', 'linux-x64', '0.0.1'),
    shape: null,
    source: 'client PackageMetadata',
  },
  {
    name: 'maintenance definitions: made, changed, listed',
    call: async ({ tasks, pool }) => {
      const { id = 0 } = await tasks.createAgentPoolMaintenanceDefinition(
        { enabled: true, jobTimeoutInMinutes: 60, maxConcurrentAgentsPercentage: 25 },
        pool.id,
      );
      await tasks.updateAgentPoolMaintenanceDefinition({ id, enabled: false }, pool.id, id);
      return await tasks.getAgentPoolMaintenanceDefinitions(pool.id);
    },
    shape: [{ id: expect.any(Number), enabled: false, jobTimeoutInMinutes: 60 }],
    source: 'client TaskAgentPoolMaintenanceDefinition',
  },
  {
    name: 'a maintenance definition that is deleted: 404 is null',
    call: async ({ tasks }) => {
      const { id = 0 } = await tasks.createAgentPoolMaintenanceDefinition({ enabled: true }, 1);
      await tasks.deleteAgentPoolMaintenanceDefinition(1, id);
      return await tasks.getAgentPoolMaintenanceDefinition(1, id);
    },
    shape: null,
    source: 'client TaskAgentPoolMaintenanceDefinition',
  },
];
