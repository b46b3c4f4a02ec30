// Findings by the facts alone.
import { describe, expect, test } from 'vitest';

import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import {
  clockFindings,
  hostFindings,
  unreadFindings,
  virtualFindings,
} from '../../../../src/fleet/verdict/host.ts';
import { facts } from '../status/observation.ts';

/** NVSwitches, and the state of the fabric manager's unit. */
const switched = (active: string | undefined) => ({
  nvswitches: 6,
  driver: {
    services: active === undefined ? [] : [{ unit: 'nvidia-fabricmanager.service', file: 'enabled', active }],
  },
});

test.each<[string, Facts, string[]]>([
  ['nothing is missing', facts(), []],
  [
    'no manager: nothing else is checked',
    facts({ current: undefined }, { docker: { active: false } }),
    ['host.not-provisioned'],
  ],
  ['no driver', facts({}, { driver: { loaded: undefined } }), ['driver.not-loaded']],
  ['NVSwitches with their fabric manager', facts({}, switched('active')), []],
  ['NVSwitches whose fabric manager is starting', facts({}, switched('activating')), []],
  ['NVSwitches whose fabric manager has failed', facts({}, switched('failed')), ['driver.fabric-manager']],
  ['NVSwitches without a fabric manager', facts({}, switched(undefined)), ['driver.fabric-manager']],
  [
    'NVSwitches over InfiniBand devices',
    facts({}, { ...switched('inactive'), nvswitches: 0, nvlink5: { switches: 4, umad: true } }),
    ['driver.fabric-manager'],
  ],
  [
    'NVSwitches of both kinds',
    facts({}, { ...switched('inactive'), nvlink5: { switches: 6, umad: true } }),
    ['driver.fabric-manager'],
  ],
  [
    'NVSwitches without a driver: the fabric manager needs it',
    facts({}, { nvswitches: 6, driver: { loaded: undefined, services: [] } }),
    ['driver.not-loaded'],
  ],
  [
    'NVSwitches whose host’s driver is of NVIDIA vGPU',
    facts({}, { nvswitches: 6, driver: { vgpu: 'nvidia-gridd.service', services: [] } }),
    [],
  ],
  [
    'NVSwitches, and only another unit of the driver is active',
    facts(
      {},
      {
        nvswitches: 6,
        driver: { services: [{ unit: 'nvidia-persistenced.service', file: 'enabled', active: 'active' }] },
      },
    ),
    ['driver.fabric-manager'],
  ],
  ['no NVSwitches', facts({}, { ...switched('inactive'), nvswitches: 0 }), []],
  [
    'NVSwitches, and all GPUs belong to virtual machines',
    facts({}, { ...switched(undefined), gpus: [], toolkit: { version: undefined } }),
    [],
  ],
  ['no toolkit', facts({}, { toolkit: { version: undefined } }), ['toolkit.missing']],
  [
    'a toolkit that no package installed',
    facts({}, { toolkit: { version: undefined, unpackaged: true } }),
    [],
  ],
  [
    'no GPU: neither is needed',
    facts({}, { gpus: [], driver: { loaded: undefined }, toolkit: { version: undefined } }),
    [],
  ],
  ['no engine', facts({}, { docker: { active: false } }), ['docker.down']],
  ['a manager that was stopped', facts({ unitActive: 'inactive' }), ['manager.down']],
  ['a manager without a unit', facts({ unitActive: undefined }), ['manager.down']],
  ['a manager that is starting', facts({ unitActive: 'activating' }), []],
  [
    'nothing at all',
    facts(
      { unitActive: 'failed' },
      { driver: { loaded: undefined }, docker: { active: false }, toolkit: { version: undefined } },
    ),
    ['driver.not-loaded', 'docker.down', 'toolkit.missing', 'manager.down'],
  ],
])('%s', (_, seen, expected) => {
  expect(hostFindings(seen).map(({ code }) => code)).toEqual(expected);
});

