import fc from 'fast-check';
import { expect, test } from 'vitest';

import { parseFleet } from '../../../../src/fleet/inventory/load.ts';
import { poolMistake } from '../../../../src/cli/setup/agents.ts';
import type { Choices, HostChoice } from '../../../../src/cli/setup/wizard-context.ts';
import { inventoryText, withHosts } from '../../../../src/cli/setup/inventory-file.ts';

const place = { env: {}, cwd: '/lab', home: '/home/me' };

const choices: Choices = {
  organization: 'https://dev.azure.com/example',
  schema: '/opt/azp-fleet/inventory.schema.json',
  credential: { kind: 'pat', token: { env: 'AZP_TOKEN' }, expires: '2027-05-01' },
  projects: ['vision', 'speech team'],
  pool: 'gpu-lab',
  agents: 'one-per-gpu',
  share: false,
  hosts: [
    { name: 'h200-1', user: 'labadmin', gpus: 8 },
    { name: 'rtx', address: 'rtx.lab.example', user: 'labadmin', port: 2222, gpus: 1 },
  ],
  datasets: [
    { name: 'IMAGENET', host: '/data/imagenet', container: '/datasets/imagenet', requireMount: true },
  ],
};

test('common settings of all hosts are written once', () => {
  expect(inventoryText(choices)).toBe(`# yaml-language-server: $schema=/opt/azp-fleet/inventory.schema.json

organization: https://dev.azure.com/example
token: { env: AZP_TOKEN, expires: 2027-05-01 } # the source of the token, never the token itself
projects: [ vision, speech team ] # projects whose pipelines may use the pool

defaults:
  user: labadmin
  pool: gpu-lab
  agents: one-per-gpu # each agent has one GPU and runs one job at a time
  datasets:
    IMAGENET: { host: /data/imagenet, container: /datasets/imagenet, requireMount: true }

hosts:
  h200-1: { gpus: 8 }
  rtx: { address: rtx.lab.example, port: 2222, gpus: 1 }
`);
});

test('hosts are added to an inventory with its comments kept', () => {
  const source = `# ours
organization: https://dev.azure.com/example
token: { env: AZP_TOKEN }
defaults: { pool: p } # everywhere
hosts:
  a: { address: 192.0.2.1 } # rack 7
`;
  const text = withHosts(source, [{ name: 'b', address: '192.0.2.2', gpus: 2 }]);
  expect(text).toBe(`${source}  b: { address: 192.0.2.2, gpus: 2 }\n`);
});

const word = fc.stringMatching(/^[A-Za-z][A-Za-z0-9._-]{0,12}$/);
const line = fc.stringMatching(/^[ -~]{1,20}$/).filter((text) => !text.includes('${'));
const path = word.map((text) => `/data/${text}`);
const source = fc.oneof(
  fc.record({ env: fc.stringMatching(/^[A-Z][A-Z0-9_]{0,8}$/) }),
  fc.record({ file: path }),
  fc.record({ cmd: line }),
  fc.constant({ prompt: true } as const),
);
const host: fc.Arbitrary<HostChoice> = fc.record(
  {
    name: word,
    address: word,
    user: word,
    port: fc.integer({ min: 1, max: 65_535 }),
    identityFile: path,
    gpus: fc.nat(8),
    sudoPassword: source,
  },
  { requiredKeys: ['name'] },
);
const any: fc.Arbitrary<Choices> = fc.record({
  organization: fc.constant('https://dev.azure.com/example'),
  credential: fc.oneof(
    fc.record({ kind: fc.constant('pat' as const), token: source }),
    fc.record({
      kind: fc.constant('service-principal' as const),
      clientId: word,
      tenantId: word,
      secret: source,
      expires: fc.constant('2027-05-01'),
    }),
  ),
  network: fc.record(
    {
      proxy: fc.constant('http://proxy.lab.example:3128'),
      noProxy: fc.array(word, { minLength: 1 }),
      ca: path,
      mirrors: fc.record(
        {
          docker: fc.constant('https://mirror.lab.example/docker'),
          images: fc.constant('registry.lab.example'),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ['proxy'] },
  ),
  projects: fc.array(line),
  pool: line.filter((text) => poolMistake(text) === undefined),
  agents: fc.constant('one-per-gpu' as const),
  share: fc.boolean(),
  // Azure DevOps sees no difference between the agents of X and of x.
  hosts: fc.uniqueArray(host, { minLength: 1, maxLength: 4, selector: ({ name }) => name.toLowerCase() }),
  datasets: fc.uniqueArray(
    fc.record({
      name: fc.stringMatching(/^DS_[A-Z0-9]{1,6}$/),
      host: path,
      container: path,
      requireMount: fc.boolean(),
    }),
    { selector: ({ container }) => container, maxLength: 3 },
  ),
});

test('the inventory contains all choices', () => {
  fc.assert(
    fc.property(any, (chosen) => {
      const names = new Set(chosen.datasets.map(({ name }) => name));
      fc.pre(names.size === chosen.datasets.length);
      const fleet = parseFleet(inventoryText(chosen), 'inventory.yaml', place);
      expect(fleet.projects).toEqual(chosen.projects);
      expect(fleet.credential).toEqual(chosen.credential);
      const { proxy, noProxy = [], ca, mirrors = {} } = chosen.network ?? {};
      expect(fleet.proxy).toEqual({
        http: proxy,
        https: proxy,
        noProxy,
        ...(ca === undefined ? {} : { ca }),
      });
      expect(fleet.mirrors).toEqual(mirrors);
      expect(fleet.hosts.map(({ name, ssh, gpus, share }) => ({ name, ssh, gpus, share }))).toEqual(
        chosen.hosts.map(({ name, gpus, ...ssh }) => ({
          name,
          ssh: { ...ssh, transport: 'builtin', hostKeys: [], hostKeyPolicy: 'accept-new' },
          gpus,
          share: chosen.share,
        })),
      );
      for (const { pool, datasets } of fleet.hosts)
        expect({ pool, datasets }).toEqual({ pool: chosen.pool, datasets: chosen.datasets });
    }),
    { numRuns: 60 },
  );
});

test.each([
  ['', 'A name'],
  ['gpu\u001b[2Jlab', 'A name without control characters'],
  ['gpu-lab', undefined],
  ['gpu/lab', 'Azure DevOps allows no / in pool names'],
  ['x'.repeat(129), 'A name of at most 128 characters'],
  ['{arch}-cuda{cuda}', undefined],
  ['{group}', 'Valid placeholders: {arch}, {cuda}, {cudaMajor}, {generation}, {host}'],
  ['{', 'Valid placeholders: {arch}, {cuda}, {cudaMajor}, {generation}, {host}'],
])('a pool called %j', (name, mistake) => {
  expect(poolMistake(name)).toBe(mistake);
});
