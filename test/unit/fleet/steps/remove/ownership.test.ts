// Owners of packages on hosts without a source of azp-fleet: with a bundle, or with the system's own driver.
import { describe, expect, it } from 'vitest';

import { machineRoot } from '../../../../../src/shared/base/host-root.ts';
import type { Facts } from '../../../../../src/fleet/facts/facts.ts';
import type { DriverSpec } from '../../../../../src/fleet/inventory/fleet.ts';
import { readRecord, recordLines, type PartName } from '../../../../../src/fleet/packages/package-record.ts';
import type { Change } from '../../../../../src/fleet/steps/change.ts';
import { removalOf } from '../../../../../src/fleet/steps/remove/remove.ts';
import { desiredOf, factsOf, merge } from '../../../../support/host.ts';
import { includedOf } from '../../../../support/included.ts';
import { afterwards } from '../host-stack-plan.ts';

const all: readonly PartName[] = ['toolkit', 'docker', 'driver'];
const debian = factsOf();
const ubuntu = factsOf({
  os: { id: 'ubuntu', versionId: '24.04', codename: 'noble', pretty: 'Ubuntu 24.04.3 LTS' },
});
const rocky = factsOf({
  os: { id: 'rocky', idLike: ['rhel'], versionId: '9.6', codename: '', pretty: 'Rocky Linux 9.6' },
});
const bundled = desiredOf({}, { included: includedOf([]) });
const distro = (spec: Partial<DriverSpec>) =>
  desiredOf({ driver: { method: 'distro', ...spec } }, { included: includedOf([]) });

const plan = (facts: Facts, ...parts: readonly PartName[]) =>
  removalOf(facts, { host: desiredOf().host, owner: 'me', parts: new Set(parts), root: machineRoot });
const titles = (...args: Parameters<typeof plan>) =>
  plan(...args).map((item) => ('refused' in item ? `refused: ${item.what}` : item.title));
const namesIn = (change: Change) =>
  (change.details ?? []).flatMap(({ marker, text }) =>
    marker === 'remove' ? text.replace('hold on ', '').split(', ') : [],
  );

/** Returns the host after a removal, with the package record that the last script writes. */
function removed(facts: Facts, ...parts: readonly PartName[]): Facts {
  return plan(facts, ...parts).reduce((seen, item): Facts => {
    if (!('actions' in item)) throw new Error(`refused: ${'what' in item ? item.what : ''}`);
    const names = namesIn(item);
    const without = (list: readonly string[]) => list.filter((name) => !names.includes(name));
    if (item.id.includes('-unhold-')) return { ...seen, held: without(seen.held) };
    if (/^(driver|docker|toolkit)-remove-/.test(item.id))
      return {
        ...seen,
        held: without(seen.held),
        packages: Object.fromEntries(Object.entries(seen.packages).filter(([name]) => !names.includes(name))),
        toolkit: { ...seen.toolkit, version: item.step === 'toolkit' ? undefined : seen.toolkit.version },
      };
    if (item.id.startsWith('docker-restore'))
      return merge(seen, { docker: { daemonJson: item.marker === 'remove' ? undefined : '{}' } });
    if (!item.id.startsWith('manager-trace')) return seen;
    const script = item.actions.flatMap((action) => (action.kind === 'run' ? [action.script] : [])).join('');
    const lines = [...script.matchAll(/'(\w+ [^'\n]+)'/g)].map(([, line = '']) => line);
    return merge(seen, { ours: { packages: readRecord(lines.join('\n')) } });
  }, facts);
}

describe.each([
  ['Debian, by a bundle', afterwards(debian, bundled)],
  ['Rocky Linux, by a bundle', afterwards(rocky, bundled)],
  ['Ubuntu, by a bundle, with its own driver', afterwards(ubuntu, distro({ branch: '580' }))],
  [
    "Debian, by a bundle, with its own driver out of the owner's non-free",
    afterwards(debian, distro({ branch: '535' })),
  ],
])('a host without a source of ours: %s', (_, facts) => {
  it('has a record of all installed packages', () => {
    expect(Object.keys(facts.files).filter((file) => file.includes('azp-fleet'))).toEqual([]);
    expect(facts.held.length).toBeGreaterThan(8);
    expect(facts.ours.packages).toMatchObject({ theirs: [], kept: [], held: [] });
  });

  it('loses the holds, and the second plan is empty', () => {
    expect(titles(facts)).toEqual(
      expect.arrayContaining([
        'release the hold on NVIDIA Container Toolkit',
        'release the hold on Docker Engine',
        'release the hold on NVIDIA driver',
        "delete azp-fleet's notes on the host",
      ]),
    );
    const then = removed(facts);
    expect(then.held).toEqual([]);
    expect(then.packages).toEqual(facts.packages);
    expect(plan(then)).toEqual([]);
  });

  it.each([
    ['at once', facts],
    ['later', removed(facts)],
  ])('loses the requested packages, %s, and then the record', (__, seen) => {
    const then = removed(seen, ...all);
    const left = Object.keys(then.packages);
    expect(left).toEqual(left.filter((name) => !/docker|containerd|nvidia|cuda/.test(name)));
    expect(then.held).toEqual([]);
    expect(then.ours.packages).toBe(undefined);
    expect(plan(then, ...all)).toEqual([]);
    expect(plan(then)).toEqual([]);
  });

  it('loses one of them, and only its part of the record', () => {
    const then = removed(facts, 'docker');
    expect(then.ours.packages?.part).toEqual(['toolkit', 'driver']);
    expect(plan(then, 'docker')).toEqual([]);
    expect(titles(then, 'driver')).toContain('remove NVIDIA driver');
  });
});

