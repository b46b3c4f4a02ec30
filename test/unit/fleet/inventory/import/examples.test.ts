// The examples for clouds, read by a parser of Terraform's language. They were never applied.
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

import { commands } from '../../../../../src/cli/commands.ts';
import { parseArguments } from '../../../../../src/cli/parse.ts';
import { parseHcl } from '../../../../support/hcl.ts';
import { fromTerraform } from '../../../../../src/fleet/inventory/import/terraform.ts';
import { parseFleet } from '../../../../../src/fleet/inventory/load.ts';

const root = join(import.meta.dirname, '../../../../../examples/terraform');
const clouds = {
  gcp: 'google_compute_instance',
  aws: 'aws_instance',
  azure: 'azurerm_linux_virtual_machine',
};

const block = z.record(z.string(), z.unknown());
const blocks = z.record(z.string(), z.array(block));
const file = z.strictObject({
  terraform: z.array(block).optional(),
  provider: blocks.optional(),
  data: z.record(z.string(), blocks).optional(),
  resource: z.record(z.string(), blocks).optional(),
  variable: blocks.optional(),
  output: z.record(z.string(), z.array(z.strictObject({ description: z.string(), value: block }))).optional(),
});
type File = z.infer<typeof file>;

async function read(cloud: string): Promise<File[]> {
  const names = globSync('*.tf', { cwd: join(root, cloud) }).toSorted();
  expect(names).toEqual(['deregister.tf', 'main.tf', 'outputs.tf', 'variables.tf']);
  return Promise.all(
    names.map(async (name) =>
      file.parse(await parseHcl(name, readFileSync(join(root, cloud, name), 'utf8'))),
    ),
  );
}

test('the parser rejects invalid files', async () => {
  await expect(parseHcl('main.tf', 'resource "a" "b" {')).rejects.toThrow();
});

