import { Agent } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { systemClock } from '../../../../src/shared/base/clock.ts';
import { ImageKeeper } from '../../../../src/manager/image/images.ts';
import type { ImagePlan } from '../../../../src/shared/image/plan.ts';
import { renewImage } from '../../../../src/fleet/client/image-build.ts';
import { createManagerClient } from '../../../../src/fleet/client/manager-client.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';

// The daemon with a fake Azure DevOps server and a stand-in dockerd, both over real sockets; the client is the CLI's.
let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
  await rig.start({
    image: {
      kind: 'build',
      agentVersion: '5.279.0',
      agentSha256: '',
      agentUrl: 'https://downloads.example/agent',
    },
  });
  await rig.until('idle');
});
afterEach(() => rig.close());

class SocketAgent extends Agent {
  override createConnection(): ReturnType<typeof connect> {
    return connect(rig.socket);
  }
}

const lines: string[] = [];
const renew = (fresh = false) => {
  lines.length = 0;
  return renewImage(createManagerClient(new SocketAgent(), 'box'), fresh, {
    onLine: (line) => lines.push(line),
    sleep: () => sleep(5),
  });
};
const imageOf = (name: string): string | undefined => rig.docker.get(name)?.body.Image;

const badChecksum = [
  { stream: 'Step 1/1 : RUN echo "0  /tmp/agent.tar.gz" | sha256sum -c -\n' },
  { stream: 'sha256sum: WARNING: 1 computed checksum did NOT match\n' },
  { errorDetail: { message: "The command 'x' returned a non-zero code: 1" }, error: 'x' },
];

describe('a requested image', () => {
  test('is built although one exists, and idle agents move to it', async () => {
    const before = imageOf('box-0');
    const built = await renew();
    expect(built).toMatchObject({
      isNew: true,
      reference: expect.stringContaining('azp-fleet/agent:') as string,
    });
    await expect.poll(() => [imageOf('box-0'), imageOf('box-1')]).toEqual([built.digest, built.digest]);
    expect(built.digest).not.toBe(before);
  });

  test('whose build fails is reported with the output of the failed step; agents keep the old image', async () => {
    const before = imageOf('box-0');
    rig.docker.failedBuild = badChecksum;
    await expect(renew()).rejects.toMatchObject({
      problem: {
        code: 'image.failed',
        seen: expect.stringMatching(
          /checksum did NOT match \(exit code 1\)\nStep 1\/1 : RUN echo.*\n.*checksum did NOT match$/,
        ) as string,
      },
    });
    rig.beginJob('box-0');
    rig.endJob('box-0');
    await rig.until('idle');
    expect(imageOf('box-0')).toBe(before);
  });
});

test('a second request during a build starts none, and the old image stays in use', async () => {
  const held = Promise.withResolvers<string>();
  let builds = 0;
  const engine = {
    imageId: () => Promise.resolve('sha256:old'),
    imageLabel: () => Promise.resolve(undefined),
    pull: () => Promise.resolve(),
    push: () => Promise.resolve(''),
    build: () => {
      builds += 1;
      return held.promise;
    },
  };
  const keeper = new ImageKeeper(engine, systemClock(1), silentLogger, () => undefined);
  const plan = (): ImagePlan => ({
    kind: 'build',
    reference: 'azp-fleet/agent:1',
    context: Buffer.alloc(0),
    args: {},
    labels: {},
  });
  keeper.renew(plan, false);
  await expect.poll(() => builds).toBe(1);
  const requestedAt = keeper.requested?.at;
  keeper.renew(plan, true);
  await keeper.ensure(plan);
  expect(keeper.state).toMatchObject({ state: 'building', id: 'sha256:old' });
  held.resolve('sha256:new');
  await expect.poll(() => keeper.requested).toEqual({ at: requestedAt, state: 'done' });
  expect(builds).toBe(1);
});
