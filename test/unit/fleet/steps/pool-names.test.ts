import { describe, expect, test } from 'vitest';

import type { SlotSpec } from '../../../../src/shared/contract/slots.ts';
import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { HostSpec } from '../../../../src/fleet/inventory/fleet.ts';
import { imageStep } from '../../../../src/fleet/steps/image.ts';
import { managerStep } from '../../../../src/fleet/steps/manager/step.ts';
import { knownPools, poolNames, withPoolNames } from '../../../../src/fleet/steps/pool-names.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';

const pool = '{arch}-cuda{cuda}';
const gpu = (deviceId: string) => ({ address: '0000:83:00.0', deviceId, boundTo: 'nvidia' });
const running = (loaded: string, more: Parameters<typeof factsOf>[0] = {}) =>
  factsOf({ ...more, driver: { loaded, userspace: loaded, open: true } });
const host = (changes: Parameters<typeof desiredOf>[0] = {}): HostSpec =>
  desiredOf({ pool, ...changes }).host;
const slot = (own: Partial<SlotSpec>): SlotSpec => ({
  gpus: [],
  share: false,
  limits: {},
  capabilities: [],
  mode: 'container',
  ...own,
});

describe('a pool named after properties of a host', () => {
  test.each<[string, HostSpec, Facts, object]>([
    ['the driver runs', host(), running('580.95.05'), { kind: 'known', name: 'x64-cuda13.0' }],
    ['ARM', host(), running('580.95.05', { arch: 'aarch64' }), { kind: 'known', name: 'arm64-cuda13.0' }],
    [
      'an older branch in the inventory',
      host({ driver: { branch: '535' } }),
      running('535.261.03'),
      { kind: 'known', name: 'x64-cuda12.2' },
    ],
    [
      'a planned version of the same branch: CUDA stays',
      host({ driver: { version: '580.95.05' } }),
      running('580.65.06'),
      { kind: 'known', name: 'x64-cuda13.0' },
    ],
    ['no driver yet', host(), factsOf(), { kind: 'later', pattern: 'x64-cuda{cuda}' }],
    ['a planned other branch', host(), running('535.261.03'), { kind: 'later', pattern: 'x64-cuda{cuda}' }],
    [
      'a driver that is left alone',
      host({ driver: { install: false } }),
      running('470.256.02'),
      { kind: 'known', name: 'x64-cuda11.4' },
    ],
    [
      'only the major version',
      host({ pool: 'cuda{cudaMajor}' }),
      running('580.95.05'),
      { kind: 'known', name: 'cuda13' },
    ],
    ['GPU generation', host({ pool: '{generation}' }), factsOf(), { kind: 'known', name: 'hopper' }],
    [
      'several generations',
      host({ pool: '{generation}' }),
      factsOf({ gpus: [gpu('2335'), gpu('20b0')] }),
      { kind: 'known', name: 'ampere-hopper' },
    ],
    [
      'a space in a name',
      host({ pool: '{generation}' }),
      factsOf({ gpus: [gpu('2342')] }),
      { kind: 'known', name: 'grace-hopper' },
    ],
    [
      'no GPU',
      host(),
      factsOf({ gpus: [] }),
      {
        kind: 'never',
        pattern: 'x64-cuda{cuda}',
        what: 'pool x64-cuda{cuda} has no name on this host: the host has no GPU',
        next: 'give h200-1 a pool without {cuda} in the inventory',
      },
    ],
    [
      'a driver from before the table',
      host({ driver: { install: false } }),
      running('390.157'),
      {
        kind: 'never',
        pattern: 'x64-cuda{cuda}',
        what: 'pool x64-cuda{cuda} has no name on this host: unknown CUDA version of driver 390.157',
        next: 'give h200-1 a pool without {cuda} in the inventory',
      },
    ],
    ['a plain name', host({ pool: 'gpu-lab' }), factsOf({ gpus: [] }), { kind: 'known', name: 'gpu-lab' }],
  ])('%s', (_, spec, facts, name) => {
    expect(poolNames(spec, facts)).toEqual([name]);
  });

  test('slots have their own names, and each pool is listed once', () => {
    const slots = [
      slot({}),
      slot({ pool: 'cuda{cudaMajor}' }),
      slot({ pool: 'cuda13' }),
      slot({ pool: 'train' }),
    ];
    const spec = host({ agents: { kind: 'slots', slots } });
    expect(knownPools(spec, running('580.95.05'))).toEqual(['x64-cuda13.0', 'cuda13', 'train']);
    const { pool: own, agents } = withPoolNames(spec, running('580.95.05'));
    expect([own, agents.kind === 'slots' && agents.slots.map((each) => each.pool)]).toEqual([
      'x64-cuda13.0',
      [undefined, 'cuda13', 'cuda13', 'train'],
    ]);
  });
});

describe('the manager and its image', () => {
  const plan = (facts: Facts) => [...managerStep.plan(facts, desiredOf({ pool }))];

  test('are announced as shapes until the driver is installed', () => {
    const shapes = plan(factsOf());
    expect(shapes.map((item) => ('kind' in item ? [item.kind, item.title] : item))).toEqual([
      ['shape', expect.stringContaining('install the manager')],
      ['shape', "write the manager's configuration"],
      ['shape', 'install the unit azp-fleet-manager.service'],
      ['shape', 'start the manager and wait for it'],
    ]);
    expect(shapes[1]).toMatchObject({
      until: 'driver',
      details: [
        { marker: 'add', text: 'memory of each agent: 58.5 GiB of 62.5 GiB' },
        { marker: 'add', text: 'registers h200-1-0 in pool x64-cuda{cuda}' },
      ],
    });
  });

  test('have as many shapes as changes once the name is known', () => {
    const { length } = plan(factsOf());
    expect(plan(running('580.95.05'))).toHaveLength(length);
  });

  test('wait with all image changes, because they are in the folder of the manager', () => {
    const [context, ...more] = imageStep.plan(factsOf(), desiredOf({ pool }));
    expect(context).toMatchObject({ kind: 'shape', step: 'image', until: 'driver' });
    expect(more).toEqual([]);
    expect([...imageStep.plan(factsOf(), desiredOf())]).toMatchObject([{ kind: 'change' }]);
  });

  test('are configured with the name once it is known', () => {
    const texts = plan(running('580.95.05')).flatMap((item) =>
      'actions' in item
        ? item.actions.flatMap((action) =>
            action.kind === 'upload' && action.artifact.kind === 'text' ? action.artifact.text : [],
          )
        : [],
    );
    expect(texts.join('\n')).toContain('"pool": "x64-cuda13.0"');
  });

  test('are refused if the host lacks a property in the pool name', () => {
    expect(plan(factsOf({ gpus: [] }))).toEqual([
      expect.objectContaining({
        refused: true,
        what: 'pool x64-cuda{cuda} has no name on this host: the host has no GPU',
      }),
    ]);
  });
});
