import { describe, expect, test } from 'vitest';
import { supportAsPlanned, supportOnHost, supportWarning } from '../../../../src/fleet/status/support.ts';
import { supportOf } from '../../../../src/shared/base/support-dates.ts';
import type { ManagerStatus } from '../../../../src/shared/contract/status.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';

const now = Date.parse('2026-11-28T00:00:00Z');
const base = factsOf();
const facts = {
  os: { ...base.os, id: 'debian', versionId: '12' },
  driver: { ...base.driver, loaded: '570.195.03' },
  docker: { ...base.docker, serverVersion: '20.10.24+dfsg1' },
  toolkit: { ...base.toolkit, version: '1.20.0' },
};
const host = factsOf(facts);

test('of what runs on a host', () => {
  expect(supportOnHost(host, now)).toEqual([
    { part: 'driver', version: '570.195.03', state: 'ended', ends: '2026-02', successor: '580' },
    { part: 'docker', version: '20.10.24', state: 'ended', ends: '2023-12-10', successor: '29' },
    { part: 'toolkit', version: '1.20.0', state: 'unknown' },
    {
      part: 'distribution',
      version: 'debian 12',
      state: 'supported',
      ends: '2028-06-30',
      successor: 'debian 13',
    },
  ]);
});

test('what was not read is left out', () => {
  const unread = ['driver', 'docker-info'].map((fact) => ({ fact, why: 'no answer' }));
  const parts = supportOnHost({ ...host, unknown: unread }, now).map(({ part }) => part);
  expect(parts).toContain('distribution');
  expect(parts).not.toContain('driver');
});

test('the oldest agent of the images on a host', () => {
  const images = ['4.275.0', '5.279.0'].map((version) => ({
    reference: `azp-fleet/agent:${version}-cuda13.2-1a2b3c4d5e6f`,
  }));
  const status = {
    images: [...images, { reference: 'registry.example.com/agent:1' }],
  } as unknown as ManagerStatus;
  const agent = supportOnHost(factsOf({ ...facts, manager: { ...base.manager, status } }), now).find(
    ({ part }) => part === 'agent',
  );
  expect(agent).toMatchObject({ version: '4.275.0', state: 'ended', successor: '5' });
});

test.each([
  ['a Kepler runs no later branch', '0fc6', '470.256.02', undefined],
  ['a Pascal runs 580', '1b06', '535.1', '580'],
  ['a Pascal runs nothing after 580', '1b06', '580.95.05', undefined],
  ['a Hopper runs 620', '2330', '580.95.05', '620'],
])('the driver to change to: %s', (_, deviceId, loaded, successor) => {
  const gpus = [{ address: '0000:01:00.0', deviceId, numaNode: 0 }] as unknown as typeof base.gpus;
  const [support] = supportOnHost(factsOf({ ...facts, gpus, driver: { ...base.driver, loaded } }), now);
  expect(support?.successor).toBe(successor);
});

describe('after provision', () => {
  test('the versions of the inventory', () => {
    const desired = desiredOf({ driver: { branch: '535' } }).host;
    expect(supportAsPlanned(desired, host, now)).toContainEqual({
      part: 'driver',
      version: '535',
      state: 'ended',
      ends: '2026-06',
      successor: '580',
    });
  });

  test('the agent of the inventory, but not that of an image from a registry', () => {
    const { host: desired } = desiredOf();
    const parts = (image?: string): readonly string[] =>
      supportAsPlanned({ ...desired, ...(image === undefined ? {} : { image }) }, host, now).map(
        ({ part }) => part,
      );
    expect(parts()).toContain('agent');
    expect(parts('registry.example.com/agent:1')).not.toContain('agent');
  });

  test('what provision leaves alone is what runs', () => {
    const desired = desiredOf({ driver: { install: false, branch: '580' } }).host;
    expect(supportAsPlanned(desired, host, now)[0]).toMatchObject({ part: 'driver', version: '570.195.03' });
  });
});

test.each([
  [
    'driver',
    '535.1',
    '2026-11-28',
    {
      code: 'support.ended',
      what: 'driver branch 535.1: vendor support ended in 2026-06',
      next: 'change to driver branch 580',
    },
  ],
  [
    'driver',
    '580.95.05',
    '2028-06-01',
    {
      code: 'support.ending',
      what: 'driver branch 580.95.05: vendor support ends in 2028-06',
      next: 'change to driver branch 620',
    },
  ],
  [
    'driver',
    '550',
    '2026-11-28',
    {
      code: 'support.ended',
      what: 'driver branch 550: vendor support ended',
      next: 'change to driver branch 580',
    },
  ],
  [
    'distribution',
    'debian 12',
    '2028-06-30',
    {
      code: 'support.ending',
      what: 'debian 12: vendor support ends on 2028-06-30',
      next: 'change to debian 13',
    },
  ],
  [
    'agent',
    '4.275.0',
    '2026-11-28',
    {
      code: 'support.ended',
      what: 'agent 4.275.0: vendor support ended on 2026-11-10',
      next: 'change to agent 5',
    },
  ],
  ['driver', '580.95.05', '2026-11-28', undefined],
  ['driver', '999', '2026-11-28', undefined],
] as const)('warning about %s %s on %s', (part, version, date, warning) => {
  expect(supportWarning(supportOf(part, version, Date.parse(date)))).toEqual(warning);
});
