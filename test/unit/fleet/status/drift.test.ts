// Which keys of the inventory differ on hosts, as `status --drift` lists them.
import { describe, expect, test } from 'vitest';

import { statusText } from '../../../../src/cli/render/status.ts';
import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { groupedDrift, keyDrift } from '../../../../src/fleet/status/drift.ts';
import { configText, managerConfig } from '../../../../src/fleet/steps/manager/config.ts';
import type { StepName } from '../../../../src/fleet/steps/change.ts';
import { HostPaths } from '../../../../src/shared/contract/paths.ts';
import { sha256 } from '../../../../src/shared/base/digest.ts';
import { merge } from '../../../support/host.ts';
import { converged, defaults } from '../steps/manager/converged.ts';

const every = new Set<StepName>(['driver', 'docker', 'toolkit', 'manager']);
const healthy = merge(converged(), {
  docker: { serverVersion: defaults.host.docker.version, active: true },
  toolkit: { version: defaults.host.toolkit.version },
});
const driftOf = (
  difference: Parameters<typeof merge<Facts>>[1],
  host: Partial<typeof defaults.host> = {},
  steps = every,
) => keyDrift(merge(healthy, difference), { ...defaults, host: { ...defaults.host, ...host } }, steps);
const unknown = (fact: string) => ({ unknown: [{ fact, why: 'no answer in 8 s' }] });
const why = (fact: string) => ({ unknown: `facts incomplete: ${fact} (no answer in 8 s)` });
const value = (there: string | null) => ({ value: there });

test('a host that is as the inventory says differs in no key', () => {
  expect(driftOf({})).toEqual([]);
});

describe('versions', () => {
  const exact = { version: '29.7.2' };
  test.each<[string, Parameters<typeof driftOf>, unknown]>([
    [
      'another branch',
      [{ driver: { loaded: '570.133.20', userspace: undefined } }],
      [{ key: 'driver.branch', configured: '580', there: value('570.133.20') }],
    ],
    [
      'no driver',
      [{ driver: { loaded: undefined, userspace: undefined } }],
      [{ key: 'driver.branch', configured: '580', there: value(null) }],
    ],
    [
      'a driver that was not read',
      [unknown('driver')],
      [{ key: 'driver.branch', configured: '580', there: why('driver') }],
    ],
    [
      'a driver that the inventory leaves alone',
      [{ driver: { loaded: '570.1' } }, { driver: { ...defaults.host.driver, install: false } }],
      [],
    ],
    [
      'another engine',
      [{ docker: { serverVersion: '28.0.1' } }, { docker: exact }],
      [{ key: 'docker.version', configured: '29.7.2', there: value('28.0.1') }],
    ],
    [
      'a newer engine, and none is configured',
      [{ docker: { serverVersion: '99.0.1' } }, { docker: { ...exact, orNewer: true } }],
      [],
    ],
    [
      'an engine that the inventory leaves alone',
      [{ docker: { serverVersion: '28.0.1' } }, { docker: { ...exact, left: true } }],
      [],
    ],
    [
      "the distribution's engine, which is accepted",
      [{ docker: { serverVersion: '26.1.5+dfsg1' } }, { docker: exact }, new Set()],
      [],
    ],
    [
      'an engine that gave no answer',
      [unknown('docker-info'), { docker: exact }],
      [{ key: 'docker.version', configured: '29.7.2', there: why('docker-info') }],
    ],
    ['fewer GPUs', [{}, { gpus: 8 }], [{ key: 'gpus.count', configured: '8', there: value('1') }]],
  ])('%s', (_, given, expected) => {
    expect(driftOf(...given).filter(({ key }) => key !== '*')).toEqual(expected);
  });
});

describe('the configuration of the manager', () => {
  const stored = (text: string) => ({
    files: { ...healthy.files, [HostPaths.config]: sha256(text) },
    texts: { ...healthy.texts, [HostPaths.config]: text },
  });
  const config = managerConfig(defaults, 'x64');

  test('differs by the keys of the inventory', () => {
    const before = {
      ...config,
      jobs: { sudo: false, docker: true },
      capabilities: { site: 'b12' },
      limits: { memory: '64g' },
      agents: { kind: 'count', count: 3 },
    } as const;
    expect(driftOf(stored(configText(before)))).toEqual([
      { key: 'agents', configured: 'one per GPU', there: value('3') },
      { key: 'jobs.docker', configured: 'false', there: value('true') },
      { key: 'limits.memory', configured: null, there: value('64g') },
      { key: 'capabilities.site', configured: null, there: value('b12') },
    ]);
  });

  test.each([
    ['no configuration', 'not JSON'],
    ['a list', '[]'],
  ])('that is %s is unknown', (_, text) => {
    expect(driftOf(stored(text))).toEqual([
      {
        key: '*',
        configured: null,
        there: { unknown: `${HostPaths.config} is too long, or no configuration` },
      },
    ]);
  });

  test('a host without a manager, one whose manager was not read, and another token', () => {
    const { [HostPaths.config]: _, ...files } = healthy.files;
    const bare: Facts = { ...healthy, files };
    expect(keyDrift(bare, defaults, every)).toMatchObject([{ key: 'manager', there: value(null) }]);
    expect(driftOf(unknown('manager'))).toMatchObject([{ key: 'manager', there: why('manager') }]);
    expect(driftOf({ manager: { credentialDigest: 'other' } })).toEqual([
      { key: 'token', configured: 'set', there: value('another one') },
    ]);
  });
});

test('equal differences are one line with the hosts, unknown ones beside them with the reason', () => {
  const branch = (there: string) => [{ key: 'driver.branch', configured: '580', there: value(there) }];
  const hosts = Array.from({ length: 12 }, (_, index) => ({
    host: `gpu-${String(index + 1).padStart(2, '0')}`,
    drift: branch(index < 9 ? '570.133.20' : '535.1'),
  }));
  const keys = groupedDrift([
    ...hosts,
    { host: 'odd', drift: [{ key: 'driver.branch', configured: '580', there: why('driver') }] },
    { host: 'gone', drift: [{ key: '*', configured: null, there: { unknown: 'no answer on port 22' } }] },
  ]);
  const text = statusText([], { width: 80, paint: (_, text) => text }, { keys });
  expect(text).toContain(`~ driver.branch
    580 configured, 570.133.20 there: gpu-[01-09]
    580 configured, 535.1 there: gpu-[10-12]
    580 configured, unknown (facts incomplete: driver (no answer in 8 s))
      there: odd
~ all keys
    unknown (no answer on port 22): gone
`);
});
