import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { createEngine } from '../../../../src/shared/engine/docker.ts';
import type { Engine } from '../../../../src/shared/engine/engine.ts';
import { AgentNetwork } from '../../../../src/manager/docker/network-isolation.ts';
import { StandInEngine } from '../../../support/docker/engine.ts';
import { standInNetwork, type StandInNetwork } from '../../../support/docker/networks.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';
import { fault } from '../../../support/fault.ts';

const right = {
  'com.docker.network.bridge.name': 'azp-fleet0',
  'com.docker.network.bridge.enable_icc': 'false',
};
const Labels = { 'azp-fleet.kind': 'network' };

/** The network as the previous release creates it, with changes by a user or another program. */
const network = (changes: Partial<StandInNetwork> = {}): StandInNetwork =>
  standInNetwork({ Name: 'azp-fleet', Options: right, Labels, ...changes });
const options = (changes: Record<string, string>): Partial<StandInNetwork> => ({
  Options: { ...right, ...changes },
});

let docker: StandInEngine;
let engine: Engine;
beforeEach(async () => {
  docker = await new StandInEngine().start();
  engine = createEngine({ socketPath: docker.socketPath });
});
afterEach(() => docker.close());

const newNetwork = (): AgentNetwork => new AgentNetwork(engine, silentLogger);

const wrong: readonly (readonly [string, Partial<StandInNetwork>, string])[] = [
  [
    'containers reach each other',
    options({ 'com.docker.network.bridge.enable_icc': 'true' }),
    'its containers reach each other',
  ],
  [
    'no option about it',
    { Options: { 'com.docker.network.bridge.name': 'azp-fleet0' } },
    'its containers reach each other',
  ],
  ['another bridge', options({ 'com.docker.network.bridge.name': 'br-lab' }), 'its bridge is not azp-fleet0'],
  ['another driver', { Driver: 'macvlan' }, 'its driver is macvlan'],
  ['IPv6', { EnableIPv6: true }, 'it has IPv6'],
  ['an internal network', { Internal: true }, 'it is internal'],
  ['attachable', { Attachable: true }, 'it is attachable'],
  [
    'metadata addresses',
    { IPAM: { Driver: 'default', Config: [{ Subnet: '169.254.169.0/24' }] } },
    'its addresses 169.254.169.0/24 overlap metadata addresses',
  ],
  [
    'a range that contains them',
    { IPAM: { Driver: 'default', Config: [{ Subnet: '100.64.0.0/10' }] } },
    'its addresses 100.64.0.0/10 overlap metadata addresses',
  ],
  ['addresses of a plugin', { IPAM: { Driver: 'infoblox', Config: [] } }, 'its addresses come from infoblox'],
  [
    'routed addresses',
    options({ 'com.docker.network.bridge.gateway_mode_ipv4': 'routed' }),
    'its option com.docker.network.bridge.gateway_mode_ipv4 is routed',
  ],
];

