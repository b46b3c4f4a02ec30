import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

import { FleetError, type Problem } from '../../../../src/shared/base/errors.ts';
import type { Fleet } from '../../../../src/fleet/inventory/fleet.ts';
import { parseFleet } from '../../../../src/fleet/inventory/load.ts';

const cwd = mkdtempSync(join(tmpdir(), 'hosts-from-'));
afterAll(() => rmSync(cwd, { recursive: true }));
const head = 'organization: https://dev.azure.com/example\ntoken: { env: AZP_TOKEN }\n';

function load(text: string): Fleet {
  return parseFleet(`${head}${text}`, 'lab.yaml', { env: {}, cwd, home: '/home/me' });
}

function problem(text: string): Problem {
  try {
    load(text);
  } catch (error) {
    if (error instanceof FleetError) return error.problem;
  }
  throw new Error('the inventory is valid');
}

function write(hosts: object): void {
  writeFileSync(
    join(cwd, 'hosts.json'),
    JSON.stringify({ azp_fleet_hosts: { sensitive: false, value: hosts } }),
  );
}

test('hosts of the file come first; values of the inventory win; its other hosts follow', () => {
  write({ 'gcp-1': { address: '203.0.113.5', user: 'ops', labels: { cloud: 'gcp', site: 'x' } } });
  const { hosts } = load(`defaults: { pool: gpu-lab, user: admin }
groups: { cloud: { hosts: [gcp-1], vars: { pool: gpu-cloud } } }
hostsFrom: { terraform: hosts.json }
hosts: { own: {}, gcp-1: { labels: { site: y } } }
`);
  expect(hosts).toMatchObject([
    {
      name: 'gcp-1',
      pool: 'gpu-cloud',
      ssh: { address: '203.0.113.5', user: 'ops' },
      labels: { cloud: 'gcp', site: 'y' },
    },
    { name: 'own', ssh: { user: 'admin' } },
  ]);
});

test('an inventory may have no other hosts', () => {
  write({ 'gcp-1': { address: '203.0.113.5' } });
  expect(load('defaults: { pool: p }\nhostsFrom: { terraform: hosts.json }\nhosts: {}\n').hosts).toHaveLength(
    1,
  );
  write({});
  expect(problem('defaults: { pool: p }\nhostsFrom: { terraform: hosts.json }\nhosts: {}\n').code).toBe(
    'inventory.no-hosts',
  );
});

test('a missing or invalid file is reported with its place in the inventory and the command that creates it', () => {
  expect(
    problem('defaults: { pool: p }\nhostsFrom: { terraform: none.json }\nhosts: { a: {} }\n'),
  ).toMatchObject({
    code: 'inventory.import',
    what: expect.stringMatching(/^lab\.yaml:4:25: .*none\.json/) as string,
    seen: 'ENOENT',
    next: expect.stringContaining('terraform output -json > none.json') as string,
  });
  writeFileSync(join(cwd, 'hosts.json'), 'terraform: command not found');
  expect(
    problem('defaults: { pool: p }\nhostsFrom: { terraform: hosts.json }\nhosts: { a: {} }\n'),
  ).toMatchObject({
    seen: 'it is not JSON',
    next: expect.stringContaining('terraform output -json > hosts.json') as string,
  });
});

test('an invalid host is a mistake, so that no paid machine is left out', () => {
  write({ a: { address: 'a' }, b: { address: '$(reboot)' } });
  expect(problem('defaults: { pool: p }\nhostsFrom: { terraform: hosts.json }\nhosts: {}\n')).toMatchObject({
    code: 'inventory.import',
    what: expect.stringContaining('host b in hosts.json') as string,
  });
});
