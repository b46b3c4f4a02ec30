// What no client of good will sends: it is refused, and the server goes on as before.
import { connect } from 'node:net';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { anAgent, apiOf, valueOf } from './api.ts';
import { useFake } from './server.ts';

const fake = useFake();
const call = apiOf(fake);
const root = '/_apis/distributedtask';
const agents = `${root}/pools/1/agents`;
const odd = { toString: 1 };

beforeAll(async () => {
  await call('POST', `${root}/pools`, { name: 'gpu' });
});

afterEach(async () => {
  expect(await call('GET', '/_apis/projects')).toMatchObject({ status: 200 });
});

test.each([
  ['GET', '/_apis/projects/%ZZ'],
  ['DELETE', '/_apis/projects/%E0%A4'],
  ['GET', '/%ZZ/_apis/distributedtask/queues'],
  ['GET', '/_apis/operations/%'],
  ['GET', '/_apis/process/processes/%ZZ'],
])('%s %s, whose percent codes are none, is a bad request', async (method, path) => {
  expect(await call(method, path)).toMatchObject({ status: 400 });
});

/** The status line of what the server answers to these bytes. */
async function spoken(request: string): Promise<string> {
  const socket = connect(Number(new URL(fake.server.origin).port), '127.0.0.1');
  const parts: Buffer[] = [];
  socket.end(request);
  for await (const part of socket) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

const credential = `authorization: Basic ${Buffer.from(':good-token').toString('base64')}\r\nconnection: close`;

test.each([
  ['a target without a path', '//', 'a.example'],
  ['a host that is cut off', '/lab/_apis/connectionData', '[::1'],
  ['a host of two words', '/lab/_apis/connectionData', 'a b'],
  ['a host with a path', '/lab/_apis/connectionData', 'a/b'],
])('%s is a bad request', async (_, target, host) => {
  expect(await spoken(`GET ${target} HTTP/1.1\r\nhost: ${host}\r\n${credential}\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 400 /u,
  );
});

test('a caller that names no host gets the address of the connection', async () => {
  const { organization } = fake.server;
  const answer = await spoken(`GET /lab/_apis/resourceAreas HTTP/1.0\r\n${credential}\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 200 /u);
  expect(answer).toContain(`"${organization}/"`);
});

describe('names that are no text', () => {
  test.each([
    [`${root}/pools`, { name: 'a\uD800' }],
    [agents, anAgent('a\uDC00')],
    ['/_apis/projects', { name: '\uD83D' }],
  ])('%s', async (path, body) => {
    expect(await call('POST', path, body)).toMatchObject({ status: 400 });
  });
});

describe('values of the wrong kind', () => {
  const key = (publicKey: unknown) => anAgent('keyed', { authorization: { publicKey } });
  test.each<[string, string, unknown]>([
    ['POST', `${root}/pools`, { name: 'odd', poolType: odd }],
    ['POST', agents, anAgent('odd', { userCapabilities: { x: odd } })],
    ['POST', agents, anAgent('odd', { systemCapabilities: { x: ['1'] } })],
    ['POST', agents, key('text')],
    ['POST', agents, key({ modulus: 5, exponent: 'AQAB' })],
    ['POST', agents, key({ modulus: '', exponent: 'AQAB' })],
    ['POST', agents, key({ modulus: '!', exponent: 'AQAB' })],
    ['POST', agents, key({ modulus: 'AQAB' })],
    ['POST', '/_apis/projects', { name: 'p', capabilities: { processTemplate: { templateTypeId: 5 } } }],
    ['POST', '/_apis/projects', { name: 'p', capabilities: { processTemplate: { templateTypeId: 'x' } } }],
  ])('%s %s %j', async (method, path, body) => {
    expect(await call(method, path, body)).toMatchObject({ status: 400 });
  });

  test('an agent may have no key', async () => {
    expect(await call('POST', agents, key(null))).toMatchObject({ status: 200 });
  });

  test('a project follows a known process, in any case', async () => {
    const templateTypeId = 'ADCC42AB-9882-485E-A3ED-7678F01F66BC';
    const body = { name: 'agile', capabilities: { processTemplate: { templateTypeId } } };
    expect(await call('POST', '/_apis/projects', body)).toMatchObject({ status: 202 });
    expect(await call('GET', '/_apis/projects/agile?includeCapabilities=true')).toMatchObject({
      json: { capabilities: { processTemplate: { templateName: 'Agile' } } },
    });
  });

  test('the end of a lock, and the definition of a maintenance job', async () => {
    await fake.control.queue({ pool: 'Default' });
    const [id] = valueOf(await call('GET', `${root}/pools/1/jobrequests`), (each) => each['requestId']);
    const path = `${root}/pools/1/jobrequests/${String(id)}?lockToken=x`;
    expect(await call('PATCH', path, { lockedUntil: odd, result: null })).toMatchObject({ status: 200 });
    const jobs = `${root}/pools/1/maintenancejobs?api-version=7.1-preview.1`;
    expect(await call('POST', jobs, { definitionId: odd })).toMatchObject({ status: 404 });
    const permissions = '/vision/_apis/pipelines/pipelinepermissions?api-version=7.1-preview.1';
    const resources = [{ resource: { type: 'queue', id: odd } }];
    expect(await call('PATCH', permissions, resources)).toMatchObject({ status: 404 });
  });
});
