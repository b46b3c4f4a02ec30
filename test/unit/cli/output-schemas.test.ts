// The published JSON Schemas describe what the commands print, in all of its forms, and nothing else.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { outputSchema, outputSchemaText, schemaFile, schemaNames } from '../../../scripts/output-schemas.ts';
import { commands } from '../../../src/cli/commands.ts';
import { runCommand } from '../../support/command.ts';
import { practiceFleet, type PracticeFleet } from '../../support/practice-fleet.ts';
import { useFake } from '../practice/azure/server.ts';

// The artifacts are built in dist/, which need not exist for unit tests.
vi.mock('../../../src/fleet/artifacts/load.ts', async () => {
  const { desiredOf } = await import('../../support/host.ts');
  return { loadArtifacts: () => Promise.resolve(desiredOf().artifacts) };
});

const folder = new URL('../../../schemas/', import.meta.url);
const smi = new URL('../../fixtures/nvidia-smi/t4-hot-v11.xml', import.meta.url).pathname;
const cwd = mkdtempSync('/tmp/azp-schemas-');
const fake = useFake();
let fleet: PracticeFleet;
beforeAll(async () => {
  fleet = await practiceFleet(cwd);
  await fake.client().ensurePool('gpu-lab');
  writeFileSync(
    join(cwd, 'inventory.yaml'),
    `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
projects: [vision]
defaults: { user: lab, pool: gpu-lab, sshConfig: none, loginPassword: { env: LOGIN } }
hosts:
${fleet.hosts.map((host) => `  ${host}\n`).join('')}`,
  );
});
afterAll(() => {
  fleet.close();
  rmSync(cwd, { recursive: true });
});

/** Numbers of builds, by words in the lines below. */
const builds = new Map<string, number>();

async function begin(): Promise<void> {
  await runCommand(['pool', 'authorize', '--yes'], { cwd, env: { LOGIN: 'a-login-password' } });
  await fake.control.makeAgents({ pool: 'gpu-lab', count: 1, namePattern: 'rtx-box-{n}', enabled: false });
  await fake.control.makeAgents({ pool: 'gpu-lab', count: 1, namePattern: 'away-{n}', online: true });
  await fake.control.begin({ pool: 'gpu-lab' });
  builds.set('BUSY', await fake.control.begin({ pool: 'gpu-lab' }));
  builds.set('REFUSED', await fake.control.begin({ pool: 'gpu-lab', demands: ['gpu.model -equals B200'] }));
  builds.set('GATED', await fake.control.begin({ pool: 'gpu-lab', checks: ['Approval'] }));
}

async function printed(line: string): Promise<Record<string, unknown>> {
  const env = { LOGIN: 'a-login-password' };
  if (line.startsWith('doctor') && builds.size === 0) await begin();
  const words = line.split(' ').map((word) => String(builds.get(word) ?? word));
  const { stdout } = await runCommand(['--json', '--yes', ...words], { cwd, env });
  return JSON.parse(stdout) as Record<string, unknown>;
}

test('schemas/ is current (npm run schema writes it)', () => {
  expect(readdirSync(folder).toSorted()).toEqual(schemaNames.map(schemaFile).toSorted());
  for (const command of schemaNames)
    expect(readFileSync(new URL(schemaFile(command), folder), 'utf8')).toBe(outputSchemaText(command));
});

test('every command with --json has a schema', () => {
  const withJson = commands.flatMap(({ name, json }) => (json === false ? [] : [name]));
  expect(schemaNames.toSorted()).toEqual(withJson.toSorted());
});

test.each(schemaNames)('the schema of %s has the members of its declaration', (command) => {
  const { properties } = outputSchema(command) as { properties: object };
  const declared = commands.find(({ name }) => name === command)?.json;
  // With --gone the document has these.
  const gone = command === 'remove' ? ['leftovers', 'pruned', 'sshLines'] : [];
  expect(Object.keys(properties).slice(7)).toEqual([...(declared as readonly string[]), ...gone]);
});

