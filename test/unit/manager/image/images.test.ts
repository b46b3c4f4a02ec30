import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { systemClock } from '../../../../src/shared/base/clock.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { ImageKeeper } from '../../../../src/manager/image/images.ts';
import { Labels } from '../../../../src/shared/contract/paths.ts';
import type { ImagePlan } from '../../../../src/shared/image/plan.ts';
import { renewImage } from '../../../../src/fleet/client/image-build.ts';
import { createManagerClient } from '../../../../src/fleet/client/manager-client.ts';
import { StillClock } from '../../../support/clock.ts';
import { ManagerRig, printed } from '../../../support/manager-rig.ts';

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

describe('a driver with another CUDA, whose image', () => {
  const xml = readFileSync('test/fixtures/nvidia-smi/h200-pair-v13.xml', 'utf8');
  const built = {
    image: {
      kind: 'build',
      agentVersion: '5.279.0',
      agentSha256: '',
      agentUrl: 'https://downloads.example/agent',
    },
    agents: { kind: 'count', count: 1 },
  } as const;
  const shown = (cuda: string) => {
    rig.programs.set('sh', printed(xml.replace(/<cuda_version>[^<]*/, `<cuda_version>${cuda}`)));
  };

  /** Starts the manager of a drained host after its driver was changed, as `provision` does. */
  async function changeDriver(change: (before: string | undefined) => void): Promise<string | undefined> {
    await rig.stop();
    rig.plugIn('0000:83:00.0');
    rig.plugIn('0000:84:00.0');
    shown('12.8');
    await rig.start(built);
    const present = async () => (await rig.status().catch(() => undefined))?.image;
    const reference = expect.stringContaining('cuda12.8') as string;
    await expect.poll(present).toMatchObject({ state: 'ready', reference });
    const { digest } = (await rig.status()).image;
    await expect.poll(() => imageOf('box-0')).toBe(digest);
    await rig.until('idle', ['0']);
    await rig.post('/v1/drain', { reason: 'driver' });
    await rig.until('drained', ['0']);
    await rig.stop();
    shown('13.2');
    change(digest);
    await rig.start(built);
    await rig.until('drained', ['0']);
    return digest;
  }

  test.each([
    ['cannot be built', () => void (rig.docker.failedBuild = badChecksum), 'checksum did NOT match'],
    ['cannot be chosen', () => shown('1.0'), 'no CUDA base fits'],
  ])('%s: agents run on the image from before, and the status has the cause', async (_, change, cause) => {
    const before = await changeDriver(change);
    await expect
      .poll(async () => (await rig.status()).image)
      .toMatchObject({ state: 'failed', digest: before, cause: expect.stringContaining(cause) as string });
    await rig.post('/v1/undrain', {});
    await rig.until('idle', ['0']);
    expect(imageOf('box-0')).toBe(before);
    expect((await rig.slot('0')).image).toBeUndefined();
  });

  test('does not start: agents return to the image from before', async () => {
    const before = await changeDriver((known) => {
      rig.docker.onStart = (container) => {
        const isAgent = container.body.Labels?.[Labels.kind] === 'agent';
        if (!isAgent || container.body.Image === known) rig.listen(container);
        else rig.docker.end(container.id, 127);
      };
    });
    await rig.post('/v1/undrain', {});
    await expect.poll(async () => (await rig.status()).problems[0]?.code).toBe('image.rejected');
    await rig.until('idle', ['0']);
    expect(imageOf('box-0')).toBe(before);
  });

  test('was built: agents run on it, also if the one from before could not start', async () => {
    const before = await changeDriver(() => (rig.docker.failedBuild = badChecksum));
    await expect.poll(async () => (await rig.status()).image.state).toBe('failed');
    rig.docker.fail(/POST .*\/start/, 500, 'requirement error: unsatisfied condition: cuda<13.0', 5);
    await rig.post('/v1/undrain', {});
    await expect.poll(async () => (await rig.slot('0')).code).toBe('engine.cuda-too-new');
    rig.docker.failedBuild = undefined;
    await rig.until('idle', ['0']);
    await expect.poll(() => imageOf('box-0')).not.toBe(before);
    expect((await rig.status()).image.state).toBe('ready');
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

test('a base is chosen as soon as the GPUs answer again; a build that failed is repeated after a pause', async () => {
  let builds = 0;
  const engine = {
    imageId: () => Promise.resolve(undefined),
    imageLabel: () => Promise.resolve(undefined),
    pull: () => Promise.resolve(),
    push: () => Promise.resolve(''),
    build: () => {
      builds += 1;
      return Promise.reject(new Error('no space'));
    },
  };
  const clock = new StillClock();
  const keeper = new ImageKeeper(engine, clock, silentLogger, () => undefined);
  let cudaMax: string | undefined;
  const plan = (): ImagePlan => {
    if (cudaMax === undefined)
      throw new FleetError({ code: 'image.no-base', what: 'the driver does not report its CUDA version' });
    return {
      kind: 'build',
      reference: 'azp-fleet/agent:1',
      context: Buffer.alloc(0),
      args: {},
      labels: {},
    };
  };
  for (let look = 0; look < 5; look += 1) await keeper.ensure(plan);
  expect(keeper.state).toMatchObject({ state: 'failed', cause: { code: 'image.no-base' } });
  cudaMax = '13.2';
  await keeper.ensure(plan);
  expect(builds).toBe(1);
  await keeper.ensure(plan);
  expect(builds).toBe(1);
  clock.pass(3_600_000);
  await keeper.ensure(plan);
  expect(builds).toBe(2);
});

describe('an image that is loaded out of a bundle', () => {
  const reference = 'azp-fleet/agent:1';
  const plan = (): ImagePlan => ({
    kind: 'build',
    reference,
    context: Buffer.alloc(0),
    args: {},
    labels: {},
  });
  const kept = (loaded: { during: boolean }) => {
    const host = { image: undefined as string | undefined, builds: 0 };
    const engine = {
      imageId: (name: string) => Promise.resolve(name === reference ? host.image : undefined),
      imageLabel: () => Promise.resolve(undefined),
      pull: () => Promise.resolve(),
      push: () => Promise.resolve(''),
      build: () => {
        host.builds += 1;
        if (loaded.during) host.image = 'sha256:loaded';
        return Promise.reject(new Error('no route to the registry'));
      },
    };
    return { host, keeper: new ImageKeeper(engine, new StillClock(), silentLogger, () => undefined) };
  };

  test('is used although its build fails meanwhile', async () => {
    const { keeper } = kept({ during: true });
    await keeper.ensure(plan);
    expect(keeper.state).toEqual({ state: 'ready', reference, id: 'sha256:loaded' });
  });

  test('is used at the next look after a failed build, without its pause', async () => {
    const { host, keeper } = kept({ during: false });
    await keeper.ensure(plan);
    await keeper.ensure(plan);
    expect(keeper.state.state).toBe('failed');
    host.image = 'sha256:loaded';
    await keeper.ensure(plan);
    expect(keeper.state).toMatchObject({ state: 'ready', id: 'sha256:loaded' });
    expect(host.builds).toBe(1);
  });
});
