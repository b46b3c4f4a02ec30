// The interval of the GPU probes from a container.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

import { Helpers } from '../../../../src/manager/docker/janitor.ts';
import { GpuWatch } from '../../../../src/manager/gpus/watch.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { StillClock } from '../../../support/clock.ts';
import { config } from '../../../support/manager-config.ts';
import { makeMachine, plugInGpu } from '../../../support/rig-folders.ts';
import { printed } from '../../../support/rig-programs.ts';

const directory = mkdtempSync(join(tmpdir(), 'probe-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const healthy = readFileSync('test/fixtures/nvidia-smi/h200-pair-v13.xml', 'utf8');
const minute = 60_000;

/** Creates a host with two GPUs, whose probe containers print this and exit with this code. */
async function host(output: string, code: number) {
  const root = { prefix: mkdtempSync(join(directory, 'root-')) };
  makeMachine(root, join(root.prefix, 'context'));
  for (const address of ['0000:83:00.0', '0000:84:00.0']) plugInGpu(root, address);
  const probes = { count: 0 };
  const engine = {
    imageId: async (id: string) => id,
    listOwn: async () => [],
    version: async () => ({ version: '28.0.0' }),
    info: async () => ({ cdiSpecDirs: [], now: 0 }),
    run: async () => {
      probes.count += 1;
      return { code, output, timedOut: false, isCut: false };
    },
  };
  const clock = new StillClock();
  const value = { gpuOrder: undefined, xids: undefined };
  const tools = {
    engine,
    clock,
    root,
    config: config({}),
    log: silentLogger,
    command: async (program: string) => printed(program === 'sh' ? healthy : ''),
    helpers: new Helpers(),
    history: { widest: () => 16 },
    state: { value, note: async () => undefined, update: async () => undefined },
  };
  const watch = new GpuWatch(tools as unknown as ConstructorParameters<typeof GpuWatch>[0]);
  await watch.check();
  return { clock, probes, watch, probe: () => watch.probe(['sha256:image'], true) };
}

test.each([
  ['half an hour after a good one', healthy, 0, 30 * minute],
  ['a minute after a bad one', 'Failed to initialize NVML: Unknown Error', 255, minute],
])('the next probe starts %s', async (_, output, code, interval) => {
  const { clock, probes, probe } = await host(output, code);
  await probe();
  expect(probes.count).toBe(1);
  clock.pass(interval - 1);
  await probe();
  expect(probes.count).toBe(1);
  clock.pass(1);
  await probe();
  expect(probes.count).toBe(2);
});

test('a difference between host and container degrades the host the second time, and stops no slot', async () => {
  const { clock, probe, watch } = await host(healthy.replace('595.84', '580.95.05'), 0);
  const found = async () => {
    await probe();
    await watch.check();
    return watch.latest?.checkup;
  };
  const codes = (seen: Awaited<ReturnType<typeof found>>) => seen?.findings.map(({ code }) => code);
  expect(codes(await found())).toEqual([]);
  clock.pass(minute);
  const seen = await found();
  expect(codes(seen)).toEqual(['container.driver-differs']);
  expect(seen?.verdict.state).toBe('degraded');
});
