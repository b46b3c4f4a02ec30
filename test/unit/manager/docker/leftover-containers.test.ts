import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createEngine } from '../../../../src/shared/engine/docker.ts';
import { helperLabels, isOverdue } from '../../../../src/shared/engine/helpers.ts';
import { probeHost, probeName } from '../../../../src/shared/health/probe.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';

// The daemon with a fake Azure DevOps server and a stand-in dockerd, both over real sockets; what nvidia-smi prints is
// a file's text.
let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

const listing = readFileSync('test/fixtures/nvidia-smi/h200-pair-v13.xml', 'utf8');
const names = (): string[] => [...rig.docker.containers.values()].map(({ name }) => name).sort();

/** Adds a running container of another process. */
async function addLeftover(name: string, labels: Record<string, string>): Promise<string> {
  const engine = createEngine({ socketPath: rig.docker.socketPath });
  const id = await engine.create(name, { Image: 'x', Labels: labels });
  await engine.start(id);
  return id;
}

describe('a leftover container of a killed manager', () => {
  test("is removed at the next start; another user's probe stays", async () => {
    await addLeftover(probeName('box'), helperLabels('probe', 'box', 60_000));
    await addLeftover('box-0-config', { ...helperLabels('config', 'box', 120_000), 'azp-fleet.slot': '0' });
    await addLeftover(probeName('box', '1a2b3c4d'), helperLabels('probe', 'box', 60_000));
    await rig.start();
    await rig.until('idle');
    await expect.poll(names).toEqual(['azp-fleet-probe-box-1a2b3c4d', 'box-0', 'box-1']);
  });

  test('from a probe does not prevent the next probe', async () => {
    rig.plugIn('0000:83:00.0');
    rig.plugIn('0000:84:00.0');
    rig.programs.set('sh', { code: 0, output: listing, timedOut: false, stillRunning: () => false });
    await rig.start();
    const probe = () => rig.docker.get('azp-fleet-probe-box')?.id;
    await expect.poll(probe).toBeDefined();
    const first = probe();
    await rig.stop();
    expect(probe()).toBe(first);
    await rig.start();
    await expect.poll(() => probe() !== undefined && probe() !== first).toBe(true);
  });

  test('is removed in the next round when Docker failed to', async () => {
    rig.docker.fail(/^DELETE /, 500, 'device or resource busy');
    await addLeftover(probeName('box'), helperLabels('probe', 'box', 60_000));
    await rig.start();
    await expect.poll(() => rig.docker.get('azp-fleet-probe-box')).toBeUndefined();
    await expect
      .poll(() => rig.logged.map(({ message }) => message))
      .toEqual(
        expect.arrayContaining(['a leftover container could not be removed', 'removed a leftover container']),
      );
  });
});

const hostSide = { kind: 'unknown', why: 'not of these tests' } as const;

test('without a manager the next probe removes it', async () => {
  rig.docker.onStart = ({ id }) => {
    for (const line of listing.split('\n')) rig.docker.say(id, line);
    setImmediate(() => rig.docker.end(id, 0));
  };
  const engine = createEngine({ socketPath: rig.docker.socketPath });
  const id = await addLeftover(probeName('box', 'old'), helperLabels('probe', 'box', 60_000));
  const container = rig.docker.containers.get(id);
  if (container !== undefined) rig.docker.containers.set(id, { ...container, created: 1 });
  await addLeftover(probeName('box', 'other'), helperLabels('probe', 'box', 60_000));
  await addLeftover(probeName('box', 'mine'), helperLabels('probe', 'box', 60_000));
  const { verdict } = await probeHost(engine, {
    name: probeName('box', 'mine'),
    host: 'box',
    images: ['registry.example/agent:1'],
    cdiSpec: false,
    hostSide,
    expected: { pci: ['0000:83:00.0', '0000:84:00.0'] },
  });
  expect(verdict.state).toBe('healthy');
  expect(names()).toEqual(['azp-fleet-probe-box-other']);
});

test('a probe uses the next image if no container starts on the first', async () => {
  rig.docker.addImage('registry.example/agent:2');
  rig.docker.onStart = ({ id }) => {
    for (const line of listing.split('\n')) rig.docker.say(id, line);
    setImmediate(() => rig.docker.end(id, 0));
  };
  const expected = { pci: ['0000:83:00.0', '0000:84:00.0'] };
  const probe = (...images: readonly string[]) =>
    probeHost(createEngine({ socketPath: rig.docker.socketPath }), {
      name: probeName('box'),
      host: 'box',
      images,
      cdiSpec: false,
      hostSide,
      expected,
    });
  const tooNew = 'requirement error: unsatisfied condition: cuda>=13.2';
  rig.docker.fail(/POST .*\/start/, 500, tooNew, 1);
  const { verdict } = await probe('registry.example/agent:2', 'gone', 'registry.example/agent:1');
  expect(verdict.state).toBe('healthy');
  rig.docker.fail(/POST .*\/start/, 500, tooNew, 1);
  const only = await probe('registry.example/agent:2', 'registry.example/agent:2');
  expect(only.findings).toMatchObject([{ code: 'engine.cuda-too-new' }]);
});

describe('a probe whose nvidia-smi hangs in the kernel', () => {
  const probe = (deadlineMs = 50) =>
    probeHost(createEngine({ socketPath: rig.docker.socketPath }), {
      name: probeName('box', 'mine'),
      host: 'box',
      images: ['registry.example/agent:1'],
      cdiSpec: false,
      hostSide,
      expected: { pci: ['0000:83:00.0'] },
      deadlineMs,
    });
  beforeEach(() => {
    rig.docker.fail(/^DELETE \/containers/, 500, 'could not kill container', 100);
  });

  test('the hang is reported, and no second probe is started', async () => {
    expect((await probe()).verdict.state).toBe('hung');
    const { calls } = rig.docker;
    const made = () => calls.filter(({ path }) => path.startsWith('/containers/create')).length;
    expect(made()).toBe(1);
    const { verdict } = await probe();
    expect(verdict.state).toBe('hung');
    expect(verdict.cause).toMatch(/^nvidia-smi in a container does not answer/);
    expect(made()).toBe(1);
  });

  test('that has exited and cannot be removed is an error of the engine', async () => {
    rig.docker.onStart = ({ id }) => setImmediate(() => rig.docker.end(id, 0));
    const { findings } = await probe(180_000);
    expect(findings).toMatchObject([{ code: 'engine.failed' }]);
    expect((await probe(180_000)).findings).toMatchObject([{ code: 'engine.failed' }]);
  });
});

test.each([
  ['within its lifetime plus a minute', { 'azp-fleet.lifetime': '60' }, 120, false],
  ['after that', { 'azp-fleet.lifetime': '60' }, 121, true],
  ['without a lifetime, within 10 min', {}, 600, false],
  ['without a lifetime, after 10 min', {}, 601, true],
])('a helper container %s', (_, labels, ageS, overdue) => {
  const container = { id: 'c', name: 'n', state: 'running' as const, labels, image: 'i', created: 1000 };
  expect(isOverdue(container, (1000 + ageS) * 1000)).toBe(overdue);
});
