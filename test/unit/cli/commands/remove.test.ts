// remove without a reachable host: which hosts it selects, and the agents of machines that no longer exist.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { removal } from '../../../../src/cli/commands/remove.ts';
import { Options } from '../../../../src/cli/options.ts';
import { overSsh } from '../../../../src/cli/run/hosts.ts';
import { carryOut } from '../../../../src/cli/run/own-plan.ts';
import { ownFiles } from '../../../../src/fleet/ssh/config/user-config.ts';
import { firstLine } from '../../../../src/fleet/ssh/fleet-file.ts';
import { writeFleetFile } from '../../../../src/fleet/ssh/write-fleet-file.ts';
import type { AzureClient } from '../../../../src/shared/azure/client.ts';
import { generateAgentKey } from '../../../../src/shared/azure/keys.ts';
import { ownerId } from '../../../../src/shared/azure/pools/agents.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { StillClock } from '../../../support/clock.ts';
import { quietContext, runCommand } from '../../../support/command.ts';
import { factsOf } from '../../../support/host.ts';
import { Keyboard } from '../../../support/keyboard.ts';
import { FakeHost } from '../../fleet/apply/fake-fleet.ts';
import { RawAgent } from '../../practice/azure/routes/raw-agent.ts';
import { newAgent, useFake } from '../../practice/azure/server.ts';

const fake = useFake();

beforeAll(() => {
  writeFileSync(
    join(fake.folder, 'inventory.yaml'),
    `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
defaults: { user: lab, pool: gpu-gone, agents: 2 }
hosts:
  one: { address: 192.0.2.1, port: 2222 }
  two: { address: 192.0.2.2 }
  three: { address: 192.0.2.3, agentName: "bench-{slot}" }
`,
  );
});

const azpFleet = (...argv: string[]) => runCommand(argv, { cwd: fake.folder });

let config: string;
let keys: string;

/** Writes the files of `ssh-config --write` for an inventory: a block and two pinned keys for each host. */
function sshFiles(inventory: string, hosts: readonly string[]): void {
  const files = ownFiles(fake.folder);
  ({ hosts: config, keys } = files);
  const block = (host: string) => `Host ${host}\n  HostName 192.0.2.1\n  Port 2222\n\n`;
  const text = `${firstLine(join(fake.folder, inventory))}${hosts.map(block).join('')}`;
  const pins = ['ssh-ed25519', 'ssh-rsa'];
  const pinned = hosts.flatMap((host) => pins.map((type) => `${host} ${type} AAAA\n`));
  writeFleetFile(files, { text, keys: pinned.join('') });
}

test('hosts must be named: no name does not mean all', async () => {
  const { exitCode, stderr } = await azpFleet('remove', '--yes');
  expect(exitCode).toBe(2);
  expect(stderr).toContain('remove needs the names of hosts');
  expect(stderr).toContain('use "*" for all');
});

test('all agents of a removed machine are deleted after two checks; other places that name it are printed', async () => {
  const client = fake.client();
  const { pool } = await client.ensurePool('gpu-gone');
  const key = await generateAgentKey();
  for (const name of ['one-0', 'one-1', 'two-0']) {
    const userCapabilities = { 'azp-fleet.owner': name.slice(0, 3) };
    await client.createAgent(pool.id, { ...newAgent(name, key), userCapabilities });
  }
  const dry = await azpFleet('remove', '--gone', 'one', '--dry-run');
  expect(dry.stderr).toContain('one-0');
  expect(await client.listAgents(pool.id)).toHaveLength(3);
  const { exitCode, stdout } = await azpFleet('remove', '--gone', 'one', '--yes');
  expect(exitCode).toBe(0);
  expect(stdout).toContain('gpu-gone: one-0, one-1 removed');
  expect(stdout).toContain('remove it, or provision counts it as unreachable');
  expect(stdout).toContain("ssh-keygen -R '[192.0.2.1]:2222'");
  expect((await client.listAgents(pool.id)).map(({ name }) => name)).toEqual(['two-0']);
});

