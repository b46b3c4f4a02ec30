import { describe, expect, it } from 'vitest';

import { contextArchive } from '../../../../../src/fleet/artifacts/upload-sources.ts';
import {
  namedSystem,
  needingOf,
  needingUnseen,
  needsOf,
  readForBundle,
  type Target,
} from '../../../../../src/fleet/bundle/make/needs.ts';
import { systems } from '../../../../../src/fleet/packages/systems.ts';
import { desiredOf, driven, factsOf } from '../../../../support/host.ts';

const none = (): Promise<Buffer> => Promise.reject(new Error('no folder'));
const runtime = { kind: 'text', text: '', sha256: '0'.repeat(64) } as const;
const artifacts = { ...desiredOf().artifacts, runtime: () => runtime };
const onHost = {
  agent: { version: '5.300.0', sha256: { x64: 'a'.repeat(64), arm64: undefined } },
  agents: {
    kind: 'slots',
    slots: [{ gpus: [0], share: false, limits: {}, capabilities: [], mode: 'host' }],
  },
} as const;
const host = (name: string, desired = desiredOf({}, { artifacts })): Target => ({
  name,
  needing: needingOf(factsOf()),
  desired,
});

describe('the needs of hosts', () => {
  const needs = async (...targets: readonly Target[]) =>
    needsOf(targets, await contextArchive(artifacts.context), none);
  const unseen = {
    ...host('u'),
    needing: needingUnseen(
      { id: 'ubuntu', versionId: '24.04' },
      'x86_64',
      ['6.8.0-45-generic'],
      ['linux-image-generic'],
    ),
  };

  it('are the packages of their system, with headers of the named kernels', async () => {
    const { needs: found } = await needs(host('a'), unseen);
    expect(found.systems.map(({ platform, hosts }) => [platform.id, platform.versionId, hosts])).toEqual([
      ['debian', '12', ['a']],
      ['ubuntu', '24.04', ['u']],
    ]);
    const before = found.systems[1]?.transactions.map((each) => each.before ?? '').join('\n');
    expect(before).toContain('need linux-headers-6.8.0-45-generic');
    expect(before).toContain('follow linux-image-generic linux-headers-generic');
    expect(before).toContain('need gcc');
    expect(found.systems.flatMap(({ transactions }) => transactions.map(({ vendor }) => vendor))).toEqual([
      'nvidia',
      'docker',
      'nvidia-container-toolkit',
      'nvidia',
      'docker',
      'nvidia-container-toolkit',
    ]);
  });

  it('include the libraries and archive of agents in host mode', async () => {
    const { needs: found, unprovided } = await needs(host('h', desiredOf(onHost, { artifacts })));
    expect(unprovided).toEqual([]);
    expect(found.agents).toMatchObject([{ machine: 'x86_64', release: { version: '5.300.0' } }]);
    const before = found.systems[0]?.transactions.map((each) => each.before ?? '').join('\n');
    expect(before).toContain('first ICU libicu');
  });

  it.each([
    ['12', '535', 'cuda12.2'],
    ['13', '550', 'cuda12.4'],
  ])(
    "is the branch of Debian %s's driver with method distro and no branch",
    async (versionId, branch, cuda) => {
      const distro = desiredOf({ driver: { method: 'distro', orNewer: true } }, { artifacts });
      const target = host('d', distro);
      const needing = { ...target.needing, os: { ...target.needing.os, versionId } };
      const { needs: found } = await needs({ ...target, needing });
      const [driver] = found.systems[0]?.transactions ?? [];
      expect(driver?.packages[0]).toEqual({ name: 'nvidia-smi', version: { branch } });
      expect(driver?.before).toContain('need_component non-free-firmware');
      expect(found.images.map(({ plan }) => plan.reference)).toEqual([expect.stringContaining(cuda)]);
    },
  );

  it.each([
    ['8.10', '8', '4.18.0-553.el8_10.x86_64', 'kernel-devel-4.18.0-553.el8_10.x86_64'],
    ['9.5', '9', '5.14.0-503.11.1.el9_5.x86_64', 'kernel-devel-5.14.0-503.11.1.el9_5.x86_64'],
    ['10.0', '10', '6.12.0-55.el10.x86_64', 'kernel-devel-6.12.0-55.el10.x86_64'],
  ])(
    'take the packages of Rocky %s, with the headers of its kernels',
    async (versionId, major, release, devel) => {
      const el = {
        ...host('el'),
        needing: needingUnseen({ id: 'rocky', versionId }, 'x86_64', [release], []),
      };
      const { needs: found, unprovided } = await needs(el);
      expect(unprovided).toEqual([]);
      const [system] = found.systems;
      expect(`${system?.platform.id} ${system?.platform.versionId}`).toBe(`rocky ${major}`);
      const before = system?.transactions.map((each) => each.before ?? '').join('\n');
      expect(before).toContain(`need ${devel} `);
      expect(before).toContain('more_packages epel-release');
      expect(before).toContain('need gcc');
    },
  );

  it('include the headers that a host with dnf lacks, also of the kernel that boots next', () => {
    const [now, next] = ['5.14.0-503.11.1.el9_5.x86_64', '5.14.0-570.12.1.el9_6.x86_64'];
    const facts = factsOf({
      os: { id: 'rocky', idLike: [], versionId: '9.5', codename: '', pretty: 'Rocky Linux 9.5' },
      kernels: [now, next].map((release) => ({ release, headers: release === now, driver: true })),
      packages: {
        'kernel-core': '1',
        [`kernel-core-${next}`]: '1',
        'kernel-devel': '1',
        'kernel-tools': '1',
      },
    });
    const needing = needingOf(facts);
    expect(needing.images).toEqual([`kernel-core-${next}`]);
    const { needs: found } = needsOf([{ ...host('el'), needing }], Buffer.alloc(0), none);
    const before = found.systems[0]?.transactions.map((each) => each.before ?? '').join('\n');
    expect(before).not.toContain(`need kernel-devel-${now} `);
    expect(before).toContain(`need kernel-devel-${next} `);
  });

  it('include the image on the CUDA version of a newer driver that stays', async () => {
    const desired = desiredOf({ driver: { orNewer: true } }, { artifacts });
    const now = factsOf({ driver: { ...driven, loaded: '595.71.05', userspace: '595.71.05' } });
    const { needs: found } = await needs(
      { ...host('n', desired), now },
      { ...host('m', desired), now: factsOf() },
    );
    expect(found.images.map(({ plan }) => plan.reference)).toEqual([
      expect.stringContaining('cuda13.0'),
      expect.stringContaining('cuda13.2'),
    ]);
  });

  it.each(['gpus', 'kernels', 'driver', 'packages-apt'])('are unknown where %s could not be read', (fact) => {
    const facts = factsOf({ unknown: [{ fact, why: 'no answer in 5 s' }] });
    expect(() => readForBundle('a', facts)).toThrow(`facts incomplete: ${fact} (no answer in 5 s)`);
  });

  it('are known without facts that a bundle does not depend on', () => {
    const facts = factsOf({ unknown: [{ fact: 'others', why: 'no answer in 5 s' }] });
    expect(readForBundle('a', facts)).toBe(facts);
  });

  it('do not depend on what is installed on a host', async () => {
    const full = factsOf({ packages: { 'docker-ce': '5:29.7.2-1', gcc: '12' }, docker: { active: true } });
    const { needs: now } = await needs({ ...host('a'), needing: needingOf(full) });
    expect(now).toEqual((await needs(host('a'))).needs);
  });

  it.each([
    [
      'a system that is not supported',
      {
        ...host('o'),
        needing: { ...needingOf(factsOf()), os: { ...factsOf().os, versionId: '11', pretty: 'Debian 11' } },
      },
      expect.stringContaining('Debian 11 is not supported'),
    ],
    [
      'an agent with an unknown digest',
      host('d', desiredOf({ agent: { version: '4.999.0', sha256: { x64: undefined, arm64: undefined } } })),
      'the digest of the agent 4.999.0 is unknown, and a bundle checks it',
    ],
  ])('%s is reported by name, and not included', async (_, target, what) => {
    const { unprovided, needs: found } = await needs(target, host('a'));
    expect(unprovided).toMatchObject([{ host: target.name, what }]);
    expect(unprovided[0]?.next).not.toBe('');
    expect(found.systems.flatMap(({ hosts }) => hosts)).toEqual(['a']);
  });
});

