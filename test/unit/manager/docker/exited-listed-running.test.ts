// On a full disk dockerd cannot write that a container has exited: its list shows the container as running, while an
// inspection is correct (seen with Docker 20.10). The daemon with a stand-in dockerd.
import { afterEach, beforeEach, expect, test } from 'vitest';

import { createEngine } from '../../../../src/shared/engine/docker.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';
import { fault } from '../../../support/fault.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

const one = { agents: { kind: 'count', count: 1 } } as const;

fault(
  'exit-unlisted',
  'an exited container that is listed as running is collected, and its slot continues',
  async () => {
    await rig.start(one);
    await rig.until('idle', ['0']);
    const { id } = rig.docker.get('box-0') ?? { id: '' };
    rig.beginJob('box-0');
    await rig.until('busy', ['0']);
    rig.docker.say('box-0', '2026-11-21 02:00:02Z: Job train completed with result: Succeeded');
    rig.docker.end('box-0', 0, { isUnwritten: true });
    await expect.poll(() => rig.docker.containers.has(id)).toBe(false);
    await rig.until('idle', ['0']);
  },
);

test('an exit event counts before the list shows it', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const { id } = rig.docker.get('box-0') ?? { id: '' };
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  rig.docker.end('box-0', 0, { isUnwritten: true, isTakenDown: true });
  await expect.poll(() => rig.docker.containers.has(id)).toBe(false);
  await rig.until('idle', ['0']);
});

test('an exited container is collected by the next manager, too', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const { id } = rig.docker.get('box-0') ?? { id: '' };
  await rig.stop();
  rig.docker.end('box-0', 0, { isUnwritten: true });
  await rig.start(one);
  await expect.poll(() => rig.docker.containers.has(id)).toBe(false);
  await rig.until('idle', ['0']);
});

test('a running container whose output stream ends keeps running', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const { id } = rig.docker.get('box-0') ?? { id: '' };
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  rig.docker.breakOff('box-0');
  const inspections = (): number =>
    rig.docker.calls.filter(({ method, path }) => method === 'GET' && path === `/containers/${id}/json`)
      .length;
  await expect.poll(inspections).toBeGreaterThan(0);
  await rig.until('busy', ['0']);
  expect((await createEngine(rig.docker).listOwn()).map((container) => container.id)).toContain(id);
});
