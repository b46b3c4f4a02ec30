import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { sha256 } from '../../../../src/shared/base/digest.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import type { ImageConfig } from '../../../../src/shared/contract/config.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { ImageKeeper } from '../../../../src/manager/image/images.ts';
import type { ImageEngine } from '../../../../src/manager/image/make.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';
import { StillClock } from '../../../support/clock.ts';

// Builds a team's folder on the agent image: the daemon with a stand-in dockerd on a real socket.
let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

/** Uploads a folder as `provision` does, and returns the image configuration for it. */
function upload(content: string, push?: string): ImageConfig {
  const folders = join(rig.directory, 'folders');
  mkdirSync(folders, { recursive: true });
  const folder = sha256(content);
  writeFileSync(join(folders, `${folder}.tar`), content);
  return {
    kind: 'build',
    agentVersion: '5.279.0',
    agentSha256: '',
    agentUrl: 'https://downloads.example/agent',
    top: { name: 'vision', folder, ...(push === undefined ? {} : { push }) },
  };
}

const status = async () => (await rig.status()).image;
const imageOf = (name: string): string | undefined => rig.docker.get(name)?.body.Image;

describe("a team's folder", () => {
  test('is built on the agent image, by its id, and agents run the result', async () => {
    await rig.start({ image: upload('one') });
    await rig.until('idle');
    const [agent, top] = rig.docker.builds;
    expect(top?.tag).toBe(`${agent?.tag}-vision-${sha256('one').slice(0, 12)}`);
    const under = rig.docker.images.find(({ reference }) => reference === agent?.tag)?.id;
    expect(top?.args).toEqual({ BASE: under });
    expect(await status()).toMatchObject({ state: 'ready', reference: top?.tag, under });
    expect(imageOf('box-0')).toBe((await status()).digest);
  });

  test('is not built again after a restart, only when the folder or the agent image changes', async () => {
    await rig.start({ image: upload('one') });
    await rig.until('idle');
    await rig.stop();
    await rig.start({ image: upload('one') });
    await rig.until('idle');
    expect(rig.docker.builds.length).toBe(2);
    await rig.stop();
    const image = upload('two');
    await rig.start({ image });
    await expect.poll(() => rig.docker.builds.length).toBe(3);
    await expect.poll(async () => imageOf('box-0') === (await status()).digest).toBe(true);
    await rig.stop();
    await rig.start({ image: { ...image, agentVersion: '5.280.0' } as ImageConfig });
    await expect.poll(() => rig.docker.builds.length).toBe(5);
  });

  test('that is no longer configured is removed', async () => {
    upload('before');
    await rig.start({ image: upload('one') });
    await rig.until('idle');
    await expect.poll(() => readdirSync(join(rig.directory, 'folders'))).toEqual([`${sha256('one')}.tar`]);
  });

  test('that cannot be built is reported with the last lines and the next action', async () => {
    rig.docker.failedTop = [
      { stream: 'Step 3/3 : RUN pip install nump\n' },
      { stream: 'ERROR: No matching distribution found for nump\n' },
      { error: "The command '/bin/sh -c pip install nump' returned a non-zero code: 1" },
    ];
    await rig.start({ image: upload('one') });
    await expect.poll(async () => (await status()).state).toBe('failed');
    expect((await status()).cause).toBe(
      'the image of vision cannot be built: ERROR: No matching distribution found for nump (exit code 1)',
    );
    expect((await status()).output).toEqual([
      'Step 3/3 : RUN pip install nump',
      'ERROR: No matching distribution found for nump',
    ]);
    expect((await rig.status()).slots[0]?.next).toBe(
      'correct the Dockerfile of vision, then run `azp-fleet provision`',
    );
  });

  test('with another sha256 than uploaded is not built', async () => {
    const image = upload('one');
    writeFileSync(join(rig.directory, 'folders', `${sha256('one')}.tar`), 'something else');
    await rig.start({ image });
    await expect.poll(async () => (await status()).state).toBe('failed');
    expect((await status()).cause).toContain('cannot be used');
    expect(rig.docker.builds.length).toBe(1);
  });

  test('is pushed once by the host that builds it for others, and the status has the digest', async () => {
    const push = 'registry.lab:5000/vision/agent:5.279.0-x64-1';
    await rig.start({ image: upload('one', push) });
    await rig.until('idle');
    expect(rig.docker.pushed).toEqual([push]);
    expect((await status()).pushed).toBe(`registry.lab:5000/vision/agent@${(await status()).digest}`);
  });

  test('that cannot be pushed is a failure, but agents of this host run it', async () => {
    rig.docker.fail(/push/, 500, 'denied: requested access to the resource is denied', 1000);
    await rig.start({ image: upload('one', 'registry.lab:5000/vision/agent:1') });
    await expect.poll(async () => (await status()).state).toBe('failed');
    await rig.until('idle');
    expect(imageOf('box-0')).toBe((await status()).digest);
  });
});

describe('an image that another host builds', () => {
  const missing = new FleetError({ code: 'registry.not-found', what: 'none', seen: 'manifest unknown' });
  const plan = () => ({ kind: 'pull', reference: 'registry.lab/agent:1', builtBy: 'h200-1' }) as const;

  function keeper(pull: () => Promise<void>) {
    const clock = new StillClock();
    let isPulled = false;
    const engine: ImageEngine = {
      imageId: () => Promise.resolve(isPulled ? 'sha256:1' : undefined),
      imageLabel: () => Promise.resolve(undefined),
      pull: async () => {
        await pull();
        isPulled = true;
      },
      push: () => Promise.resolve(''),
      build: () => Promise.resolve(''),
    };
    return { clock, images: new ImageKeeper(engine, clock, silentLogger, () => undefined) };
  }

  test('is awaited without a failure, and pulled once it is pushed', async () => {
    const answers = [missing, missing];
    const { images } = keeper(() => {
      const next = answers.shift();
      return next === undefined ? Promise.resolve() : Promise.reject(next);
    });
    await images.ensure(plan);
    expect(images.state).toMatchObject({
      state: 'pulling',
      progress: 'waiting until h200-1 has built and pushed it (manifest unknown)',
    });
    await images.ensure(plan);
    await images.ensure(plan);
    expect(images.state).toMatchObject({ state: 'ready', id: 'sha256:1' });
  });

  test('and that is not pushed within 30 min is a failure that names the host', async () => {
    const { clock, images } = keeper(() => Promise.reject(missing));
    await images.ensure(plan);
    clock.pass(30 * 60_000);
    await images.ensure(plan);
    expect(images.state).toMatchObject({
      state: 'failed',
      cause: { code: 'image.not-pushed', next: 'run `azp-fleet image which h200-1`, which shows the reason' },
    });
  });

  test('and that the registry refuses for another reason is a failure at once', async () => {
    const wrong = new FleetError({ code: 'registry.password', what: 'wrong password' });
    const { images } = keeper(() => Promise.reject(wrong));
    await images.ensure(plan);
    expect(images.state).toMatchObject({ state: 'failed', cause: { code: 'registry.password' } });
  });
});
