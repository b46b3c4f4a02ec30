import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { tar, untar } from '../../../../src/shared/base/tar.ts';
import { createEngine } from '../../../../src/shared/engine/docker.ts';
import type { Engine, EngineEvent } from '../../../../src/shared/engine/engine.ts';
import { StandInEngine } from '../../../support/docker/engine.ts';

// A stand-in dockerd on a real unix socket; the lab tests run the same client against real ones.
let docker: StandInEngine;
let engine: Engine;

beforeEach(async () => {
  docker = await new StandInEngine().start();
  engine = createEngine({ socketPath: docker.socketPath });
});

afterEach(() => docker.close());

const labels = { 'azp-fleet.kind': 'agent', 'azp-fleet.slot': '0' };

describe('containers', () => {
  test('are created, filled, started, listed by label, and removed', async () => {
    const id = await engine.create('a-0', { Image: 'x', Labels: labels });
    await engine.putArchive(
      id,
      '/azp',
      await tar([{ path: '.agent', content: Buffer.from('{}'), mode: 0o600, uid: 4000 }]),
    );
    await engine.start(id);
    await engine.create('other', { Image: 'x' });
    expect(await engine.listOwn({ 'azp-fleet.slot': '0' })).toMatchObject([
      { id, name: 'a-0', state: 'running' },
    ]);
    const files = await untar(docker.get('a-0')?.archives[0]?.tar ?? Buffer.alloc(0));
    expect(files.get('.agent')?.toString()).toBe('{}');
    await engine.stop(id, 120);
    expect(await engine.exit(id)).toMatchObject({ code: 0, oomKilled: false });
    await engine.remove(id);
    await engine.remove(id);
    expect(await engine.listOwn()).toEqual([]);
  });

  test('a file in them is read, unless it would fill the memory', async () => {
    const id = await engine.create('a-0', { Image: 'x', Labels: labels });
    const container = docker.get('a-0');
    if (container === undefined) throw new Error('not created');
    const holding = (bytes: number) =>
      tar([{ path: '.agent', content: Buffer.alloc(bytes, 'a'), mode: 0o600 }]);
    container.outgoing = await holding(1000);
    const files = await untar(await engine.getArchive(id, '/azp/.agent'));
    expect(files.get('.agent')?.length).toBe(1000);
    container.outgoing = await holding(2 * 1024 * 1024);
    await expect(engine.getArchive(id, '/azp/.agent')).rejects.toMatchObject({
      problem: { code: 'engine.file-too-large', what: expect.stringContaining('/azp/.agent') as string },
    });
  });

  test('stopping a missing container is no error', async () => {
    await expect(engine.stop('nothing', 1)).resolves.toBeUndefined();
  });

  test('their output is read to the last line, also when it has no end of line', async () => {
    const id = await engine.create('a-0', { Image: 'x', Labels: labels });
    await engine.start(id);
    docker.say('a-0', 'one');
    docker.say('a-0', 'två');
    expect(await engine.logs(id, 1)).toBe('två\n');
    const seen: string[] = [];
    const reading = (async () => {
      for await (const line of engine.followLogs(id, new AbortController().signal)) {
        seen.push(line);
        if (line === 'three') docker.end('a-0', 0);
        if (line === 'två') docker.say('a-0', 'three');
      }
    })();
    await reading;
    expect(seen).toEqual(['one', 'två', 'three']);
  });

  test('a running one is not removed as exited, also if the list was wrong', async () => {
    const id = await engine.create('a-0', { Image: 'x', Labels: labels });
    await engine.start(id);
    expect(await engine.removeUnlessRunning(id)).toBe('running');
    docker.pause('a-0');
    expect(await engine.removeUnlessRunning(id)).toBe('running');
    expect(docker.get('a-0')?.state).toBe('paused');
    docker.end('a-0', 0);
    expect(await engine.removeUnlessRunning(id)).toBe('removed');
    expect(await engine.removeUnlessRunning(id)).toBe('removed');
    expect(docker.containers.size).toBe(0);
  });

  test('one whose removal is in progress is neither gone nor running', async () => {
    const id = await engine.create('a-0', { Image: 'x', Labels: labels });
    docker.beginRemoval('a-0');
    expect(await engine.removeUnlessRunning(id)).toBe('removing');
    expect(await engine.remove(id)).toBe('removing');
    docker.endRemoval('a-0');
    expect(await engine.remove(id)).toBe('removed');
  });

  test('run returns code and output and removes the container', async () => {
    docker.onStart = ({ id }) => {
      docker.say(id, 'GPU 0');
      setImmediate(() => docker.end(id, 7));
    };
    expect(await engine.run('a-probe', { Image: 'x', Labels: labels }, 180_000)).toEqual({
      code: 7,
      output: 'GPU 0\n',
      timedOut: false,
      isCut: false,
    });
    expect(docker.containers.size).toBe(0);
  });

  test('a run with endless output keeps its last lines and is marked as cut', async () => {
    docker.onStart = ({ id }) => {
      for (let line = 0; line < 50_001; line += 1) docker.say(id, String(line));
      setImmediate(() => docker.end(id, 0));
    };
    const { output, isCut } = await engine.run('a-probe', { Image: 'x' }, 180_000);
    expect(isCut).toBe(true);
    expect(output).toMatch(/^1\n[^]*\n50000\n$/);
  });

  test('a run past its deadline is removed and returns what it wrote', async () => {
    docker.onStart = ({ id }) => docker.say(id, 'hangs');
    expect(await engine.run('a-probe', { Image: 'x' }, 50)).toEqual({
      code: -1,
      output: 'hangs\n',
      timedOut: true,
      isCut: false,
    });
    expect(docker.containers.size).toBe(0);
  });
});

