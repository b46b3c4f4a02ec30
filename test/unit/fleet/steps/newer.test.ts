import { describe, expect, it } from 'vitest';

import { withNewerVersions } from '../../../../src/fleet/steps/newer.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';

const anyVersion = desiredOf({
  driver: { orNewer: true },
  docker: { version: '29.7.2', orNewer: true },
  toolkit: { version: '1.20.0', orNewer: true },
});
const kept = (facts: ReturnType<typeof factsOf>, desired = anyVersion): string[] => {
  const { driver, docker, toolkit } = withNewerVersions(facts, desired).host;
  return [driver.branch, docker.version, toolkit.version];
};

describe('versions newer than a default', () => {
  it.each<[string, ReturnType<typeof factsOf>, string[]]>([
    ['nothing is installed', factsOf(), ['580', '29.7.2', '1.20.0']],
    [
      'all are newer',
      factsOf({
        driver: { loaded: '595.71.05', userspace: '595.71.05' },
        packages: { 'docker-ce': '5:29.10.0-1~debian.12~bookworm' },
        toolkit: { version: '1.21.0' },
      }),
      ['595', '29.10.0', '1.21.0'],
    ],
    [
      'all are older',
      factsOf({
        driver: { loaded: '570.86.10', userspace: '570.86.10' },
        packages: { 'docker-ce': '5:29.6.1-1' },
        toolkit: { version: '1.19.1' },
      }),
      ['580', '29.7.2', '1.20.0'],
    ],
    [
      'newer libraries wait for a reboot',
      factsOf({ driver: { loaded: '580.95.05', userspace: '595.71.05' } }),
      ['595', '29.7.2', '1.20.0'],
    ],
    [
      "the distribution's engine is newer",
      factsOf({ packages: { 'docker.io': '30.1.3-0ubuntu3~24.04.2' } }),
      ['580', '30.1.3', '1.20.0'],
    ],
    [
      'the newer branch does not support the GPU any more',
      factsOf({
        gpus: [{ address: '0000:01:00.0', deviceId: '15f8', boundTo: undefined }],
        driver: { userspace: '595.71.05' },
      }),
      ['580', '29.7.2', '1.20.0'],
    ],
    ['versions are invalid', factsOf({ packages: { 'docker-ce': 'edge' } }), ['580', '29.7.2', '1.20.0']],
  ])('stays: %s', (_, facts, expected) => {
    expect(kept(facts)).toEqual(expected);
  });

  it('is replaced if the inventory sets a version', () => {
    const facts = factsOf({
      driver: { loaded: '595.71.05' },
      packages: { 'docker-ce': '5:29.10.0-1' },
      toolkit: { version: '1.21.0' },
    });
    expect(kept(facts, desiredOf())).toEqual(['580', '29.7.2', '1.20.0']);
  });
});
