// remove without a reachable host: which hosts it selects, and the agents of machines that no longer exist.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';

import { removal } from '../../../../src/cli/commands/remove.ts';
import { Options } from '../../../../src/cli/options.ts';
import { overSsh } from '../../../../src/cli/run/hosts.ts';
import { carryOut } from '../../../../src/cli/run/own-plan.ts';
import type { AzureClient } from '../../../../src/shared/azure/client.ts';
import { generateAgentKey } from '../../../../src/shared/azure/keys.ts';
import { ownerId } from '../../../../src/shared/azure/pools/agents.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { quietContext, runCommand } from '../../../support/command.ts';
import { factsOf } from '../../../support/host.ts';
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

test('an agent with a job that the server still counts stays, and the output says until when', async () => {
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
  const { exitCode, stdout } = await azpFleet('remove', '--gone', 'four', '--yes', 'wire.yaml');
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(
    /^wire: four-0 stays: the server still counts job \S+ as running on agent four-0; it gives it up at 20\S+Z; run it again after that$/m,
  );
  expect(await client.getAgent(poolId, agent.id)).toMatchObject({ assignedRequest: { requestId: job?.id } });
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