describe('events', () => {
  test('of our containers arrive, and the stream ends with the engine', async () => {
    const seen: EngineEvent[] = [];
    const listening = (async () => {
      for await (const event of engine.events(new AbortController().signal)) seen.push(event);
    })().catch((error: unknown) => error);
    await expect.poll(() => docker.calls.some(({ path }) => path === '/events')).toBe(true);
    const id = await engine.create('a-0', { Image: 'x', Labels: labels });
    await engine.start(id);
    docker.end('a-0', 137);
    await expect.poll(() => seen.map(({ action }) => action)).toEqual(['create', 'start', 'die']);
    await docker.stop();
    await listening;
    await docker.start();
  });
});

describe('images', () => {
  test('absent, built, found, removed', async () => {
    expect(await engine.imageId('azp-fleet/agent:1')).toBeUndefined();
    const progress: string[] = [];
    const id = await engine.build(
      Buffer.alloc(1024),
      { tag: 'azp-fleet/agent:1', args: { BASE: 'x' }, labels: { 'azp-fleet.kind': 'image' } },
      (line) => progress.push(line),
    );
    expect(progress).toEqual(['Step 1/1 : FROM scratch']);
    expect(await engine.imageId('azp-fleet/agent:1')).toBe(id);
    expect(await engine.listOwnImages()).toMatchObject([{ id, tags: ['azp-fleet/agent:1'] }]);
    await engine.removeImage(id);
    expect(await engine.imageId('azp-fleet/agent:1')).toBeUndefined();
  });

  test('an image in use is not removed, and the error of the engine is kept', async () => {
    const { id } = docker.addImage('azp-fleet/agent:1', { 'azp-fleet.kind': 'image' });
    await engine.create('a-0', { Image: id, Labels: labels });
    await expect(engine.removeImage(id)).rejects.toMatchObject({ problem: { code: 'engine.conflict' } });
  });
});

describe('failures', () => {
  const cases: readonly (readonly [message: string, code: string])[] = [
    ['could not select device driver "" with capabilities: [[gpu]]', 'engine.no-gpu-driver'],
    ['failed to discover GPU vendor from CDI: no known GPU vendor found', 'engine.no-gpu-driver'],
    ['CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=all', 'engine.cdi-stale'],
    ['nvidia-container-cli: initialization error: nvml error: driver not loaded', 'engine.driver-not-loaded'],
    ['nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8', 'engine.cuda-too-new'],
    ['nvidia-container-cli: device error: GPU-1: unknown device', 'engine.gpu-unknown'],
    ['write /x: no space left on device', 'engine.disk-full'],
    ['something else', 'engine.failed'],
  ];
  test.each(cases)('%s', async (message, code) => {
    const id = await engine.create('a-0', { Image: 'x', Labels: labels });
    docker.fail(/POST .*start/, 500, message);
    const error = await engine.start(id).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(FleetError);
    expect(error).toMatchObject({ problem: { code } });
  });

  test('a stopped engine differs from one that refuses', async () => {
    await docker.stop();
    await expect(engine.listOwn()).rejects.toMatchObject({
      problem: { code: 'engine.unreachable', next: 'check it with: systemctl status docker' },
    });
    await docker.start();
  });

  test('a name in use', async () => {
    await engine.create('a-0', { Image: 'x', Labels: labels });
    await expect(engine.create('a-0', { Image: 'x' })).rejects.toMatchObject({
      problem: {
        code: 'engine.conflict',
        what: 'another container has the name a-0',
        next: expect.stringContaining('docker ps -a --filter name=^/a-0$') as string,
      },
    });
  });

  test('an image that is gone', async () => {
    await expect(engine.create('a-0', { Image: 'sha256:gone' })).rejects.toMatchObject({
      problem: { code: 'engine.no-image', seen: expect.stringContaining('No such image') as string },
    });
  });
});
