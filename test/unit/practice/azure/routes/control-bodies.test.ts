// What the switchboard says to those who send it what it does not know.
import { describe, expect, test } from 'vitest';
import { useFake } from '../server.ts';

const fake = useFake();

async function send(method: string, path: string, body?: string) {
  const response = await fetch(`${fake.server.origin}/_fake${path}`, { method, ...(body && { body }) });
  const text = await response.text();
  return { status: response.status, message: (JSON.parse(text) as { message: unknown }).message };
}

describe('a body that is not what it must be', () => {
  test.each([
    ['POST', '/jobs', '{ "pool": "Default", "sript": "true" }', 'Unrecognized key: "sript"'],
    ['POST', '/jobs', '{ "script": "true" }', 'pool: '],
    ['POST', '/jobs', '{ "pool": "nowhere" }', 'no pool nowhere'],
    ['POST', '/jobs', '{ "pool": "Azure Pipelines" }', "its machines are the service's own"],
    ['POST', '/jobs', '{ "pool": "Default", "project": "nowhere" }', 'no project nowhere'],
    ['POST', '/jobs', '{ "pool": "Default", "environment": { "A": 1 } }', 'environment.A: '],
    ['POST', '/jobs', '{ "pool": "Default", "environment": { "a-b": "1" } }', 'no name of a variable: a-b'],
    [
      'POST',
      '/jobs',
      '{ "pool": "Default", "environment": { "A": "1" }, "secrets": { "A": "1" } }',
      'both in environment and in secrets: A',
    ],
    ['POST', '/jobs', '{ "pool": "Default", "container": {} }', 'container.image: '],
    ['POST', '/jobs', '{ "pool": "Default", "planVersion": 0 }', 'planVersion: '],
    ['POST', '/jobs', '{ "pool": ', 'expected object'],
    ['POST', '/jobs', undefined, 'expected object'],
    ['POST', '/faults', '{ "status": 500 }', 'count: '],
    ['POST', '/faults', '{ "count": 1, "retryAfter": 3 }', 'Unrecognized key: "retryAfter"'],
    ['POST', '/faults', '{ "count": 1, "path": "(" }', 'path: not a regular expression'],
    ['POST', '/faults', '{ "count": 1, "callers": "nobody" }', 'callers: '],
    ['POST', '/faults', '{ "count": 1, "rawStatus": "9" }', 'rawStatus: not three digits'],
    ['POST', '/agents/nobody/capabilities', '{ "count": 1 }', 'no agent nobody'],
    ['PUT', '/token', '{ "state": "gone" }', 'state: '],
    ['PUT', '/denied', '{ "permissions": ["pools.delete"] }', 'permissions.0: '],
    ['PUT', '/denied', '{}', 'permissions: '],
    [
      'PUT',
      '/applications',
      '{ "applications": [{ "clientId": "c", "tenantId": "t", "certificate": "x" }] }',
      'applications.0.certificate: not a certificate of an RSA key as PEM',
    ],
    ['PUT', '/filters', '{ "demands": 1 }', 'demands: '],
    ['PUT', '/settle', '{ "ms": -1 }', 'ms: '],
    ['PUT', '/limits', '{ "parallelJobs": "two" }', 'parallelJobs: '],
    ['POST', '/agents', '{ "pool": "nowhere", "count": 1 }', 'no self-hosted pool nowhere'],
    ['POST', '/agents', '{ "pool": "Default", "count": 100001 }', 'count: '],
    ['POST', '/agents', '{ "pool": "Default", "count": 1, "namePattern": "gpu" }', 'namePattern: '],
    ['POST', '/agents/nobody/revoke', undefined, 'no agent nobody'],
    ['POST', '/jobs/99/cancel', undefined, 'no job 99'],
    ['GET', '/jobs/99/log', undefined, 'no job 99'],
    ['GET', '/requests?after=x', undefined, 'after is not the number of a request'],
  ])('%s /_fake%s %s: %s', async (method, path, body, message) => {
    const reply = await send(method, path, body);
    expect(reply).toEqual({ status: 400, message: expect.stringContaining(message) });
  });

  test('changes nothing', async () => {
    await expect(fake.client().listPools()).resolves.not.toEqual([]);
    expect(await fake.control.jobs()).toEqual([]);
  });
});
