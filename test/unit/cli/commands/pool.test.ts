// The pool commands as a user runs them, against the fake server over real HTTP; terminal and files are stand-ins.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { generateAgentKey } from '../../../../src/shared/azure/keys.ts';
import { parseArguments } from '../../../../src/cli/parse.ts';
import { commands } from '../../../../src/cli/commands.ts';
import { runCommand } from '../../../../src/cli/run-command.ts';
import { quietContext } from '../../../support/command.ts';
import { newAgent, useFake } from '../../practice/azure/server.ts';

const fake = useFake();
let inventory = '';

beforeAll(() => {
  inventory = join(fake.folder, 'inventory.yaml');
  writeFileSync(
    inventory,
    `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
projects: [vision]
defaults: { user: lab, pool: gpu-cli, agents: 2 }
hosts:
  one: { address: 192.0.2.1, gpus: 2 }
  two: { address: 192.0.2.2, gpus: 2, agentName: "ci.{host}.{slot}" }
`,
  );
});

async function azpFleet(...argv: string[]) {
  const { context, written } = quietContext({ cwd: fake.folder });
  const io = { out: () => undefined, err: () => undefined, env: {}, version: '0', columns: 80 };
  const file = argv.includes('-i') ? [] : ['-i', inventory];
  const parsed = parseArguments([...argv, ...file], commands, io);
  if (parsed === undefined) throw new Error('not understood');
  const exitCode = await runCommand(context, parsed);
  return { exitCode, ...written };
}

test('list, create, authorize, and again without changes', async () => {
  expect((await azpFleet('pool', 'list')).stdout).toMatch(/gpu-cli .*pool not found/u);

  const created = await azpFleet('pool', 'create', '--yes');
  expect(created).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining('done: create agent pool gpu-cli'),
  });
  expect((await azpFleet('pool', 'list')).stdout).toMatch(/gpu-cli .*not permitted: vision/u);

  expect((await azpFleet('pool', 'authorize', '--yes')).exitCode).toBe(0);
  expect((await azpFleet('pool', 'authorize', '--yes')).stdout).toBe('no changes\n');
  expect((await azpFleet('pool', 'create', '--yes')).stdout).toBe('no changes\n');
  const listed = await azpFleet('pool', 'list', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject({
    pools: [{ name: 'gpu-cli', autoUpdate: false, projects: [{ project: 'vision', authorized: true }] }],
  });
});

test('a missing named pool is an error, with a similar name', async () => {
  await fake.client().ensurePool('gpu-cli');
  const { exitCode, stdout, stderr } = await azpFleet('pool', 'list', 'gpu-clo', 'zebra', 'gpu-cli');
  expect(exitCode).toBe(2);
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ')[0]),
  ).toEqual(['POOL', 'gpu-cli']);
  expect(stderr).toBe(`✗ pool: gpu-clo not found, or the token lacks permission [pool.missing]
  next      did you mean "gpu-cli"?
✗ pool: zebra not found, or the token lacks permission [pool.missing]
  next      list the pools of the inventory: azp-fleet pool list
`);
  const none = await azpFleet('pool', 'list', 'nope');
  expect(none).toMatchObject({ exitCode: 2, stdout: '' });
  expect(JSON.parse((await azpFleet('pool', 'list', 'nope', '--json')).stdout)).toMatchObject({
    exitCode: 2,
    problems: [{ code: 'pool.missing' }],
    pools: [{ name: 'nope' }],
  });
});

test('without a terminal nothing is changed unless --yes is given', async () => {
  await expect(azpFleet('pool', 'create', 'gpu-unasked')).rejects.toMatchObject({ exitCode: 2 });
  expect(await fake.client().findPool('gpu-unasked')).toBeUndefined();
});

test('prune removes only agents without a slot, and only after two checks', async () => {
  const client = fake.client();
  const { pool } = await client.ensurePool('gpu-cli');
  const key = await generateAgentKey();
  const owned = (owner: string) => ({ userCapabilities: { 'azp-fleet.owner': owner } });
  for (const [name, owner] of [
    ['one-0', 'a'],
    ['one-2', 'a'],
    ['ci.two.0', 'b'],
    ['three-0', 'c'],
  ] as const) {
    await client.createAgent(pool.id, { ...newAgent(name, key), ...owned(owner) });
  }
  await client.createAgent(pool.id, newAgent('one-3', key));

  const dry = await azpFleet('pool', 'prune', '--dry-run');
  expect(dry.stderr).toBe('gpu-cli: one-2 is offline and belongs to no slot of one\n');
  expect(await client.listAgents(pool.id)).toHaveLength(5);

  expect((await azpFleet('pool', 'prune', '--yes')).stdout).toBe(
    'gpu-cli: one-2 removed\ngpu-cli: three-0 kept: owner c (host unknown) is not in the inventory\n',
  );
  expect((await azpFleet('pool', 'prune', '--yes', '--gone', 'three')).stdout).toBe(
    'gpu-cli: three-0 removed\n',
  );
  const left = (await client.listAgents(pool.id)).map(({ name }) => name);
  expect(left.sort()).toEqual(['ci.two.0', 'one-0', 'one-3']);
  expect((await azpFleet('pool', 'prune', '--yes')).stdout).toBe('nothing to remove\n');
});

