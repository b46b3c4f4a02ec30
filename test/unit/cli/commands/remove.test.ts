// remove without a reachable host: which hosts it selects, and the agents of machines that no longer exist.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';

import { generateAgentKey } from '../../../../src/shared/azure/keys.ts';
import { runCommand } from '../../../support/command.ts';
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
