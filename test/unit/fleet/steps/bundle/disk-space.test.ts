// The plan checks the disk space of a bundle before any upload.
import { describe, expect, it } from 'vitest';

import { HostPaths } from '../../../../../src/shared/contract/paths.ts';
import type { Facts } from '../../../../../src/fleet/facts/facts.ts';
import { diskProbe } from '../../../../../src/fleet/facts/probes/disk.ts';
import { folderMark, packagesFolder } from '../../../../../src/fleet/packages/package-manager.ts';
import { planHost } from '../../../../../src/fleet/plan/plan.ts';
import { allSteps } from '../../../../../src/fleet/steps/all.ts';
import { agentImages } from '../../../../../src/fleet/steps/bundle/images.ts';
import type { Included } from '../../../../../src/fleet/steps/bundle/content.ts';
import { desiredOf, factsOf, merge } from '../../../../support/host.ts';
import { includedOf } from '../../../../support/included.ts';

const bare = factsOf();
const gb = 1e9;
const hash = (digit: string) => digit.repeat(64);
const file = (sha256: string, bytes: number) => ({
  kind: 'file' as const,
  file: '/bundle',
  sha256,
  size: bytes,
  gunzip: false,
  part: { start: 512, bytes },
});
const packages = [
  { file: 'docker-ce_29.7.2-1_amd64.deb', artifact: file(hash('a'), 1 * gb) },
  { file: 'libcuda1_580.95.05-1_amd64.deb', artifact: file(hash('b'), 2 * gb) },
];
const images = agentImages(bare, desiredOf(), 'x64', Buffer.from('context'), () =>
  Promise.reject(new Error('not read')),
).map(({ reference }) => reference);

/** A bundle with 3 GB of packages, and an image of 4 GB. */
function bundle(unpacked?: number): Included {
  const included = includedOf(images);
  return {
    ...included,
    packages: (system) => {
      const set = included.packages(system);
      return set && { ...set, packages };
    },
    image: (reference) =>
      images.includes(reference)
        ? { archive: file(hash('c'), 4 * gb), ...(unpacked === undefined ? {} : { unpacked }) }
        : undefined,
  };
}

function refusals(facts: Facts, included = bundle()): string[] {
  const desired = desiredOf({}, { included });
  return planHost(facts, desired, { steps: allSteps, disturbOthers: true }).refusals.map(({ what }) => what);
}

const disks = (sizes: Readonly<Record<string, number>>, mounts: Readonly<Record<string, string>> = {}) =>
  merge(bare, {
    disk: Object.fromEntries(
      Object.entries({ '/': 500 * gb, ...sizes }).map(([path, freeBytes]) => [
        path,
        { freeBytes, mount: mounts[path] ?? path },
      ]),
    ),
  });
const arrived = (facts: Facts, files: Readonly<Record<string, number>>) => merge(facts, { arrived: files });
const brought = '"upload 2 packages from the bundle (3000 MB)"';
const loaded = `"load image ${images[0]} from the bundle (4000 MB)"`;

describe('a bundle on a host', () => {
  it('with 100 MB is refused before any upload', () => {
    expect(refusals(disks({ '/var/lib': 0.1 * gb }))).toEqual([
      `${brought} needs 3.1 GB on /var/lib including the changes before it; 100 MB are free`,
      expect.stringContaining(`${loaded} needs 11.1 GB on /var/lib`),
    ]);
  });

  it('needs space for the archive of an image and for the image, and frees the archive', () => {
    const seen = (free: number, included?: Included) => refusals(disks({ '/var/lib': free }), included);
    expect(seen(11.1 * gb)).toEqual([]);
    expect(seen(10.9 * gb)).toHaveLength(1);
    expect(seen(14 * gb, bundle(9 * gb))).toEqual([expect.stringContaining('needs 16.1 GB on /var/lib')]);
    expect(seen(16.1 * gb, bundle(9 * gb))).toEqual([]);
  });

  it("needs the space for images on the engine's disk", () => {
    const facts = disks({ '/data': 5 * gb, '/var/lib': 7.1 * gb });
    const elsewhere = merge(facts, { docker: { rootDir: '/data/docker' } });
    expect(refusals(elsewhere)).toEqual([]);
    expect(refusals(elsewhere, bundle(9 * gb))).toEqual([
      `${loaded} needs 9.0 GB on /data including the changes before it; 5.0 GB are free`,
    ]);
  });

  it("needs the space for images in containerd's store, which keeps their archives", () => {
    const facts = disks({ '/data': 14 * gb, '/var/lib': 7.1 * gb });
    const inStore = merge(facts, { docker: { byContainerd: true }, containerdRoot: '/data/containerd' });
    expect(refusals(inStore, bundle(9 * gb))).toEqual([]);
    expect(refusals(inStore, bundle(11 * gb))).toEqual([
      `${loaded} needs 15.0 GB on /data including the changes before it; 14.0 GB are free`,
    ]);
  });

  it('needs no space for complete and partial files on the host', () => {
    const facts = disks({ '/var/lib': 1.1 * gb, '/var/lib/docker': 50 * gb });
    const pool = `${packagesFolder}/pool`;
    const part = { [`${HostPaths.images}/${hash('c')}.image.${'c'.repeat(16)}.part`]: 3.5 * gb };
    const whole = { [`${pool}/docker-ce_29.7.2-1_amd64.deb`]: 1 * gb };
    const cut = { [`${pool}/libcuda1_580.95.05-1_amd64.deb.${'b'.repeat(16)}.part`]: 1.5 * gb };
    expect(refusals(facts)).toHaveLength(2);
    expect(refusals(arrived(facts, { ...whole, ...cut, ...part }))).toEqual([]);
    // A file of another bundle with that name is replaced.
    const other = { [`${pool}/docker-ce_29.7.2-1_amd64.deb`]: 7 };
    expect(refusals(arrived(facts, { ...other, ...cut, ...part }))).toHaveLength(2);
  });

  it('needs no space without an upload', () => {
    const tight = disks({ '/var/lib': 0.1 * gb });
    const full = merge(tight, { docker: { images } });
    expect(refusals(full)).toEqual([expect.stringContaining(brought)]);
    expect(Object.keys(full.files)).not.toContain(folderMark);
  });
});

it('arrived files are read from the list, and other lines are ignored', () => {
  const stdout = `arrived 5 ${packagesFolder}/pool/a_1%3a2-3_amd64.deb\narrived x /b\narrived 7 rel\narrived 9`;
  expect(diskProbe.parse(stdout).arrived).toEqual({ [`${packagesFolder}/pool/a_1%3a2-3_amd64.deb`]: 5 });
});