test('prune offers agents under a former name of a host, and names those of unknown owners', async () => {
  const client = fake.client();
  const { pool } = await client.ensurePool('gpu-cli');
  const key = await generateAgentKey();
  for (const [name, owner, host] of [
    ['one-0', 'renamed', 'one'],
    ['uno-0', 'renamed', 'uno'],
    ['uno-1', 'renamed', 'uno'],
    ['elsewhere-0', 'unknown', 'else\u001b[2Jwhere'],
  ] as const) {
    const userCapabilities = { 'azp-fleet.owner': owner, 'azp-fleet.host': host };
    const there = (await client.listAgents(pool.id)).find((each) => each.name === name);
    if (there !== undefined) await client.deleteAgent(pool.id, there.id);
    await client.createAgent(pool.id, { ...newAgent(name, key), userCapabilities });
  }
  const { stdout } = await azpFleet('pool', 'prune', '--dry-run', '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    leftovers: [
      { name: 'uno-0', host: 'one', renamedFrom: 'uno' },
      { name: 'uno-1', host: 'one', renamedFrom: 'uno' },
    ],
    unknownOwners: [{ name: 'elsewhere-0', owner: 'unknown' }],
  });
  const pruned = await azpFleet('pool', 'prune', '--yes');
  expect(pruned.stderr).toContain('gpu-cli: uno-0, uno-1 are offline and belong to one, formerly uno\n');
  expect(pruned.stdout).toContain('gpu-cli: uno-0, uno-1 removed\n');
  expect(pruned.stdout).toMatch(/^gpu-cli: elsewhere-0 kept: owner unknown \(host else.*\) is not in the/m);
  expect(pruned.stdout).not.toContain('\u001b');
  const left = await client.listAgents(pool.id);
  expect(left.map(({ name }) => name)).toContain('elsewhere-0');
  for (const { id, name } of left) if (name === 'elsewhere-0') await client.deleteAgent(pool.id, id);
});

test('agents of a removed host are found by its former agentName', async () => {
  const client = fake.client();
  const { pool } = await client.ensurePool('gpu-cli');
  const key = await generateAgentKey();
  for (const name of ['ci.four.0', 'bench-0', 'bench-1-0', 'four-0']) {
    const owned = { userCapabilities: { 'azp-fleet.owner': 'd' } };
    await client.createAgent(pool.id, { ...newAgent(name, key), ...owned });
  }
  const dry = (...more: readonly string[]) => azpFleet('pool', 'prune', '--dry-run', ...more);
  // `ci.{host}.{slot}` is the pattern of host "two".
  const found = (await dry('--gone', 'four')).stderr;
  expect(found).toContain('ci.four.0');
  expect(found).toContain('four-0');
  expect(found).not.toContain('bench');
  expect((await dry('--gone', 'five', '--agent-name', 'bench-{slot}')).stderr).toBe(
    'gpu-cli: bench-0 is offline and belongs to no slot of five\n',
  );
  await expect(dry('--gone', 'five', '--agent-name', 'bench')).rejects.toMatchObject({ exitCode: 2 });
});

test('a host in the inventory is not accepted as removed', async () => {
  await expect(azpFleet('pool', 'prune', '--yes', '--gone', 'two')).rejects.toMatchObject({
    exitCode: 2,
    problem: { code: 'usage.host-not-gone' },
  });
});

describe('pools that only the hosts can name, and slots with their own', () => {
  let own = '';
  beforeAll(() => {
    own = join(fake.folder, 'own.yaml');
    writeFileSync(
      own,
      `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
defaults: { user: lab, pool: "{arch}-cuda{cuda}" }
hosts:
  box:
    address: 192.0.2.1
    agents: [{ gpus: [0] }, { gpus: [1], pool: gpu-own }, { gpus: [2], pool: gpu-other }]
`,
    );
  });
  const said = (text: string) => text.replaceAll(/\s+/gu, ' ');

  test('are shown if they match, with a note that the hosts determine the name', async () => {
    const before = await azpFleet('pool', 'list', '-i', own);
    expect(before.stdout).toMatch(/gpu-own .*pool not found/u);
    expect(said(before.stderr)).toContain(
      '{arch}-cuda{cuda} depends on facts of the hosts: no existing pool matches',
    );
    await fake.client().ensurePool('x64-cuda12.8');
    const after = await azpFleet('pool', 'list', '-i', own);
    expect(after.stdout).toMatch(/x64-cuda12\.8 +0 /u);
    expect(said(after.stderr)).toContain(
      'x64-cuda12.8 match next run "azp-fleet plan", which reads the hosts',
    );
    expect(after.exitCode).toBe(0);
  });

  test('those that can be named without a host are created', async () => {
    const { stderr } = await azpFleet('pool', 'create', '-i', own, '--yes');
    expect(stderr).toContain('done: create agent pool gpu-own');
    expect(stderr).toContain('done: create agent pool gpu-other');
    expect(stderr).not.toContain('create agent pool {arch}');
    expect(await fake.client().findPool('{arch}-cuda{cuda}')).toBeUndefined();
  });

  test('prune finds agents in the former pool of a slot, by owner; a matching pool keeps its agents', async () => {
    const client = fake.client();
    const key = await generateAgentKey();
    const add = async (pool: string, name: string, owner: string) => {
      const { pool: found } = await client.ensurePool(pool);
      const userCapabilities = { 'azp-fleet.owner': owner };
      await client.createAgent(found.id, { ...newAgent(name, key), userCapabilities });
    };
    await add('x64-cuda12.8', 'box-0', 'a');
    await add('x64-cuda12.8', 'box-1', 'a');
    await add('gpu-own', 'box-1', 'a');
    await add('gpu-own', 'box-0', 'a');
    await add('gpu-other', 'box-2', 'a');
    const { stderr } = await azpFleet('pool', 'prune', '--dry-run', '-i', own);
    expect(stderr.trim().split('\n').toSorted()).toEqual([
      'gpu-own: box-0 is offline and belongs to no slot of box',
      'x64-cuda12.8: box-1 is offline and belongs to no slot of box',
    ]);
  });
});