test('a host is refused whole while the server counts a job on one of its agents, until when is shown', async () => {
  writeFileSync(
    join(fake.folder, 'wire.yaml'),
    `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
hosts: { four: { address: 192.0.2.4, pool: wire } }
`,
  );
  const client = fake.client();
  const agent = await RawAgent.register(fake, 'four-0');
  const { id: poolId = 0 } = (await client.findPool('wire')) ?? {};
  await client.setUserCapabilities(poolId, agent.id, { 'azp-fleet.owner': 'four' });
  const [job] = await fake.control.queue({ pool: 'wire' });
  await agent.openSession();
  await agent.takeJob();
  await fake.control.cancel(job?.id ?? 0);
  const key = await generateAgentKey();
  const userCapabilities = { 'azp-fleet.owner': 'four' };
  const other = await client.createAgent(poolId, { ...newAgent('four-1', key), userCapabilities });
  sshFiles('wire.yaml', ['four']);
  const before = [readFileSync(config, 'utf8'), readFileSync(keys, 'utf8')];
  const { exitCode, stderr } = await azpFleet('remove', '--gone', 'four', '--yes', 'wire.yaml');
  expect(exitCode).toBe(1);
  expect(stderr.replaceAll(/\s+/g, ' ')).toMatch(
    /four · pool: the server still counts job \S+ as running on agent four-0; it gives it up at 20\S+Z; nothing is removed .*run it again after that/,
  );
  expect(await client.getAgent(poolId, agent.id)).toMatchObject({ assignedRequest: { requestId: job?.id } });
  expect(await client.getAgent(poolId, other.id)).toMatchObject({ name: 'four-1' });
  expect([readFileSync(config, 'utf8'), readFileSync(keys, 'utf8')]).toEqual(before);
  const { stdout } = await azpFleet('remove', '--gone', 'four', '--yes', '--json', 'wire.yaml');
  expect(JSON.parse(stdout)).toMatchObject({
    leftovers: [],
    sshLines: [],
    problems: [{ code: 'remove.agent-busy', host: 'four', step: 'pool' }],
  });
});

