// Findings by the facts alone.
import { expect, test } from 'vitest';

import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { clockFindings, hostFindings } from '../../../../src/fleet/verdict/host.ts';
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

test('a finding says whether the module is built for the running kernel', () => {
  const kernel = (driver: boolean) => [{ release: '6.12.1-amd64', headers: true, driver }];
  const said = (driver: boolean): string | undefined =>
    hostFindings(facts({}, { driver: { loaded: undefined }, kernels: kernel(driver) }))[0]?.what;
  expect(said(true)).toBe('the NVIDIA kernel module is built for Linux 6.12.1-amd64, and not loaded');
  expect(said(false)).toBe('the NVIDIA kernel module is not loaded');
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
