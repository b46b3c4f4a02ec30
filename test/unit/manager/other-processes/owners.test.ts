import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import type { Labelled, OwnContainer } from '../../../../src/shared/engine/engine.ts';
import { jobLabel } from '../../../../src/manager/host-mode/agent-root.ts';
import { PresentRuns } from '../../../../src/manager/host-mode/present-runs.ts';
import { currentOwners } from '../../../../src/manager/other-processes/owners.ts';
import { config } from '../../../support/manager-config.ts';
import { plainSlot } from '../../../support/slot.ts';

const root = '/var/lib/azp-fleet-agents/bare';
const bare = { ...plainSlot, name: 'bare', mode: 'host' } as const;
const unit = 'azp-fleet-agent-bare.service';

const run = (id: string, slot: string, state: OwnContainer['state']): OwnContainer => ({
  id,
  name: `box-${slot}`,
  state,
  labels: { 'azp-fleet.slot': slot },
  image: '',
  created: 0,
});

interface World {
  readonly docker?: readonly OwnContainer[] | 'down';
  readonly host?: readonly OwnContainer[];
  readonly unitRuns?: boolean;
  readonly labelled?: Labelled['containers'];
  readonly jobsUseDocker?: boolean;
  readonly ended?: ReadonlyMap<string, string>;
}

function owners(world: World) {
  const { docker = [], host = [], labelled = [] } = world;
  const tools = {
    config: config({ jobs: { sudo: false, docker: world.jobsUseDocker === true } }),
    log: silentLogger,
    engine: {
      withLabel: (label: string) =>
        docker === 'down'
          ? Promise.reject(new Error('down'))
          : Promise.resolve({ containers: label === jobLabel(root) ? labelled : [], networks: [] }),
    },
    host: {
      engine: {
        rootOf: () => root,
        requireEnded: () =>
          world.unitRuns === true ? Promise.reject(new Error('it runs')) : Promise.resolve(),
      },
    },
  };
  const runs = new PresentRuns(
    {
      listOwn: () =>
        docker === 'down' ? Promise.reject(new Error('down')) : Promise.resolve([...docker, ...host]),
    },
    { listOwn: () => Promise.resolve(host) },
  );
  return currentOwners(tools, runs, [plainSlot, bare], world.ended ?? new Map());
}

describe('a container of ours', () => {
  test.each([
    ['running', true],
    ['paused', true],
    ['created', true],
    ['exited', false],
    ['dead', false],
    ['removing', false],
  ] as const)('that is %s has a live run: %s', async (state, live) => {
    const { containers } = await owners({ docker: [run('c1', '0', state)] });
    expect([...containers]).toEqual([['c1', { slot: '0', live }]]);
  });

  test('that has ended stays ended, also if Docker does not list it or lists it as running', async () => {
    const ended = new Map([['c1', '0']]);
    for (const docker of [[], [run('c1', '0', 'running')]])
      expect([...(await owners({ docker, ended })).containers]).toEqual([['c1', { slot: '0', live: false }]]);
  });
});

describe('a slot with mode: host', () => {
  test.each<[string, World, boolean]>([
    ['with its run', { host: [run('host-r1', 'bare', 'running')] }, true],
    ['between two runs', {}, false],
    ['owner run has ended', { host: [run('host-r1', 'bare', 'exited')] }, false],
    ['without a known run, but with a running unit', { unitRuns: true }, true],
  ])('%s: unit and user are live: %s', async (_, world, live) => {
    const { units, users, containers } = await owners(world);
    const expected = { slot: 'bare', live };
    expect([...units]).toEqual([[unit, expected]]);
    expect([...users]).toEqual([['azp-agent-bare', expected]]);
    expect(containers.size).toBe(0);
  });

  const job = { id: 'j1', name: 'job', sources: [`${root}/_work`] };
  test.each<[string, World, readonly string[]]>([
    [
      'the containers of its container job, by label and mount',
      { labelled: [job], jobsUseDocker: true },
      ['j1'],
    ],
    [
      'no container with only the label',
      { labelled: [{ ...job, sources: ['/data'] }], jobsUseDocker: true },
      [],
    ],
    ['no containers if jobs may not use Docker', { labelled: [job] }, []],
    ['no containers while Docker does not answer', { docker: 'down', jobsUseDocker: true }, []],
  ])('has %s', async (_, world, ids) => {
    expect([...(await owners(world)).containers.keys()]).toEqual(ids);
  });
});

test('an unreachable Docker is reported', async () => {
  expect((await owners({ docker: 'down' })).isDockerDown).toBe(true);
  expect((await owners({})).isDockerDown).toBe(false);
});