describe('the lines of a machine that is gone in the files of ssh-config', () => {
  const blocks = () =>
    readFileSync(config, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('Host '));
  const addAgent = async (name: string) => {
    const client = fake.client();
    const { pool } = await client.ensurePool('gpu-gone');
    const userCapabilities = { 'azp-fleet.owner': name.slice(0, 3) };
    const agent = await client.createAgent(pool.id, {
      ...newAgent(name, await generateAgentKey()),
      userCapabilities,
    });
    return { client, poolId: pool.id, agent };
  };
  beforeEach(() => sshFiles('inventory.yaml', ['one', 'two']));

  test('are shown and removed with its agents; those of others stay', async () => {
    await addAgent('one-0');
    const dry = await azpFleet('remove', '--gone', 'one', '--dry-run');
    expect(dry.exitCode).toBe(0);
    expect(dry.stderr).toContain(`${config}: 3 lines of one\n${keys}: 2 lines of one\n`);
    expect(blocks()).toEqual(['Host one', 'Host two']);
    const { exitCode, stdout } = await azpFleet('remove', '--gone', 'one', '--yes', '--json');
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      pruned: [{ agent: 'one-0', removed: true }],
      sshLines: [
        { file: config, host: 'one', lines: 3, removed: true },
        { file: keys, host: 'one', lines: 2, removed: true },
      ],
    });
    expect(blocks()).toEqual(['Host two']);
    expect(readFileSync(config, 'utf8')).toMatch(/^# Written by azp-fleet/);
    expect(readFileSync(keys, 'utf8').match(/^\S+ ssh-/gm)).toEqual(['two ssh-', 'two ssh-']);
    expect((await azpFleet('remove', '--gone', 'one', '--yes')).stdout).toMatch(/^nothing to remove\n/);
  });

  test('are removed where no agent is left, also the file of keys with the last of them', async () => {
    const { exitCode, stdout } = await azpFleet('remove', '--gone', 'one', '--gone', 'two', '--yes');
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`${config}: 3 lines of two removed\n`);
    expect(blocks()).toEqual([]);
    expect(existsSync(keys)).toBe(false);
  });

  test('stay without a terminal: the output says what --yes would remove', async () => {
    const { exitCode, stderr } = await azpFleet('remove', '--gone', 'one');
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`${config}: 3 lines of one\n`);
    expect(stderr).toContain('run the command again with --yes');
    expect(blocks()).toEqual(['Host one', 'Host two']);
  });

  test('stay after a no', async () => {
    const { stdin } = new Keyboard();
    let heard = '';
    const done = runCommand(['remove', '--gone', 'one'], {
      cwd: fake.folder,
      terminal: true,
      stdin: Object.assign(stdin, { isTTY: true }),
      heard: (text) => void (heard += text),
    });
    await expect.poll(() => heard).toContain('Remove these lines in ~/.ssh?');
    stdin.write('n\r');
    expect((await done).exitCode).toBe(4);
    expect(blocks()).toEqual(['Host one', 'Host two']);
  });

  test('stay if an agent was used between the two checks', async () => {
    const { client, poolId, agent } = await addAgent('one-0');
    const { monotonic, wall, scaled } = new StillClock();
    const wait = async () => {
      await client.deleteAgent(poolId, agent.id);
      await addAgent('one-0');
    };
    const { exitCode, stdout } = await runCommand(['remove', '--gone', 'one', '--yes'], {
      cwd: fake.folder,
      clock: { monotonic, wall, scaled, wait },
    });
    expect(exitCode).toBe(1);
    expect(stdout).toContain('gpu-gone: one-0 kept: the agent was used in between\n');
    expect(stdout).toContain(`${config}: 3 lines of one kept\n`);
    expect(blocks()).toEqual(['Host one', 'Host two']);
  });

  test('stay if Azure DevOps cannot be read: unknown is not "no job"', async () => {
    await fake.control.setToken('revoked');
    expect((await azpFleet('remove', '--gone', 'one', '--yes')).exitCode).not.toBe(0);
    expect(blocks()).toEqual(['Host one', 'Host two']);
  });

  test('stay if a pool of the host is not found, and the output says so', async () => {
    writeFileSync(
      join(fake.folder, 'hidden.yaml'),
      `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
hosts: { one: { pool: hidden }, two: { pool: gpu-gone } }
`,
    );
    sshFiles('hidden.yaml', ['one', 'two']);
    const { exitCode, stderr } = await azpFleet('remove', '--gone', 'one', '--yes', 'hidden.yaml');
    expect(exitCode).toBe(1);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
      'pool hidden not found, or the token lacks permission: its agents and their jobs are unknown',
    );
    expect(blocks()).toEqual(['Host one', 'Host two']);
    const two = await azpFleet('remove', '--gone', 'two', '--yes', 'hidden.yaml');
    expect(two.exitCode).toBe(0);
    expect(two.stdout).toContain('hidden: not found, or the token lacks permission');
    expect(blocks()).toEqual(['Host one']);
  });

  test('stay if the files are of another inventory, or by another program', async () => {
    sshFiles('other.yaml', ['one', 'two']);
    const { exitCode, stdout } = await azpFleet('remove', '--gone', 'one', '--yes');
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`${config}: 3 lines of one kept: the file is of another inventory\n`);
    expect(blocks()).toEqual(['Host one', 'Host two']);
    writeFileSync(config, 'Host one\n  HostName 192.0.2.1\n');
    rmSync(keys);
    expect((await azpFleet('remove', '--gone', 'one', '--yes')).exitCode).toBe(0);
    expect(blocks()).toEqual(['Host one']);
  });
});

test('a host with an agent that is online is refused: its machine is not gone', async () => {
  const capabilities = { 'azp-fleet.owner': 'six' };
  await fake.control.makeAgents({
    pool: 'gpu-gone',
    count: 1,
    namePattern: 'six-{n}',
    online: true,
    capabilities,
  });
  const { exitCode, stderr } = await azpFleet('remove', '--gone', 'six', '--yes');
  expect(exitCode).toBe(1);
  expect(stderr).toContain('remove.online');
});

