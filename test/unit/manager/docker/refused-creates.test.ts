// Docker refuses to create a slot's container. The daemon with a stand-in dockerd.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createEngine } from '../../../../src/shared/engine/docker.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create(500);
});
afterEach(() => rig.close());

const one = { agents: { kind: 'count', count: 1 } } as const;
const imageOf = (name: string): string | undefined => rig.docker.get(name)?.body.Image;

/** `docker image rm -f`: the containers of the image stay. */
function removeImage(id: string | undefined): void {
  const left = rig.docker.images.filter((image) => image.id !== id);
  rig.docker.images.splice(0, rig.docker.images.length, ...left);
}

test('the name is in use: the status says how to free it, and the slot starts when it is free', async () => {
  const engine = createEngine({ socketPath: rig.docker.socketPath });
  const other = await engine.create('box-0', { Image: 'x' });
  await rig.start(one);
  await expect.poll(async () => (await rig.slot('0')).code).toBe('engine.conflict');
  const slot = await rig.slot('0');
  expect(slot.cause).toContain(`already in use by container "${other}"`);
  expect(slot.next).toContain('docker ps -a --filter name=^/box-0$');
  await engine.remove(other);
  await rig.until('idle', ['0']);
});

test('the previous image was removed after the newest was rejected: the newest is tried again', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const previous = imageOf('box-0');
  await rig.stop();
  const newest = rig.docker.addImage('registry.example/agent:2');
  rig.docker.onStart = (container) =>
    container.body.Image === newest.id ? rig.docker.end(container.id, 127) : rig.listen(container);
  await rig.start({ ...one, image: { kind: 'registry', reference: newest.reference } });
  await expect.poll(async () => (await rig.status()).problems[0]?.code).toBe('image.rejected');
  await expect.poll(() => imageOf('box-0')).toBe(previous);
  await rig.until('idle', ['0']);
  rig.docker.onStart = (container) => rig.listen(container);
  removeImage(previous);
  rig.docker.end('box-0', 0);
  await expect.poll(() => imageOf('box-0')).toBe(newest.id);
  await rig.until('idle', ['0']);
  expect((await rig.status()).problems).toEqual([]);
});