describe.each(Object.entries(clouds))('%s', (cloud, machine) => {
  let files: readonly File[] = [];
  beforeAll(async () => {
    files = await read(cloud);
  });
  const resources = () => Object.fromEntries(files.flatMap(({ resource = {} }) => Object.entries(resource)));
  const text = (): string => JSON.stringify(resources());

  test('every used variable is declared, with a description', () => {
    const declared = files.flatMap(({ variable = {} }) => Object.entries(variable));
    const used = new Set([...JSON.stringify(files).matchAll(/\bvar\.(\w+)/g)].map(([, name]) => name));
    expect(new Set(declared.map(([name]) => name))).toEqual(used);
    for (const [, [variable]] of declared) expect(variable).toHaveProperty('description');
  });

  test('every named resource exists', () => {
    const known = Object.entries(resources()).flatMap(([type, named]) =>
      Object.keys(named).map((name) => `${type}.${name}`),
    );
    const named = [...JSON.stringify(files).matchAll(/\b((?:google|aws|azurerm)_\w+\.\w+)/g)].map(
      ([, name = '']) => name,
    );
    expect(named.filter((name) => !known.includes(name) && !name.startsWith('aws_ami.'))).toEqual([]);
  });

  test('one machine, open for SSH only, and not for every address', () => {
    expect(Object.keys(resources()[machine] ?? {})).toEqual(['gpu']);
    const { ports, from } = opened(resources());
    expect(ports).toEqual(['22']);
    expect(from).toBe('${var.ssh_from}');
    const [ssh] = files.flatMap(({ variable = {} }) => variable['ssh_from'] ?? []);
    expect(ssh).not.toHaveProperty('default');
    expect(JSON.stringify(ssh?.['validation'])).toContain('0.0.0.0/0');
  });

  test('a job has no cloud identity', () => {
    expect(text()).not.toMatch(/service_account|iam_instance_profile|"identity"/);
  });

  test('its agents are drained before it is destroyed; a failed drain stops the destroy', () => {
    const [step] = resources()['terraform_data']?.['deregister'] ?? [];
    expect(step?.['depends_on']).toEqual([`\${${machine}.gpu}`]);
    const [run] = z.record(z.string(), z.array(block)).parse(step?.['provisioner'])['local-exec'] ?? [];
    expect(run).toMatchObject({ when: expect.stringContaining('destroy') as string });
    expect(run?.['command']).toMatch(/^azp-fleet drain "\$HOST" -i "\$INVENTORY" --wait --yes/);
    expect(run).not.toHaveProperty('on_failure');
    // No value of the machine is part of the shell text.
    expect(run?.['command']).not.toContain('${');
  });

  test('azp-fleet reads the output', () => {
    const [output] = files.flatMap((each) => each.output?.['azp_fleet_hosts'] ?? []);
    const [host] = Object.values(output?.value ?? {}).map((value) => block.parse(value));
    expect(host?.['address']).toMatch(/^\$\{(google|aws|azurerm)_/);
    const made = { 'gpu-1': { ...host, address: '203.0.113.5' } };
    expect(
      fromTerraform(JSON.stringify({ azp_fleet_hosts: { sensitive: false, value: made } })),
    ).toMatchObject({
      hosts: [{ name: 'gpu-1', entry: { address: '203.0.113.5', gpus: 1, labels: { cloud } } }],
      leftOut: [],
    });
  });
});

/** Returns the ports that are open from outside, and for which addresses. */
function opened(
  resources: Readonly<Record<string, Readonly<Record<string, readonly z.infer<typeof block>[]>>>>,
) {
  const [google] = resources['google_compute_firewall']?.['ssh'] ?? [];
  const [aws] = resources['aws_security_group']?.['ssh'] ?? [];
  const [azure] = resources['azurerm_network_security_group']?.['ssh'] ?? [];
  const rules = z.array(block);
  if (google !== undefined) {
    expect(Object.keys(resources['google_compute_firewall'] ?? {})).toEqual(['ssh']);
    const allowed = rules.parse(google['allow']);
    return {
      ports: allowed.flatMap(({ ports }) => z.array(z.string()).parse(ports)),
      from: google['source_ranges'],
    };
  }
  if (aws !== undefined) {
    const [rule, ...more] = rules.parse(aws['ingress']);
    expect(more).toEqual([]);
    expect(rule?.['from_port']).toBe(rule?.['to_port']);
    return { ports: [String(rule?.['from_port'])], from: rule?.['cidr_blocks'] };
  }
  const ports = rules.parse(azure?.['security_rule']).filter(({ direction }) => direction === 'Inbound');
  return {
    ports: ports.map((rule) => rule['destination_port_range']),
    from: ports[0]?.['source_address_prefixes'],
  };
}

test('their inventory is valid with hosts as Terraform prints them', () => {
  const source = readFileSync(join(root, 'inventory.yaml'), 'utf8');
  expect(source).toContain('hostsFrom: { terraform: hosts.json }');
  const shown = source.replace('hosts.json }', 'hosts.example.json }');
  const { hosts } = parseFleet(shown, 'inventory.yaml', { env: {}, cwd: root, home: '/home/me' });
  expect(hosts).toMatchObject([{ name: 'gcp-gpu-1', pool: 'gpu-cloud', gpus: 1, fence: 'required' }]);
});

test('the commands of the page and of Terraform are valid', () => {
  const texts = ['README.md', ...Object.keys(clouds).map((cloud) => `${cloud}/deregister.tf`)].map((name) =>
    readFileSync(join(root, name), 'utf8'),
  );
  const lines = texts.flatMap((text) => [
    ...text.matchAll(/^(?: *command += "| *)?(azp-fleet .*?)(?:"| +#.*)?$/gm),
  ]);
  expect(lines.length).toBeGreaterThan(7);
  const io = { out: () => undefined, err: () => undefined, env: {}, version: '0', columns: 80 };
  for (const [, line = ''] of lines) expect(parseArguments(words(line), commands, io), line).toBeDefined();
});

/** Splits a command line like a shell, without the name of the program. */
function words(line: string): readonly string[] {
  const found = line.replaceAll(String.raw`\"`, '"').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g);
  return [...found].map(([, double, single, bare]) => double ?? single ?? bare ?? '').slice(1);
}

test('the page says that the examples were not applied', () => {
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain('were not applied');
  expect(
    globSync('*/', { cwd: root })
      .map((folder) => basename(folder))
      .toSorted(),
  ).toEqual(Object.keys(clouds).toSorted());
});
