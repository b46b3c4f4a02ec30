// Findings by the facts alone.
import { expect, test } from 'vitest';

import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { hostFindings } from '../../../../src/fleet/verdict/host.ts';
import { facts } from '../status/observation.ts';

test.each<[string, Facts, string[]]>([
  ['nothing is missing', facts(), []],
  [
    'no manager: nothing else is checked',
    facts({ current: undefined }, { docker: { active: false } }),
    ['host.not-provisioned'],
  ],
  ['no driver', facts({}, { driver: { loaded: undefined } }), ['driver.not-loaded']],
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
