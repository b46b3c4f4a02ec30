// What facts alone show to be missing, and what is said of images where there are several.
import { expect, test } from 'vitest';

import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { hostFindings } from '../../../../src/fleet/verdict/host.ts';
import { staleMs } from '../../../../src/fleet/verdict/causes.ts';
import { judge } from '../../../../src/fleet/verdict/judge.ts';
import { facts, now, pool, status } from '../status/look.ts';

test.each<[string, Facts, string[]]>([
  ['all is there', facts(), []],
  [
    'no manager: nothing else is looked at',
    facts({ current: undefined }, { docker: { active: false } }),
    ['host.not-provisioned'],
  ],
  ['no driver', facts({}, { driver: { loaded: undefined } }), ['driver.not-loaded']],
  ['no toolkit', facts({}, { toolkit: { version: undefined } }), ['toolkit.missing']],
  ['a toolkit that came in no package', facts({}, { toolkit: { version: undefined, unpackaged: true } }), []],
  [
    'no GPU: neither is missed',
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

test('a module that is built for the running kernel is told from one that is not', () => {
  const kernel = (driver: boolean) => [{ release: '6.12.1-amd64', headers: true, driver }];
  const said = (driver: boolean): string | undefined =>
    hostFindings(facts({}, { driver: { loaded: undefined }, kernels: kernel(driver) }))[0]?.what;
  expect(said(true)).toBe('the NVIDIA kernel module is built for Linux 6.12.1-amd64, and not loaded');
  expect(said(false)).toBe('the NVIDIA kernel module is not loaded');
});

test('the manager says in its own words how it is', () => {
  expect(hostFindings(facts({ unitActive: 'failed' }))[0]?.what).toBe('the manager is failed');
  expect(hostFindings(facts({ unitActive: undefined }))[0]?.what).toBe('the manager is not running');
});

test('a report is too old after its time, and not before', () => {
  const at = Date.parse(status().at);
  const verdict = (ageMs: number) =>
    judge({ facts: facts(), agentsIn: () => pool, now: at + ageMs }).verdict.state;
  expect([verdict(staleMs), verdict(staleMs + 1), now - at]).toEqual(['healthy', 'unknown', 10_000]);
});