describe.each([
  ['status', 'status'],
  ['status', 'status h200-1'],
  ['status', 'status rtx-box'],
  ['status', 'status away'],
  ['status', 'status h200-1/0'],
  ['status', 'status --check'],
  ['status', 'status --drift'],
  ['status', 'status no-such-host'],
  ['status', 'status --parallel none'],
  ['plan', 'plan'],
  ['plan', 'plan l40s-1 away'],
  ['plan', 'plan no-such-host'],
  ['doctor', 'doctor'],
  ['doctor', 'doctor h200-1 --no-probe'],
  ['doctor', 'doctor away --fix'],
  ['doctor', 'doctor l40s-1 --fix'],
  ['doctor', 'doctor no-such-host'],
  ['doctor', 'doctor -i none.yaml'],
  ['doctor', 'doctor --job BUSY'],
  ['doctor', 'doctor --job REFUSED'],
  ['doctor', 'doctor --job GATED'],
  ['doctor', 'doctor --job 99999'],
  ['doctor', 'doctor --job none'],
  ['upgrade', 'upgrade'],
  ['upgrade', 'upgrade docker h200-1 away'],
  ['upgrade', 'upgrade driver rtx-box --to 580 --dry-run'],
  ['upgrade', 'upgrade docker h200-1 away --to 29.8.2'],
  ['upgrade', 'upgrade docker --to 29'],
  ['version', 'version'],
  ['version', 'version --check'],
  ['history', 'history'],
  ['history', 'history h200-1 away --since 7d'],
  ['history', 'history --since never'],
  ['inventory list', 'inventory list'],
  ['inventory list', 'inventory list -i none.yaml'],
  ['inventory show', 'inventory show h200-1'],
  ['inventory diff', 'inventory diff h200-1 l40s-1'],
  ['drain', 'drain h200-1 --reason fan'],
  ['undrain', 'undrain h200-1'],
  ['logs', 'logs h200-1'],
  ['logs', 'logs h200-1/0'],
  ['repaired', 'repaired h200-1'],
  ['webhook', 'webhook h200-1'],
  ['adopt', 'adopt h200-1'],
  ['image which', 'image which'],
  ['image build', 'image build h200-1'],
  ['exec', 'exec h200-1 away -- true'],
  ['trust', 'trust h200-1'],
  ['provision', 'provision --dry-run'],
  ['reboot', 'reboot --dry-run'],
  ['remove', 'remove h200-1 --dry-run'],
  ['remove', 'remove --gone h200-1 --dry-run'],
  ['explain', 'explain cuda.not-ready'],
  ['pool list', 'pool list'],
  ['diagnose', `diagnose ${smi}`],
] as const)('%s', (command, line) => {
  test(`what ${line} prints is valid, and has no member that the schema lacks`, async () => {
    const document = await printed(line);
    for (const closed of [false, true]) {
      const validate = new Ajv({ allErrors: true }).compile(outputSchema(command, { closed }));
      validate(document);
      expect(validate.errors ?? []).toEqual([]);
    }
  });
});

test('only the name of one host adds its detail', async () => {
  const details = async (line: string) =>
    ((await printed(line))['hosts'] as readonly object[]).map((host) => 'detail' in host);
  expect(await details('status rtx-box')).toEqual([true]);
  expect(await details('status rtx-box/0')).toEqual([false]);
  expect(await details('status rtx-*')).toEqual([false]);
  expect(await details('status h200-1 rtx-box')).toEqual([false, false]);
});

test('a wrong document is not valid', async () => {
  const validate = new Ajv().compile(outputSchema('status'));
  const document = await printed('status away');
  expect(validate(document)).toBe(true);
  expect(validate({ ...document, hosts: [{ host: 'a' }] })).toBe(false);
  expect(validate({ ...document, schema: 2 })).toBe(false);
  // A later release may add members, so that the published schema permits them.
  const closed = new Ajv().compile(outputSchema('status', { closed: true }));
  expect([validate, closed].map((check) => check({ ...document, later: 1 }))).toEqual([true, false]);
});