describe('a named system', () => {
  it.each([
    ['debian-12/x86_64', 'debian', '12', 'x86_64'],
    ['ubuntu-24.04', 'ubuntu', '24.04', 'x86_64'],
    ['rhel-9/x86_64', 'rhel', '9', 'x86_64'],
    ['rocky-9.5/x86_64', 'rocky', '9.5', 'x86_64'],
    ['almalinux-10.0/aarch64', 'almalinux', '10.0', 'aarch64'],
    ['ol-8.10', 'ol', '8.10', 'x86_64'],
    ['amzn-2023/aarch64', 'amzn', '2023', 'aarch64'],
  ])('%s', (text, id, versionId, machine) => {
    expect(namedSystem(text)).toMatchObject({ system: { id, versionId }, machine });
  });

  it.each([
    ['rhel-9', 'redhat/ubi9'],
    ['rhel-9.6', 'redhat/ubi9:9.6'],
    ['rocky-9.5', 'rockylinux/rockylinux:9.5'],
    ['centos-9', 'quay.io/centos/centos:stream9'],
    ['ubuntu-24.04', 'ubuntu:24.04'],
  ])('%s has the container image %s', (text, image) => {
    const { system } = namedSystem(text);
    expect(system.image(system.versionId)).toBe(image);
  });

  it('may be any that is supported', () => {
    for (const { id, versionId } of systems)
      expect(namedSystem(`${id}-${versionId}`)).toMatchObject({ system: { id, versionId } });
  });

  it.each([
    'rocky-7',
    'rocky-90',
    'rocky-9.',
    'rocky',
    'ubuntu-24',
    'rocky-9/x86_64/more',
    'rocky-9/sparc',
    'debian-11',
  ])('%s is rejected with all supported names', (text) => {
    expect(() => namedSystem(text)).toThrow(
      expect.objectContaining({
        problem: expect.objectContaining({
          seen: text,
          expected: expect.stringContaining('rocky-9, almalinux-9, ol-9') as string,
        }) as unknown,
      }) as Error,
    );
  });
});