describe('what could not be read', () => {
  const unread = (...names: readonly string[]) =>
    facts({}, { unknown: names.map((fact) => ({ fact, why: 'no answer in 5 s' })) });

  test.each(['manager', 'gpus', 'driver', 'docker', 'nvlink5'])('is not missing: %s', (name) => {
    expect(hostFindings(unread(name))).toEqual([]);
  });

  test('is one finding, with the commands that show why', () => {
    expect(unreadFindings(facts())).toEqual([]);
    expect(unreadFindings(unread('gpus'))).toMatchObject([
      {
        code: 'facts.incomplete',
        what: 'facts incomplete: gpus (no answer in 5 s)',
        next: expect.stringContaining('find out why on the host: ') as string,
      },
    ]);
  });

  test('is not of virtual machines either', () => {
    const some = { passedThrough: [{ address: '0000:02:00.0', deviceId: '1b06', boundTo: 'vfio-pci' }] };
    const vgpu = { driver: { vgpu: 'nvidia-gridd.service' } };
    const codes = (name: string) =>
      virtualFindings({ ...facts({}, { ...some, ...vgpu }), unknown: unread(name).unknown }).map(
        ({ code }) => code,
      );
    expect(codes('driver')).not.toContain('host.vgpu');
    expect(codes('gpus')).not.toContain('host.passed-through');
    expect(codes('kernels')).toEqual(['host.passed-through', 'host.vgpu']);
  });

  test('says nothing about the module', () => {
    const seen = facts({}, { driver: { loaded: undefined } });
    for (const part of [{ unknown: unread('kernels').unknown }, { kernels: [] }])
      expect(hostFindings({ ...seen, ...part })[0]?.what).toBe('the NVIDIA kernel module is not loaded');
  });
});

test('the finding of a fabric manager has its state, and how it is installed', () => {
  const found = (active: string | undefined) => hostFindings(facts({}, switched(active)))[0];
  expect(found('failed')?.what).toBe(
    'the fabric manager of the NVSwitches is failed: CUDA fails with error 802',
  );
  expect(found('failed')?.next).not.toBe('run `azp-fleet provision`');
  expect(found(undefined)).toMatchObject({
    what: 'the fabric manager of the NVSwitches is not installed: CUDA fails with error 802',
    next: 'run `azp-fleet provision`',
  });
});

test('a finding says whether the module is built for the running kernel', () => {
  const kernel = (driver: boolean) => [{ release: '6.12.1-amd64', headers: true, driver }];
  const said = (driver: boolean): string | undefined =>
    hostFindings(facts({}, { driver: { loaded: undefined }, kernels: kernel(driver) }))[0]?.what;
  expect(said(true)).toBe('the NVIDIA kernel module is built for Linux 6.12.1-amd64, and not loaded');
  expect(said(false)).toBe('the NVIDIA kernel module is not loaded');
  expect(hostFindings(facts({}, { driver: { loaded: undefined } }))[0]?.next).toBe(
    'run `azp-fleet provision`; see `dkms status` on the host',
  );
});

test('the finding has the state of the manager’s unit', () => {
  expect(hostFindings(facts({ unitActive: 'failed' }))[0]?.what).toBe('the manager is failed');
  expect(hostFindings(facts({ unitActive: undefined }))[0]?.what).toBe('the manager is not running');
});

test.each([
  ['equal', 0, undefined],
  ['5 min ahead', 5, undefined],
  ['6 min ahead', 6, 'its clock is 6 min ahead of this machine’s'],
  ['6 min behind: reading takes up to one', -6, undefined],
  ['7 min behind', -7, 'its clock is 7 min behind this machine’s'],
])('the clock of the host is %s', (_, minutes, what) => {
  const readAt = Date.parse('2026-11-20T10:00:00Z');
  const seen = { ...facts(), time: readAt + minutes * 60_000 };
  expect(clockFindings(seen, readAt)[0]?.what).toBe(what);
  expect(clockFindings({ ...seen, time: undefined }, readAt)).toEqual([]);
  expect(clockFindings(seen, undefined)).toEqual([]);
});
