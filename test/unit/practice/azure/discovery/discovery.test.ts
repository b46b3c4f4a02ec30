// What clients ask before anything else, over HTTP.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { locations } from '../../../../../practice/azure/discovery/locations.ts';
import { startFake, type RunningFake } from '../../../../../practice/azure/start.ts';
import { systemClock } from '../../../../../src/shared/base/clock.ts';
import { recordings } from '../recordings.ts';
import { useFake } from '../server.ts';

const fake = useFake();
const basic = (user: string, token = 'good-token') =>
  `Basic ${Buffer.from(`${user}:${token}`).toString('base64')}`;

interface Asking {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

async function ask(path: string, init: Asking = {}, organization = fake.server.organization) {
  const headers = { authorization: basic(''), ...init.headers };
  const response = await fetch(`${organization}${path}`, { redirect: 'manual', ...init, headers });
  const text = await response.text();
  const json = text.startsWith('{') || text === 'null' ? (JSON.parse(text) as unknown) : undefined;
  return { status: response.status, headers: response.headers, json, text };
}

describe('OPTIONS', () => {
  const all = { count: locations.length, value: locations };

  test.each(['/_apis', '/_apis/', '/_apis?allHostTypes=true', '/_APIS/?allHostTypes=false'])(
    '%s: everything that is served',
    async (path) => {
      const { status, json, headers } = await ask(path, { method: 'OPTIONS' });
      expect(status).toBe(200);
      expect(json).toEqual(all);
      // Recorded: no version.
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    },
  );

  test.each([
    ['/_apis/core', 'core'],
    ['/_apis/distributedtask/', 'distributedtask'],
    ['/_apis/DistributedTask?allHostTypes=true', 'distributedtask'],
    ['/_apis/Location', 'Location'],
    ['/_apis/pipelinePermissions', 'pipelinePermissions'],
  ])('%s: what its area has', async (path, area) => {
    const { json } = await ask(path, { method: 'OPTIONS' });
    const value = locations.filter((each) => each.area === area);
    expect(json).toEqual({ count: value.length, value });
    expect(value).not.toEqual([]);
  });

  test('an area that is not served is empty', async () => {
    expect(await ask('/_apis/git', { method: 'OPTIONS' })).toMatchObject({ status: 200, json: { count: 0 } });
  });
});

describe('resource areas', () => {
  test('each lies below the organisation', async () => {
    const { json, headers } = await ask('/_apis/resourceAreas', {
      headers: { accept: 'application/json;api-version=5.0-preview.1' },
    });
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8; api-version=5.0-preview.1');
    const { value } = json as { value: readonly { name: string; id: string; locationUrl: string }[] };
    expect(value.find(({ name }) => name === 'distributedtask')).toEqual({
      id: 'a85b8835-c1a1-4aac-ae97-1c3d0ba72dbd',
      name: 'distributedtask',
      locationUrl: `${fake.server.organization}/`,
    });
    for (const { locationUrl } of value) expect(locationUrl).toBe(`${fake.server.organization}/`);
  });

  test('those of the live service are all there, so that no client looks for them at Microsoft', async () => {
    const recorded = recordings.find(({ url }) => url.endsWith('/_apis/ResourceAreas'))?.body;
    const known = ({ value }: { value: readonly { id: string; name: string }[] }) =>
      new Map(value.map(({ id, name }) => [id, name]));
    const { json } = await ask('/_apis/resourceAreas');
    expect(known(json as never)).toEqual(known(recorded as never));
  });

  test('one by its id, in any case; nothing by another', async () => {
    const one = await ask('/_apis/ResourceAreas/79134C72-4A58-4B42-976C-04E7115F32BF');
    expect(one.json).toMatchObject({ name: 'core', locationUrl: `${fake.server.organization}/` });
    const other = await ask('/_apis/ResourceAreas/00000000-0000-0000-0000-000000000001');
    expect(other).toMatchObject({ status: 200, json: null });
  });
});

interface Connection {
  readonly instanceId: string;
  readonly locationServiceData: {
    readonly lastChangeId: number;
    readonly clientCacheFresh?: boolean;
    readonly accessMappings?: readonly { readonly accessPoint: string; readonly virtualDirectory: string }[];
    readonly serviceDefinitions?: readonly { readonly identifier: string }[];
  };
}
const connection = async (query = '', organization?: string) =>
  (await ask(`/_apis/connectionData${query}`, {}, organization)).json as Connection;

describe('connection data', () => {
  test('says who calls, and of which server', async () => {
    const data = await connection();
    expect(data).toMatchObject({
      authenticatedUser: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/u),
        providerDisplayName: expect.any(String),
        properties: { Account: { $type: 'System.String', $value: expect.any(String) } },
      },
      authorizedUser: { id: expect.any(String) },
      instanceId: expect.stringMatching(/^[0-9a-f-]{36}$/u),
      deploymentType: 'hosted',
    });
    // Recorded: these four and no more, unless more is asked for.
    expect(Object.keys(data.locationServiceData)).toEqual([
      'serviceOwner',
      'defaultAccessMappingMoniker',
      'lastChangeId',
      'lastChangeId64',
    ]);
  });

