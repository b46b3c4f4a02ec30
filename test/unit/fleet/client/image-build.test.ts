import { expect, test } from 'vitest';

import { renewImage } from '../../../../src/fleet/client/image-build.ts';
import type { ManagerStatus } from '../../../../src/shared/contract/status.ts';
import { managerStatus } from '../../../support/manager-status.ts';

type Asked = ManagerStatus['image']['asked'];

const first = '2026-11-21T00:00:00.000Z';
const second = '2026-11-21T00:05:00.000Z';

const withImage = (digest: string, asked?: Asked) =>
  managerStatus({
    image: { state: 'ready', reference: 'azp-fleet/agent:4', digest, ...(asked && { asked }) },
  });

/** Renews an image with these later statuses of the build; returns the result. */
function renew(later: readonly Asked[], digest = 'sha256:new') {
  const statuses = [withImage('sha256:old'), ...later.map((asked) => withImage(digest, asked))];
  return renewImage(
    {
      status: async () => statuses.shift() ?? Promise.reject(new Error('no status left')),
      renewImage: async () => withImage('sha256:old', { at: first, state: 'running' }),
    },
    false,
    { onLine: () => undefined, sleep: async () => undefined },
  );
}

test('a build is followed until it is done', async () => {
  const running: Asked = { at: first, state: 'running' };
  expect(await renew([running, running, { at: first, state: 'done' }])).toEqual({
    reference: 'azp-fleet/agent:4',
    digest: 'sha256:new',
    isNew: true,
  });
});

test('an image with the same digest is not new', async () => {
  expect(await renew([{ at: first, state: 'done' }], 'sha256:old')).toMatchObject({ isNew: false });
});

test('a failed build is reported with its cause', async () => {
  await expect(renew([{ at: first, state: 'failed', cause: 'disk full' }])).rejects.toMatchObject({
    problem: { code: 'image.failed', seen: 'disk full' },
  });
});

test.each<[string, Asked]>([
  ['knows no request', undefined],
  ['finished another request', { at: second, state: 'done' }],
  ['failed another request', { at: second, state: 'failed', cause: 'disk full' }],
])('a manager that restarted during the build and %s has lost the build', async (_, asked) => {
  await expect(renew([asked])).rejects.toMatchObject({
    problem: { code: 'image.lost' },
  });
});
