import type { AnySchemaObject } from 'ajv';

export interface Difference {
  readonly definition: string;
  /** `*`: the whole of it. */
  readonly member: string;
  readonly schema: AnySchemaObject;
  /** Where the service was seen so. */
  readonly source: string;
}

const anything: AnySchemaObject = {};
const orNull = (type: string): AnySchemaObject => ({ type: [type, 'null'] });
const recorded = 'test/fixtures/azure/recordings.jsonl';
const keda = "the live service's answers in the tests of KEDA's scaler for Azure Pipelines";
const agentSource = "what the agent's own program sends and reads (test/fixtures/agent)";

/** Where the live service is looser than its published contract, or says more: there the service is right. */
export const differences: readonly Difference[] = [
  { definition: 'TaskAgentPool', member: 'autoSize', schema: orNull('boolean'), source: recorded },
  {
    definition: 'TaskAgentPool',
    member: 'agentCloudId',
    schema: orNull('integer'),
    source: 'a pool of 2024 in the documentation of nanoFramework',
  },
  {
    definition: 'TaskAgentPool',
    member: 'targetSize',
    schema: orNull('integer'),
    source: 'the same pool; a number only where the machines are the service’s own',
  },
  {
    definition: 'PropertiesCollection',
    member: '*',
    schema: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        required: ['$type', '$value'],
        properties: { $type: { type: 'string' }, $value: anything },
        additionalProperties: false,
      },
    },
    source: `${recorded}: connectionData, whose user has properties of this form`,
  },
  {
    definition: 'ReferenceLinks',
    member: '*',
    schema: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        required: ['href'],
        properties: { href: { type: 'string', format: 'uri' } },
        additionalProperties: false,
      },
    },
    source: recorded,
  },
  {
    definition: 'TaskAgentPublicKey',
    member: 'exponent',
    schema: { type: 'string', format: 'byte' },
    source: agentSource,
  },
  {
    definition: 'TaskAgentPublicKey',
    member: 'modulus',
    schema: { type: 'string', format: 'byte' },
    source: agentSource,
  },
  {
    definition: 'TaskAgentJobRequest',
    member: 'demands',
    schema: { type: 'array', items: { type: 'string' } },
    source: keda,
  },
  {
    definition: 'TaskAgentJobRequest',
    member: 'agentDelays',
    schema: { type: 'array', maxItems: 0 },
    source: agentSource,
  },
  {
    definition: 'TeamProjectReference',
    member: 'visibility',
    schema: { enum: ['private', 'organization', 'public'] },
    source: recorded,
  },
];

/** Parameters of a query that the service takes and the contract has lost: it kept one of several calls of a path. */
export const lostParameters: Readonly<Record<string, readonly string[]>> = {
  'GET /{organization}/_apis/distributedtask/pools': ['poolName', 'poolType', 'properties'],
  'GET /{organization}/_apis/distributedtask/pools/{poolId}/agents/{agentId}': [
    'includeCapabilities',
    'includeAssignedRequest',
    'includeLastCompletedRequest',
    'propertyFilters',
  ],
  'GET /{organization}/{project}/_apis/distributedtask/queues': ['queueName', 'queueNames', 'queueIds'],
};

/** Answers of a path whose published answer is that of another call. */
export const otherAnswers: Readonly<Record<string, string>> = {
  'GET /{organization}/_apis/distributedtask/pools/{poolId}/agents/{agentId}': 'TaskAgent',
};

const usage =
  "counts of an organisation's tags, work items and the like; the live service's table of resources has no place for it (test/fixtures/azure/resource-locations.json)";

/** Published operations that the practice server does not have, and why. */
export const notServed: Readonly<Record<string, string>> = {
  'GET /{organization}/_apis/resourceusage': usage,
  'GET /{organization}/{project}/_apis/resourceusage': usage,
};
