import { expect } from 'vitest';

/**
 * Commands after those of docs/practice.md, in their order. Then there is the pool `gpu-lab` (13) with the agents gpu-1 to
 * gpu-3 (14 to 16; 15 is disabled) and by-hand (17), and the waiting job 18.
 */
export interface AzRow {
  /** Behind `az`. */
  readonly line: string;
  /** Run before it in the same shell: writes the file that is sent. */
  readonly before?: string;
  /** What the answer is as JSON, or as text; patterns may be in it. */
  readonly json?: unknown;
  readonly text?: unknown;
}

export const invoke = (resource: string, more: string): string =>
  `devops invoke --area distributedtask --resource ${resource} ${more}`;
const send = (body: object): string => `echo '${JSON.stringify(body)}' >body.json`;
const like = (shape: object): unknown => expect.objectContaining(shape);
const guid = expect.stringMatching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const identity = like({ id: guid, displayName: expect.any(String), uniqueName: expect.any(String) });
const table = (...lines: readonly string[]): string => `${lines.join('\n')}\n`;

export const azRows: readonly AzRow[] = [
  {
    line: 'pipelines pool list --pool-name GPU-LAB',
    json: [
      like({
        id: 13,
        name: 'gpu-lab',
        size: 4,
        isHosted: false,
        poolType: 'automation',
        scope: guid,
        createdBy: identity,
        owner: identity,
        createdOn: expect.stringMatching(/^20\d\d-/),
        autoProvision: false,
      }),
    ],
  },
  { line: 'pipelines pool list --pool-type deployment', json: [] },
  { line: 'pipelines pool list --action manage --query [].name', json: ['Default', 'gpu-lab'] },
  {
    line: 'pipelines pool show --id 13 --output table',
    text: table(
      'ID    Name     Is Hosted    Pool Type',
      '----  -------  -----------  -----------',
      '13    gpu-lab  False        automation',
    ),
  },
  {
    line: 'pipelines agent list --pool-id 13 --agent-name gpu-2 --include-capabilities true --include-assigned-request true --include-last-completed-request true',
    json: [
      like({
        id: 15,
        name: 'gpu-2',
        enabled: false,
        status: 'offline',
        provisioningState: 'Provisioned',
        maxParallelism: 1,
        version: '4.275.0',
        osDescription: expect.any(String),
        systemCapabilities: like({ 'Agent.Name': 'gpu-2', git: '/usr/bin/git' }),
        userCapabilities: like({ 'gpu.count': '1' }),
        assignedRequest: null,
        lastCompletedRequest: null,
      }),
    ],
  },
  {
    line: 'pipelines agent list --pool-id 13 --demands gpu.count --query [].name',
    json: ['gpu-1', 'gpu-2', 'gpu-3'],
  },
  { line: 'pipelines agent list --pool-id 13 --demands gpu.count,no.such.thing', json: [] },
  {
    line: 'pipelines agent show --pool-id 13 --agent-id 17',
    json: like({
      id: 17,
      name: 'by-hand',
      enabled: true,
      systemCapabilities: null,
      createdOn: expect.any(String),
    }),
  },
  {
    line: `${invoke('queues', '--route-parameters project=vision --api-version 5.1-preview')} --http-method POST --in-file body.json`,
    before: send({ name: 'gpu-lab', pool: { id: 13 } }),
    json: like({ name: 'gpu-lab', pool: like({ id: 13, name: 'gpu-lab', size: 4 }), projectId: guid }),
  },
  {
    line: 'pipelines queue list --output table --query "[].{Name: name, Pool: pool.id, Hosted: pool.isHosted}"',
    text: table(
      'Name             Pool    Hosted',
      '---------------  ------  --------',
      'Default          1       False',
      'Azure Pipelines  2       True',
      'gpu-lab          13      False',
    ),
  },
  {
    line: 'pipelines queue list --queue-name gpu-lab --action use --query "[].pool.name"',
    json: ['gpu-lab'],
  },
  {
    line: 'pipelines queue show --id "$(az pipelines queue list --queue-name gpu-lab --query [0].id)"',
    json: like({ name: 'gpu-lab', pool: like({ id: 13, poolType: 'automation' }), projectId: guid }),
  },
  {
    line: 'devops project list',
    json: like({ value: [like({ id: guid, name: 'vision', state: 'wellFormed', visibility: 'private' })] }),
  },
  {
    line: 'devops project create --name second --process Scrum --visibility private',
    json: like({
      id: guid,
      name: 'second',
      capabilities: like({ processTemplate: like({ templateName: 'Scrum' }) }),
    }),
  },
  {
    line: 'devops project show --project second --query "[name, state, defaultTeam.name]" --output tsv',
    text: 'second\nwellFormed\nsecond Team\n',
  },
  {
    line: 'devops project delete --yes --id "$(az devops project show --project second --query id -o tsv)" --query status --output tsv',
    text: expect.stringMatching(/^Deleted project [0-9a-f-]{36}\nsucceeded\n$/),
  },
  {
    line: invoke('agents', '--route-parameters poolId=13 --http-method POST --in-file body.json'),
    before: send({
      name: 'another',
      version: '5.279.0',
      maxParallelism: 1,
      systemCapabilities: { 'Agent.Name': 'another' },
      authorization: { publicKey: { exponent: 'AQAB', modulus: 'qqqq' } },
    }),
    json: like({
      name: 'another',
      status: 'offline',
      enabled: true,
      authorization: like({
        clientId: guid,
        authorizationUrl: expect.stringContaining('/_apis/oauth2/token'),
      }),
      systemCapabilities: { 'Agent.Name': 'another' },
    }),
  },
  {
    line: invoke('agents', '--route-parameters poolId=13 --api-version 7.1 --query value[].name'),
    json: ['gpu-1', 'gpu-2', 'gpu-3', 'by-hand', 'another'],
  },
  {
    line: invoke('agents', '--route-parameters poolId=13 agentId=17 --http-method PATCH --in-file body.json'),
    before: send({ id: 17, enabled: false, maxParallelism: 2 }),
    json: like({ id: 17, enabled: false, maxParallelism: 2 }),
  },
  {
    line: invoke(
      'usercapabilities',
      '--route-parameters poolId=13 agentId=17 --http-method PUT --in-file body.json',
    ),
    before: send({ 'gpu.count': '2' }),
    json: like({ id: 17, userCapabilities: { 'gpu.count': '2' } }),
  },
  {
    line: `pipelines agent list --pool-id 13 --demands "gpu.count -equals 2" --query [].name --output tsv`,
    text: 'by-hand\n',
  },
  { line: invoke('agents', '--route-parameters poolId=13 agentId=17 --http-method DELETE'), text: '' },
  {
    line: invoke('jobrequests', '--route-parameters poolId=13 requestId=18'),
    json: like({
      requestId: 18,
      queueTime: expect.stringMatching(/^20\d\d-/),
      jobId: guid,
      planId: guid,
      poolId: 13,
      demands: ['gpu.count'],
      matchedAgents: [like({ name: 'gpu-1' }), like({ name: 'gpu-2' }), like({ name: 'gpu-3' })],
    }),
  },
  {
    line: invoke(
      'jobrequests',
      '--route-parameters poolId=13 --query-parameters agentIds=14 completedRequestCount=1 --query count',
    ),
    json: 0,
  },
  {
    line: invoke(
      'jobrequests',
      `--route-parameters poolId=13 requestId=18 --http-method DELETE --query-parameters lockToken=${'0'.repeat(8)}-0000-0000-0000-000000000000 result=canceled`,
    ),
    text: '',
  },
  {
    line: invoke('jobrequests', '--route-parameters poolId=13 --query value[].result'),
    json: ['canceled'],
  },
  {
    line: invoke('packages', '--route-parameters packageType=agent platform=linux-x64 version=5.279.0'),
    json: like({ type: 'agent', platform: 'linux-x64', version: { major: 5, minor: 279, patch: 0 } }),
  },
  {
    line: invoke(
      'resourcelimits',
      '--api-version 5.1-preview --query "value[?!isHosted && parallelismTag==\'Private\'].totalCount"',
    ),
    json: [2_147_483_647],
  },
  {
    line: invoke(
      'resourceusage',
      '--api-version 5.1-preview --query-parameters parallelismTag=Private poolIsHosted=false includeRunningRequests=true',
    ),
    json: like({
      usedCount: 0,
      runningRequests: [],
      resourceLimit: like({
        isHosted: false,
        parallelismTag: 'Private',
        resourceLimitsData: expect.any(Object),
      }),
    }),
  },
  {
    line: invoke(
      'pools',
      '--route-parameters poolId=13 --http-method PATCH --in-file body.json --query "[name, autoUpdate]"',
    ),
    before: send({ name: 'gpu-farm', autoUpdate: false }),
    json: ['gpu-farm', false],
  },
  {
    line: 'devops invoke --area pipelinePermissions --resource pipelinePermissions --api-version 5.1-preview --route-parameters project=vision resourceType=queue resourceId=11',
    json: like({ resource: like({ type: 'queue', id: '11' }), pipelines: [] }),
  },
  {
    line: `devops invoke --query "[?resourceName=='jobrequests'].[area, maxVersion]" --output tsv`,
    text: 'Please wait a couple of seconds while we fetch all required information.\ndistributedtask\t7.2\n',
  },
  {
    line: 'devops invoke --area distributedtask --resource pools --route-parameters poolId=13 --http-method DELETE',
    text: '',
  },
  { line: 'pipelines pool list --query [].name', json: ['Default', 'Azure Pipelines'] },
];
