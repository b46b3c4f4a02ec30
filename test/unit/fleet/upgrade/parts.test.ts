// What the table of `upgrade` says about each part of a host.
import { describe, expect, test } from 'vitest';

import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { HostSpec } from '../../../../src/fleet/inventory/fleet.ts';
import { offersQuestion, packageOffers } from '../../../../src/fleet/upgrade/offered.ts';
import {
  configuredOf,
  installedOf,
  type PartName,
  partNames,
  partRows,
} from '../../../../src/fleet/upgrade/parts.ts';
import { desiredOf, driven, factsOf } from '../../../support/host.ts';
import { includedOf } from '../../../support/included.ts';
import { managerStatus } from '../../../support/manager-status.ts';

const image = (reference?: string) =>
  factsOf({
    manager: {
      current: '1',
      unitActive: 'active',
      release: { version: '0.1.9', protocol: 1 },
      status: managerStatus({ images: [{ state: 'ready', slots: [], ...(reference && { reference }) }] }),
    },
  });
const stack = factsOf({
  driver: driven,
  docker: { active: true, serverVersion: '29.7.2' },
  toolkit: { version: '1.20.0' },
});
const unread = (fact: string) => factsOf({ unknown: [{ fact, why: 'no answer in 8 s' }] });
const unknown = (fact: string) => ({
  kind: 'unknown',
  why: `facts incomplete: ${fact} (no answer in 8 s)`,
});

test.each<[string, PartName, Facts, object]>([
  ['a driver', 'driver', stack, { kind: 'value', value: '580.95.05' }],
  ['no driver', 'driver', factsOf(), { kind: 'absent' }],
  ['an unread driver', 'driver', unread('driver'), unknown('driver')],
  ['a Docker Engine', 'docker', stack, { kind: 'value', value: '29.7.2' }],
  ['an unread Docker Engine', 'docker', unread('docker-info'), unknown('docker-info')],
  ['a toolkit', 'toolkit', stack, { kind: 'value', value: '1.20.0' }],
  ['an agent image', 'agent', image('azp-fleet/agent:5.279.0-cuda13.0'), { kind: 'value', value: '5.279.0' }],
  [
    'an image without a version',
    'agent',
    image('registry.example/agent:latest'),
    {
      kind: 'unknown',
      why: 'the name of its image has no version: registry.example/agent:latest',
    },
  ],
  ['an image that is not there yet', 'agent', image(), { kind: 'absent' }],
  ['an unread report', 'agent', unread('manager-status'), unknown('manager-status')],
  ['a manager', 'manager', image(), { kind: 'value', value: '0.1.9' }],
  ['no manager', 'manager', factsOf(), { kind: 'absent' }],
])('%s is installed', (_, part, facts, reading) => {
  expect(installedOf(part, facts)).toEqual(reading);
});

const spec = (overrides: Partial<HostSpec>) => desiredOf(overrides).host;
const driver = spec({}).driver;
test.each<[string, PartName, HostSpec, object]>([
  ['a branch', 'driver', spec({}), { version: '580' }],
  [
    'a branch by default',
    'driver',
    spec({ driver: { ...driver, orNewer: true } }),
    {
      version: '580',
      orNewer: true,
    },
  ],
  ['a version', 'driver', spec({ driver: { ...driver, version: '580.95.05' } }), { version: '580.95.05' }],
  ['no driver', 'driver', spec({ driver: { ...driver, install: false } }), { left: 'driver: none' }],
  ['no Docker', 'docker', spec({ docker: { version: '29.7.2', left: true } }), { left: 'docker: none' }],
  ['a toolkit', 'toolkit', spec({}), { version: '1.20.0' }],
  ['an agent', 'agent', spec({}), { version: '4.260.0' }],
  ['an image of a registry', 'agent', spec({ image: 'r.example/a:1' }), { left: 'image: r.example/a:1' }],
])('%s is configured', (_, part, host, configured) => {
  expect(configuredOf(part, host)).toEqual(configured);
});

test('a part that was not asked for is unknown, not missing; only parts of the table have a support', () => {
  const now = Date.parse('2026-11-28T00:00:00Z');
  const rows = partRows(partNames, spec({}), { facts: stack, offered: {}, now });
  expect(rows.map(({ part, offered, support }) => [part, offered.kind, support?.state])).toEqual([
    ['driver', 'unknown', 'supported'],
    ['docker', 'unknown', 'unknown'],
    ['toolkit', 'unknown', 'unknown'],
    ['agent', 'unknown', undefined],
    ['manager', 'unknown', undefined],
  ]);
});

describe('what is offered', () => {
  const parts: readonly PartName[] = ['driver', 'docker', 'toolkit'];
  const desired = desiredOf();
  const heard = (output: string, facts = stack) => {
    const question = offersQuestion(facts, desired, parts);
    return packageOffers(facts, desired, parts, question?.read(output) ?? {});
  };

  test('every release of each part, the newest first, as the package manager names them', () => {
    const output = `begin driver
missing
offer 570.133.20-1
offer 590.48.01-1
end
begin docker
missing
offer 5:29.7.2-1~debian.12~bookworm
offer 5:29.8.2-1~debian.12~bookworm
end
begin toolkit
missing
offer 1.20.0-1
end
`;
    expect(heard(output)).toEqual({
      driver: { kind: 'value', value: ['590.48.01', '570.133.20'] },
      docker: { kind: 'value', value: ['29.8.2', '29.7.2'] },
      toolkit: { kind: 'value', value: ['1.20.0'] },
    });
  });

  test('a source that does not answer, and a host that says nothing, leave it unknown', () => {
    const output = `silent docker Could not resolve download.docker.com
begin docker
missing
end
begin toolkit
broken 100
end
`;
    expect(heard(output)).toEqual({
      driver: { kind: 'unknown', why: 'the simulation ended early on the host' },
      docker: { kind: 'unknown', why: 'Could not resolve download.docker.com' },
      toolkit: { kind: 'unknown', why: 'apt ended with exit code 100' },
    });
  });

  test('facts that were not read leave all unknown, and nothing is asked', () => {
    const facts = unread('gpus');
    expect(offersQuestion(facts, desired, parts)).toBeUndefined();
    expect(heard('', facts)['driver']).toEqual(unknown('gpus'));
  });

  test.each([
    ['no GPU', desired, factsOf({ gpus: [] }), 'the host has no NVIDIA GPU'],
    [
      'a .run file',
      desiredOf({ driver: { ...driver, method: 'runfile' } }),
      stack,
      'NVIDIA has no list of .run files: name the exact version',
    ],
    [
      'an unsupported system',
      desired,
      factsOf({ os: { id: 'gentoo', versionId: '2', idLike: [], codename: '', pretty: 'Gentoo' } }),
      'Gentoo on x86_64 is not supported',
    ],
  ])('%s: the driver is unknown, with the reason', (_, wished, facts, why) => {
    expect(packageOffers(facts, wished, ['driver'], {})).toEqual({ driver: { kind: 'unknown', why } });
  });

  test('with a bundle: what it has, and the host is not asked', () => {
    const offline = desiredOf({}, { included: includedOf([]) });
    expect(offersQuestion(stack, offline, parts)).toBeUndefined();
    expect(packageOffers(stack, offline, parts, {})).toEqual({
      driver: { kind: 'value', value: [] },
      docker: { kind: 'value', value: ['29.7.2'] },
      toolkit: { kind: 'value', value: [] },
    });
  });
});
