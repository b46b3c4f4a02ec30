import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { fromTerraform } from '../../../../../src/fleet/inventory/import/terraform.ts';

const value = {
  'gcp-1': { address: '203.0.113.5', user: 'ops', port: null, gpus: 1, labels: { cloud: 'gcp' } },
};
const output = { azp_fleet_hosts: { sensitive: false, type: ['object', {}], value } };
const hosts = [
  {
    name: 'gcp-1',
    entry: { address: '203.0.113.5', user: 'ops', gpus: 1, labels: { cloud: 'gcp' } },
    groups: [],
  },
];

function read(document: unknown): ReturnType<typeof fromTerraform> {
  return fromTerraform(JSON.stringify(document));
}

function machines(...resources: readonly object[]): unknown {
  const managed = resources.map((resource) => ({ mode: 'managed', ...resource }));
  return { format_version: '1.0', values: { root_module: { child_modules: [{ resources: managed }] } } };
}

test.each([
  [
    'google_compute_instance',
    { network_interface: [{ network_ip: '10.0.0.2', access_config: [{ nat_ip: '203.0.113.1' }] }] },
    '203.0.113.1',
  ],
  ['google_compute_instance', { network_interface: [{ network_ip: '10.0.0.2' }] }, '10.0.0.2'],
  ['aws_instance', { public_ip: '203.0.113.2', private_ip: '10.0.0.3' }, '203.0.113.2'],
  ['aws_instance', { public_ip: '', private_ip: '10.0.0.3' }, '10.0.0.3'],
  [
    'azurerm_linux_virtual_machine',
    { public_ip_address: '203.0.113.3', private_ip_address: '10.0.0.4' },
    '203.0.113.3',
  ],
  ['azurerm_linux_virtual_machine', { private_ip_address: '10.0.0.4' }, '10.0.0.4'],
])('%s %j has the public address if there is one, else the private one', (type, values, address) => {
  const found = read(machines({ type, values: { name: 'm', id: 'm', ...values } }));
  expect(found).toMatchObject({ hosts: [{ name: 'm', entry: { address } }] });
});

describe('hosts are read from', () => {
  test('terraform output -json', () => expect(read(output)).toEqual({ hosts, leftOut: [] }));

  test('terraform show -json, with the output', () =>
    expect(read({ format_version: '1.0', values: { outputs: output } })).toEqual({ hosts, leftOut: [] }));

  test('the machines of a state without it, also in modules', () => {
    const found = read(
      machines(
        {
          type: 'google_compute_instance',
          values: {
            name: 'g',
            network_interface: [{ network_ip: '10.0.0.2', access_config: [{ nat_ip: '203.0.113.1' }] }],
          },
        },
        {
          type: 'aws_instance',
          values: { id: 'i-1', tags: { Name: 'a' }, public_ip: '', private_ip: '10.0.0.3' },
        },
        {
          type: 'azurerm_linux_virtual_machine',
          values: { name: 'z', public_ip_address: '203.0.113.3', admin_username: 'ops' },
        },
        { type: 'aws_instance', values: { id: 'i-2', tags: null, public_ip: '', private_ip: '' } },
        { type: 'aws_vpc', values: { id: 'vpc-1' } },
      ),
    );
    expect(found).toEqual({
      hosts: [
        { name: 'g', entry: { address: '203.0.113.1' }, groups: [] },
        { name: 'a', entry: { address: '10.0.0.3' }, groups: [] },
        { name: 'z', entry: { address: '203.0.113.3', user: 'ops' }, groups: [] },
      ],
      leftOut: [],
    });
  });
});

test.each([
  ['no JSON', 'hosts: {}', 'it is not JSON'],
  ['a list', '[]', 'it is not JSON'],
  ['the state itself', '{"version":4,"lineage":"x","outputs":{}}', 'it is the state file'],
  ['another output', '{"ip":{"value":"1.2.3.4"}}', 'it has neither the output azp_fleet_hosts'],
  ['a sensitive output', '{"azp_fleet_hosts":{"sensitive":true,"value":{}}}', 'marked sensitive'],
  ['a list of hosts', '{"azp_fleet_hosts":{"value":["1.2.3.4"]}}', 'not a map of hosts by name'],
  [
    'a value that is too deep',
    `{"azp_fleet_hosts":${'{"value":'.repeat(60)}1${'}'.repeat(61)}`,
    'it is not JSON',
  ],
])('%s is rejected with the reason', (_, text, why) => {
  expect(fromTerraform(text)).toEqual({ why: expect.stringContaining(why) as string });
});

test.each([
  ['no address', { user: 'ops' }],
  ['an unknown address', { address: null }],
  ['a key that is not allowed', { address: 'a', transport: 'openssh' }],
  ['a variable', { address: 'a', identityFile: '${HOME}/x' }],
  ['shell code', { address: '$(reboot)' }],
  ['an option', { address: '-oProxyCommand=x' }],
  ['an invalid port', { address: 'a', port: 0 }],
  ['a control character', { address: 'a', labels: { a: '\u001b[2J' } }],
  ['no object', 'a'],
])('a host with %s is left out', (_, host) => {
  const found = read({ azp_fleet_hosts: { value: { x: host, y: { address: 'b' } } } });
  expect(found).toMatchObject({ hosts: [{ name: 'y' }], leftOut: [{ what: 'host x' }] });
});

test('an invalid name, and __proto__, is left out', () => {
  const found = fromTerraform(
    '{"azp_fleet_hosts":{"value":{"a b":{"address":"a"},"__proto__":{"address":"b"}}}}',
  );
  expect(found).toMatchObject({ hosts: [], leftOut: [{ what: 'host a b' }, { what: 'host __proto__' }] });
});

test('any JSON is read without an exception', () => {
  const any = fc.jsonValue({ maxDepth: 4 });
  fc.assert(
    fc.property(
      fc.oneof(
        any,
        any.map((inner) => ({ azp_fleet_hosts: inner })),
        any.map((inner) => ({ format_version: '1', values: inner })),
      ),
      (document) => {
        expect(read(document)).toBeTypeOf('object');
      },
    ),
  );
});