describe('packages that were installed before azp-fleet', () => {
  const theirs = merge(debian, {
    packages: {
      'docker-ce': '5:28.0.0-1~debian.12~bookworm',
      'docker-ce-cli': '5:28.0.0-1~debian.12~bookworm',
      'containerd.io': '1.7.0-1',
    },
    held: ['containerd.io'],
    docker: { active: true, enabled: true, serverVersion: '28.0.0' },
  });
  const desired = desiredOf({ docker: { version: '29.7.2' } });
  const upgraded = afterwards(theirs, desired);

  it('stay if azp-fleet only upgraded them; packages that it added are removed', () => {
    expect(upgraded.packages['docker-ce']).toContain('29.7.2');
    const removal = plan(upgraded, 'docker').find(
      (item): item is Change => 'actions' in item && item.id.startsWith('docker-remove'),
    );
    expect(removal).toMatchObject({
      title: "remove azp-fleet's part of Docker Engine",
      details: [
        { marker: 'remove', text: 'docker-buildx-plugin, docker-compose-plugin' },
        {
          marker: 'change',
          text: 'stays: containerd.io, docker-ce, docker-ce-cli',
          effect: 'not installed by azp-fleet',
        },
      ],
    });
    const left = removed(upgraded, 'docker');
    expect(Object.keys(left.packages)).toEqual(expect.arrayContaining(['docker-ce', 'containerd.io']));
  });

  it('keep the hold of the owner, and lose ours', () => {
    expect(upgraded.held).toContain('containerd.io');
    expect(removed(upgraded).held).toEqual(['containerd.io']);
  });

  it('are refused if none is ours, also after the rest is removed', () => {
    const complete = merge(theirs, {
      packages: { 'docker-buildx-plugin': '0.1', 'docker-compose-plugin': '2.1' },
    });
    const seen = afterwards(complete, desired);
    const what =
      'refused: Docker Engine was not installed by azp-fleet: its packages were installed before, or by another user';
    expect(titles(seen, 'docker')).toContain(what);
    const rest = removed(seen);
    expect(plan(rest)).toEqual([]);
    expect(titles(rest, 'docker')).toContain(what);
  });

  it('include every package of a driver that azp-fleet only held', () => {
    const own = merge(afterwards(debian, bundled), { held: [], ours: { packages: undefined } });
    const held = afterwards(own, bundled);
    expect(held.held).toContain('nvidia-driver-cuda');
    expect(removed(held).held).toEqual([]);
    expect(removed(held).ours.packages).toBe(undefined);
    for (const part of all)
      expect(titles(held, part)).toContainEqual(expect.stringContaining('was not installed by azp-fleet'));
  });
});

describe('a host of an earlier release, without a record', () => {
  const now = afterwards(debian, desiredOf());
  const earlier = merge(now, { ours: { packages: undefined } });

  it('has the packages of our sources', () => {
    expect(titles(earlier, ...all)).toEqual(titles(now, ...all));
    expect(titles(earlier)).toEqual(titles(now));
  });

  it('has the same record after a change', () => {
    const loose = { ...earlier, held: [] };
    const then = afterwards(loose, desiredOf());
    expect(then.ours.packages).toMatchObject({ theirs: [], held: [] });
    expect(titles(then, ...all)).toEqual(titles(now, ...all));
    expect(titles(then)).toEqual(titles(now));
  });
});

it('a record is read as written, without invalid lines', () => {
  const record = {
    part: ['docker'],
    theirs: ['a+b.c-1'],
    kept: [],
    brought: ['lib*-nvidia*'],
    held: ['x'],
  } as const;
  expect(readRecord(recordLines(record).join('\n'))).toEqual(record);
  expect(
    readRecord(
      'part docker\npart gpu\nbrought $(id)\nbrought a b\nbrought \u001B[31m\nheld\nrubbish\nbrought ok\nbrought ok',
    ),
  ).toEqual({ part: ['docker'], theirs: [], kept: [], brought: ['ok'], held: [] });
  expect(readRecord('')).toBe(undefined);
});
