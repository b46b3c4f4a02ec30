import { afterEach, beforeEach, expect, test } from 'vitest';
import { createEngine } from '../../../../src/shared/engine/docker.ts';
import type { Engine } from '../../../../src/shared/engine/engine.ts';
import { jobLabel, ofAgent, removeJobLeftovers } from '../../../../src/manager/host-mode/job-leftovers.ts';
import { StandInEngine } from '../../../support/docker/engine.ts';
import { standInNetwork } from '../../../support/docker/networks.ts';

const root = '/var/lib/azp-fleet-agents/Bare';
const network = `vsts_network_${'0123456789abcdef'.repeat(2)}`;

// printf %s PATH | sha256sum, with the path in lower case as the agent takes it.
test.each([
  ['/azp', 'f3b821'],
  ['/AZP', 'f3b821'],
])('an agent in %s labels with %s', (path, label) => {
  expect(jobLabel(path)).toBe(label);
});

const container = (...sources: readonly string[]) => ({ id: 'c', name: 'job_ubuntu2204_1a2b3c', sources });

test.each([
  ['with the work folder', container('/data', `${root}/_work/1`), true],
  ['with the tools', container(`${root}/externals`), true],
  ['of an agent whose path begins like ours', container(`${root}-2/_work/1`), false],
  ['of somebody else', container('/home/other/agent/_work/1'), false],
  ['without anything mounted', container(), false],
])('a container with the label, %s', (_, each, isOurs) => {
  expect(ofAgent(root, { containers: [each], networks: [] }).containers).toHaveLength(isOurs ? 1 : 0);
});

test.each([
  [network, true],
  ['vsts_network_short', false],
  [`${network}0`, false],
  ['my-network', false],
])('a network with the label, named %s', (name, isOurs) => {
  expect(ofAgent(root, { containers: [], networks: [{ id: 'n', name }] }).networks).toHaveLength(
    isOurs ? 1 : 0,
  );
});

let docker: StandInEngine;
let engine: Engine;
beforeEach(async () => {
  docker = await new StandInEngine().start();
  engine = createEngine({ socketPath: docker.socketPath });
});
afterEach(() => docker.close());

async function runs(name: string, label: string, binds: readonly string[], on: string): Promise<void> {
  const HostConfig = { Binds: [...binds], NetworkMode: on };
  await engine.start(await engine.create(name, { Image: 'x', Labels: { [label]: '' }, HostConfig }));
}

test("a killed agent's container and network go, running or not; nobody else's", async () => {
  const mine = jobLabel(root);
  const others = network.replace('0', 'f');
  docker.networks.push(standInNetwork({ Name: network, Labels: { [mine]: '' } }));
  docker.networks.push(standInNetwork({ Name: others, Labels: { [jobLabel('/home/other/agent')]: '' } }));
  await runs('job_1', mine, [`${root}/_work/1:/__w/1`], network);
  await runs('other', jobLabel('/home/other/agent'), ['/home/other/agent/_work/1:/__w/1'], others);
  await runs('same-label', mine, ['/srv/data:/data'], 'bridge');
  expect(await removeJobLeftovers(engine, root)).toEqual(['job_1', network]);
  expect([...docker.containers.values()].map(({ name }) => name)).toEqual(['other', 'same-label']);
  expect(docker.networks.map(({ Name }) => Name)).toEqual([others]);
  expect(await removeJobLeftovers(engine, root)).toEqual([]);
});

test('a network that somebody else put a container on stays, which is no mistake', async () => {
  docker.networks.push(standInNetwork({ Name: network, Labels: { [jobLabel(root)]: '' } }));
  await runs('mine-by-hand', 'x', [], network);
  await removeJobLeftovers(engine, root);
  expect(docker.networks.map(({ Name }) => Name)).toEqual([network]);
});

test('while Docker does not answer, nothing counts as removed', async () => {
  docker.fail(/GET \/networks/, 500, 'not now');
  await expect(removeJobLeftovers(engine, root)).rejects.toThrow('looking for a label');
});