describe('a network of that name', () => {
  test('that is missing is created', async () => {
    expect(await newNetwork().ensure()).toBeUndefined();
    expect(docker.networks).toMatchObject([{ Name: 'azp-fleet', Driver: 'bridge', Options: right, Labels }]);
  });

  test.each([
    ['the previous release', {}],
    ['this release with another MTU of the site', options({ 'com.docker.network.driver.mtu': '1450' })],
  ])('created by %s stays', async (_, changes) => {
    docker.networks.push(network(changes));
    const [{ Id } = { Id: '' }] = docker.networks;
    expect(await newNetwork().ensure()).toBeUndefined();
    expect(docker.networks.map((each) => each.Id)).toEqual([Id]);
  });

  test('is distinguished from networks whose names contain it', async () => {
    docker.networks.push(standInNetwork({ Name: 'my-azp-fleet-2' }));
    expect(await newNetwork().ensure()).toBeUndefined();
    expect(docker.networks).toHaveLength(2);
  });

  test.each(wrong)('of a manager with %s and no container is created again', async (_, changes) => {
    docker.networks.push(network(changes));
    expect(await newNetwork().ensure()).toBeUndefined();
    expect(docker.networks).toMatchObject([{ Driver: 'bridge', Options: right, Internal: false }]);
  });

  test.each(wrong)('with %s and a container stays, and is reported', async (_, changes, fault) => {
    docker.networks.push(network(changes));
    await engine.start(await engine.create('busy', { Image: 'x', HostConfig: { NetworkMode: 'azp-fleet' } }));
    const before = [...docker.networks];
    expect(await newNetwork().ensure()).toEqual({
      code: 'fence.network',
      what: `the Docker network azp-fleet does not isolate jobs: ${fault}`,
      next: 'drain the host (azp-fleet drain): the network is created again when no container uses it',
    });
    expect(docker.networks).toEqual(before);
    docker.end('busy', 0);
    expect(await newNetwork().ensure()).toBeUndefined();
  });

  test('of another program is not changed, used or not', async () => {
    docker.networks.push(network({ Labels: {}, Options: {} }));
    const before = [...docker.networks];
    const cause = await newNetwork().ensure();
    expect(cause?.what).toMatch(
      /: another program created it, its bridge is not azp-fleet0, its containers reach/,
    );
    expect(cause?.next).toBe(
      `remove it on the host (docker network rm ${before[0]?.Id.slice(0, 12)}): it is created again within a minute`,
    );
    expect(docker.networks).toEqual(before);
  });

  test('that exists twice is reported, because containers cannot choose one', async () => {
    const [first, second] = [network(), network()];
    docker.networks.push(first, second);
    expect(await newNetwork().ensure()).toBeUndefined();
    expect(docker.networks).toEqual([first]);
    docker.networks.push(network({ Labels: {} }));
    expect((await newNetwork().ensure())?.what).toMatch(
      /another program created it, another network has this name$/,
    );
  });

  test('that Docker creates with other options because of daemon.json is reported, and not created again', async () => {
    docker.networkDefaults = { 'com.docker.network.bridge.gateway_mode_ipv4': 'routed' };
    const mine = newNetwork();
    expect((await mine.ensure())?.next).toMatch(/^check default-network-opts/);
    const [{ Id } = { Id: '' }] = docker.networks;
    await mine.ensure();
    expect(docker.networks.map((each) => each.Id)).toEqual([Id]);
  });

  test('that another program creates at the same time is checked, too', async () => {
    docker.fail(/^POST \/networks\/create$/, 409, 'network with name azp-fleet already exists');
    const { create } = { create: engine.createNetwork.bind(engine) };
    const racing = new AgentNetwork(
      {
        ...engine,
        createNetwork: (asked) => {
          docker.networks.push(network());
          return create(asked);
        },
      },
      silentLogger,
    );
    expect(await racing.ensure()).toBeUndefined();
  });

  test('that Docker fails to create is an error of Docker', async () => {
    docker.fail(/^POST \/networks\/create$/, 500, 'all predefined address pools have been fully subnetted');
    await expect(newNetwork().ensure()).rejects.toThrow(/network of the agents/);
  });
});

describe('the manager', () => {
  let rig: ManagerRig;
  beforeEach(async () => {
    rig = await ManagerRig.create();
  });
  afterEach(() => rig.close());

  const problems = async () => (await rig.status()).problems.map(({ code }) => code);

  test('reports a network of another program, and jobs run', async () => {
    rig.docker.networks.push(network({ Labels: {} }));
    await rig.start();
    await rig.until('idle');
    await expect.poll(problems).toEqual(['fence.network']);
    rig.docker.networks.length = 0;
    await expect.poll(problems).toEqual([]);
    expect(rig.docker.networks).toMatchObject([{ Labels }]);
  });

  fault(
    'other-network',
    'with network: required waits for it, also when it changes while agents are idle',
    async () => {
      rig.docker.networks.push(network({ Labels: {} }));
      await rig.start({ fence: 'required' });
      await rig.until('waiting');
      await expect.poll(async () => (await rig.slot('0')).code).toBe('fence.network');
      expect(rig.docker.containers.size).toBe(0);
      rig.docker.networks.length = 0;
      await rig.until('idle');
      // A network of the manager that is wrong and in use: the idle agents are stopped, then it is created again.
      rig.docker.networks.splice(0, 1, network(options({ 'com.docker.network.bridge.enable_icc': 'true' })));
      const first = rig.docker.get('box-0')?.id;
      await expect.poll(() => rig.docker.get('box-0')?.id).not.toBe(first);
      await rig.until('idle');
      expect(rig.docker.networks).toMatchObject([{ Options: right }]);
    },
  );
});