  test.each(['1', 'IncludeServices', 'includeservices', '33', 'None, IncludeServices'])(
    'connectOptions=%s: addresses and services',
    async (options) => {
      const { locationServiceData: data } = await connection(
        `?connectOptions=${encodeURIComponent(options)}&lastChangeId=-1&lastChangeId64=-1`,
      );
      expect(data.accessMappings).toMatchObject([
        { moniker: 'PublicAccessMapping', accessPoint: `${fake.server.origin}/`, virtualDirectory: 'lab' },
      ]);
      const identifiers = data.serviceDefinitions?.map(({ identifier }) => identifier);
      expect(identifiers).toContain('a85b8835-c1a1-4aac-ae97-1c3d0ba72dbd');
      // Without it an agent's listener ends at once (run).
      expect(identifiers).toContain('c8e5af97-4b95-4e73-9e7f-69a06507967c');
      expect(JSON.stringify(data.serviceDefinitions)).toContain(`"location":"${fake.server.organization}/"`);
    },
  );

  test.each(['0', 'None', '32'])('connectOptions=%s: no addresses', async (options) => {
    const { locationServiceData: data } = await connection(`?connectOptions=${options}`);
    expect(data).not.toHaveProperty('serviceDefinitions');
    expect(data).not.toHaveProperty('accessMappings');
  });

  test('a client that knows the last change learns that nothing has changed', async () => {
    const { locationServiceData: data } = await connection();
    const again = await connection(`?connectOptions=1&lastChangeId=${data.lastChangeId}`);
    expect(again.locationServiceData).toMatchObject({ clientCacheFresh: true });
    expect(again.locationServiceData).not.toHaveProperty('serviceDefinitions');
    const other = await connection(`?connectOptions=1&lastChangeId=${data.lastChangeId + 1}`);
    expect(other.locationServiceData).not.toHaveProperty('clientCacheFresh');
  });

  test('a service definition by its id', async () => {
    const path = '/_apis/ServiceDefinitions/LocationService2';
    const { json } = await ask(`${path}/a85b8835-c1a1-4aac-ae97-1c3d0ba72dbd`);
    expect(json).toMatchObject({ identifier: 'a85b8835-c1a1-4aac-ae97-1c3d0ba72dbd' });
    expect(await ask(`${path}/00000000-0000-0000-0000-000000000001`)).toMatchObject({
      status: 404,
      json: { typeKey: 'ServiceDefinitionDoesNotExistException' },
    });
    expect(await ask(path)).toMatchObject({ json: { count: expect.any(Number) } });
  });
});

