// The examples for clouds, by the parser of Terraform's own language. They were never applied; what can be held, is.
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

test('the parser refuses what is none', async () => {
  await expect(parseHcl('main.tf', 'resource "a" "b" {')).rejects.toThrow();
});

describe.each(Object.entries(clouds))('%s', (cloud, machine) => {
  let files: readonly File[] = [];
  beforeAll(async () => {
    files = await read(cloud);
  });
  const resources = () => Object.fromEntries(files.flatMap(({ resource = {} }) => Object.entries(resource)));
  const text = (): string => JSON.stringify(resources());

  test('every variable that is used is declared, and each says what it is', () => {
    const declared = files.flatMap(({ variable = {} }) => Object.entries(variable));
    const used = new Set([...JSON.stringify(files).matchAll(/\bvar\.(\w+)/g)].map(([, name]) => name));
    expect(new Set(declared.map(([name]) => name))).toEqual(used);
    for (const [, [variable]] of declared) expect(variable).toHaveProperty('description');
  });

  test('every resource that is named is there', () => {
    const known = Object.entries(resources()).flatMap(([type, named]) =>
      Object.keys(named).map((name) => `${type}.${name}`),
    );
    const named = [...JSON.stringify(files).matchAll(/\b((?:google|aws|azurerm)_\w+\.\w+)/g)].map(
      ([, name = '']) => name,
    );
    expect(named.filter((name) => !known.includes(name) && !name.startsWith('aws_ami.'))).toEqual([]);
  });

  test('one machine, into which SSH alone leads, and not from everywhere', () => {
    expect(Object.keys(resources()[machine] ?? {})).toEqual(['gpu']);
    const { inwards, from } = opened(resources());
    expect(inwards).toEqual(['22']);
    expect(from).toBe('${var.ssh_from}');
    const [ssh] = files.flatMap(({ variable = {} }) => variable['ssh_from'] ?? []);
    expect(ssh).not.toHaveProperty('default');
    expect(JSON.stringify(ssh?.['validation'])).toContain('0.0.0.0/0');
  });

  test('a job finds no identity of the cloud', () => {
    expect(text()).not.toMatch(/service_account|iam_instance_profile|"identity"/);
  });

  test('its agents are drained before it is destroyed, and a failure stops that', () => {
    const [step] = resources()['terraform_data']?.['deregister'] ?? [];
    expect(step?.['depends_on']).toEqual([`\${${machine}.gpu}`]);
    const [run] = z.record(z.string(), z.array(block)).parse(step?.['provisioner'])['local-exec'] ?? [];
    expect(run).toMatchObject({ when: expect.stringContaining('destroy') as string });
    expect(run?.['command']).toMatch(/^azp-fleet drain "\$HOST" -i "\$INVENTORY" --wait --yes/);
    expect(run).not.toHaveProperty('on_failure');
    // Nothing of the machine's is in the text of a shell.
    expect(run?.['command']).not.toContain('${');
  });

  test('the output is what azp-fleet reads', () => {
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

/** Ports that are open from outside, and from where. */
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
      inwards: allowed.flatMap(({ ports }) => z.array(z.string()).parse(ports)),
      from: google['source_ranges'],
    };
  }
  if (aws !== undefined) {
    const [rule, ...more] = rules.parse(aws['ingress']);
    expect(more).toEqual([]);
    expect(rule?.['from_port']).toBe(rule?.['to_port']);
    return { inwards: [String(rule?.['from_port'])], from: rule?.['cidr_blocks'] };
  }
  const inwards = rules.parse(azure?.['security_rule']).filter(({ direction }) => direction === 'Inbound');
  return {
    inwards: inwards.map((rule) => rule['destination_port_range']),
    from: inwards[0]?.['source_address_prefixes'],
  };
}

test('the inventory beside them is usable, with hosts as Terraform prints them', () => {
  const source = readFileSync(join(root, 'inventory.yaml'), 'utf8');
  expect(source).toContain('hostsFrom: { terraform: hosts.json }');
  const shown = source.replace('hosts.json }', 'hosts.example.json }');
  const { hosts } = parseFleet(shown, 'inventory.yaml', { env: {}, cwd: root, home: '/home/me' });
  expect(hosts).toMatchObject([{ name: 'gcp-gpu-1', pool: 'gpu-cloud', gpus: 1, fence: 'required' }]);
});

test('what the page has typed, and what Terraform runs, is understood', () => {
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

/** As a shell would split it, the program's own name left out. */
function words(line: string): readonly string[] {
  const found = line.replaceAll(String.raw`\"`, '"').matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g);
  return [...found].map(([, double, single, bare]) => double ?? single ?? bare ?? '').slice(1);
}

test('the page says plainly that nothing of it was applied', () => {
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain('were not applied');
  expect(
    globSync('*/', { cwd: root })
      .map((folder) => basename(folder))
      .toSorted(),
  ).toEqual(Object.keys(clouds).toSorted());
});
