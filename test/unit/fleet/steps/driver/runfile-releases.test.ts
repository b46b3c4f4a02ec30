import { describe, expect, test } from 'vitest';

import { compareVersions } from '../../../../../src/fleet/packages/version.ts';
import { digests, releaseOf } from '../../../../../src/fleet/steps/driver/runfile-releases.ts';
import { installerOptions } from '../../../../../src/fleet/steps/driver/runfile.ts';
import { desiredOf } from '../../../../support/host.ts';

const { driver } = desiredOf({ driver: { method: 'runfile', version: '595.84', branch: '595' } }).host;

describe('the .run files that are known', () => {
  test('are in ascending order, each with a digest', () => {
    const versions = Object.keys(digests);
    expect(versions).toEqual(versions.toSorted(compareVersions));
    expect(Object.values(digests).filter((each) => !/^[0-9a-f]{64}$/.test(each))).toEqual([]);
  });

  test('are downloaded from NVIDIA, or only from a mirror', () => {
    expect(releaseOf({ arch: 'x86_64' }, driver, {})).toEqual({
      version: '595.84',
      sha256: '99c404e52131bf27bca6da0268dcce3ebedc7a73ab174071a995cf1a6c5eba06',
      file: 'NVIDIA-Linux-x86_64-595.84.run',
      addresses: [
        'https://download.nvidia.com/XFree86/Linux-x86_64/595.84/NVIDIA-Linux-x86_64-595.84.run',
        'https://us.download.nvidia.com/tesla/595.84/NVIDIA-Linux-x86_64-595.84.run',
      ],
    });
    expect(releaseOf({ arch: 'x86_64' }, driver, { nvidiaRunfile: 'http://mirror/x' })).toMatchObject({
      addresses: ['http://mirror/x/Linux-x86_64/595.84/NVIDIA-Linux-x86_64-595.84.run'],
    });
  });

  test.each([
    [
      { arch: 'aarch64' },
      'unknown sha256 of NVIDIA-Linux-aarch64-595.84.run: azp-fleet runs it as root only after verifying it',
      'set driver.sha256 to the sum in https://download.nvidia.com/XFree86/Linux-aarch64/595.84/NVIDIA-Linux-aarch64-595.84.run.sha256sum',
    ],
  ])('are chosen by architecture: %o', (facts, what, next) => {
    expect(releaseOf(facts, driver, {})).toEqual({ what, next });
  });

  test('use the digest of the inventory', () => {
    const own = { ...driver, sha256: 'b'.repeat(64) };
    expect(releaseOf({ arch: 'x86_64' }, own, {})).toMatchObject({ sha256: 'b'.repeat(64) });
  });
});

test.each([
  [{}, '--silent --dkms -m=kernel-open --no-opengl-files'],
  [{ flavor: 'proprietary' }, '--silent --dkms -m=kernel --no-opengl-files'],
  [{ branch: '470', flavor: 'proprietary' }, '--silent --dkms --no-opengl-files'],
  [{ uses: ['video'] }, '--silent --dkms -m=kernel-open --no-opengl-files'],
  [{ uses: ['graphics', 'video'] }, '--silent --dkms -m=kernel-open --no-install-libglvnd'],
  [
    { unloaded: true, kernel: '6.1.0-38-amd64' },
    '--silent --dkms -m=kernel-open --no-opengl-files --skip-module-load --allow-installation-with-running-driver --no-nouveau-check --kernel-name=6.1.0-38-amd64',
  ],
] as const)("the installer gets the plan's options: %o", (given, expected) => {
  const plain = { branch: '580', flavor: 'open', uses: [], unloaded: false, kernel: undefined } as const;
  expect(installerOptions({ ...plain, ...given }).join(' ')).toBe(expected);
});