describe('two servers', () => {
  const others: RunningFake[] = [];
  const start = async (more: { stateFile?: string; publicUrl?: string } = {}) => {
    const server = await startFake({
      host: '127.0.0.1',
      port: 0,
      tokenFile: fake.tokenFile,
      organization: 'lab',
      projects: ['vision'],
      clock: systemClock(1),
      ...more,
    });
    others.push(server);
    return server;
  };
  let second: RunningFake;
  beforeAll(async () => {
    second = await start();
  });
  afterAll(async () => {
    for (const server of others) await server.close();
  });

  test('have instances of their own, by which clients keep their addresses apart', async () => {
    const [one, two] = [await connection(), await connection('', second.organization)];
    expect(one.instanceId).not.toBe(two.instanceId);
    expect(one.locationServiceData.lastChangeId).not.toBe(two.locationServiceData.lastChangeId);
  });

  test('a server that starts again with its state is the same instance', async () => {
    const stateFile = `${fake.folder}/state.json`;
    const first = await start({ stateFile });
    const before = await connection('', first.organization);
    // Anything written saves it.
    await ask(
      '/_apis/distributedtask/pools?api-version=7.1',
      {
        method: 'POST',
        body: JSON.stringify({ name: 'kept' }),
      },
      first.organization,
    );
    await others.pop()?.close();
    const again = await start({ stateFile });
    expect(await connection('', again.organization)).toMatchObject({ instanceId: before.instanceId });
  });

  test('one of a site speaks by its public name, and lets clients stay with theirs', async () => {
    const publicUrl = 'https://tfs.example/lab';
    const { organization } = await start({ publicUrl });
    const data = await ask('/_apis/connectionData?connectOptions=1', {}, organization);
    expect(data.text).not.toContain('127.0.0.1');
    expect(data.json).toMatchObject({
      deploymentType: 'onPremises',
      locationServiceData: {
        // By this owner clients know that they need to look no further.
        serviceOwner: '87966eaa-cb2a-443f-be3c-47bd3b5bf3cb',
        accessMappings: [{ accessPoint: 'https://tfs.example/', virtualDirectory: 'lab' }],
      },
    });
    expect(JSON.stringify(data.json)).toContain('"relativeToSetting":"context"');
    expect((await ask('/_apis/resourceAreas', {}, organization)).json).toEqual({ count: 0, value: [] });
    const refused = await ask('/_apis', { method: 'OPTIONS', headers: { authorization: '' } }, organization);
    expect(refused.headers.get('www-authenticate')).toContain('https://tfs.example/');
  });
});

test('features that an agent asks for are off', async () => {
  expect(await ask('/_apis/FeatureFlags/DistributedTask.Agent.Some')).toMatchObject({
    status: 200,
    json: { name: 'DistributedTask.Agent.Some', effectiveState: 'Off' },
  });
});

describe('what is not served', () => {
  test.each([
    ['DELETE', '/_apis/distributedtask/pools', 405],
    ['PATCH', '/_apis/connectionData', 405],
    ['GET', '/_apis/distributedtask/pools/seven', 400],
    ['GET', '/_apis/git/repositories', 404],
    ['GET', '/vision', 404],
    ['OPTIONS', '/vision', 404],
  ])('%s %s: %i', async (method, path, status) => {
    const reply = await ask(`${path}?api-version=7.1-preview`, { method });
    expect(reply.status).toBe(status);
    if (status !== 404)
      expect(reply.json).toMatchObject({ count: 1, value: { Message: expect.any(String) } });
  });

  test('the version is asked for before anything is written, and echoed', async () => {
    const path = '/_apis/distributedtask/pools';
    const body = JSON.stringify({ name: 'unversioned' });
    const refused = await ask(path, { method: 'POST', body });
    expect(refused).toMatchObject({ status: 400, json: { typeKey: 'VssVersionNotSpecifiedException' } });
    const { json, headers } = await ask(`${path}/?poolName=unversioned`, {
      headers: { accept: 'application/json;api-version=5.1' },
    });
    expect(json).toEqual({ count: 0, value: [] });
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8; api-version=5.1');
  });
});