describe('a host with a job that Azure DevOps still counts', () => {
  const facts = factsOf({
    manager: { current: '/opt/azp-fleet/versions/1', unitActive: 'active', installation: 'i' },
    ours: { folders: ['/opt/azp-fleet'] },
  });
  const tell = async (given: Readonly<Record<string, unknown>>, azure: AzureClient = fake.client()) => {
    writeFileSync(
      join(fake.folder, 'lost.yaml'),
      `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
hosts: { five: { address: 192.0.2.5, pool: wire } }
`,
    );
    const { context, written } = quietContext({ cwd: fake.folder });
    const options = new Options({ dryRun: true, ...given });
    const input = {
      positionals: ['five'],
      rest: [],
      options,
      inventory: 'lost.yaml',
      commandLine: 'azp-fleet remove',
      commands: [],
    };
    const machine = new FakeHost([]);
    const { transport } = machine.tools();
    const { plan, tools } = removal(context, input, { azure });
    const wiring = { ...overSsh, connect: () => transport };
    const gather = () => Promise.resolve(facts);
    const { exitCode } = await carryOut(context, input, plan, { wiring, gather, ...tools });
    expect(machine.log).toEqual([]);
    return { exitCode, stdout: written.stdout.replaceAll(/\s+/g, ' ') };
  };
  let lost: RawAgent;

  beforeAll(async () => {
    lost = await RawAgent.register(fake, 'five-0');
    const { id = 0 } = (await fake.client().findPool('wire')) ?? {};
    const owner = ownerId(facts.machineId, 'i');
    await fake.client().setUserCapabilities(id, lost.id, { 'azp-fleet.owner': owner });
    await fake.control.queue({ pool: 'wire' });
    await lost.openSession();
    await lost.takeJob();
  });

  test('is refused whole, with the job and the time at which the server gives it up', async () => {
    const { stdout } = await tell({});
    expect(stdout).toMatch(
      /the server still counts job \S+ as running on agent five-0; it gives it up at 20\S+Z .*run it again after that, or now with --wait/,
    );
  });

  test('is planned with --wait', async () => {
    const { exitCode, stdout } = await tell({ wait: true });
    expect(exitCode).toBe(0);
    expect(stdout).toContain('stop the manager');
    expect(stdout).not.toContain('still counts');
  });

  test('is planned with --force, and the plan says what stays', async () => {
    const { exitCode, stdout } = await tell({ force: true });
    expect(exitCode).toBe(0);
    expect(stdout).toContain('those with a job that the server still counts stay, and so does the pool');
  });

  test('is refused if Azure DevOps cannot be asked: unknown is not "no job"', async () => {
    const azure = {
      ...fake.client(),
      findPool: () =>
        Promise.reject(new FleetError({ code: 'azure.unreachable', what: 'no answer in 30 s' })),
    };
    const { stdout } = await tell({ wait: true }, azure);
    expect(stdout).toContain('whether Azure DevOps counts jobs on its agents is unknown: no answer in 30 s');
    expect((await tell({ force: true }, azure)).exitCode).toBe(0);
  });
});

test('--wait and --force exclude each other', async () => {
  const { exitCode, stderr } = await azpFleet('remove', 'one', '--wait', '--force');
  expect(exitCode).toBe(2);
  expect(stderr).toContain('--wait and --force exclude each other');
});

test.each(['--wait', '--force'])('--gone does not use %s', async (flag) => {
  const { exitCode, stderr } = await azpFleet('remove', '--gone', 'one', flag);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(`--gone does not use ${flag}`);
});

test('a machine with ambiguous agent names is refused, and so are additional hosts', async () => {
  expect(await azpFleet('remove', '--gone', 'three')).toMatchObject({ exitCode: 2 });
  const both = await azpFleet('remove', 'two', '--gone', 'one');
  expect(both.exitCode).toBe(2);
  expect(both.stderr).toContain('--gone cannot be combined with host names');
});
