// Who is on a GPU beside the jobs, on a real machine: processes, users, control groups, systemd (which kills), containers
// and the manager's sandbox are real. Stand-ins: the GPUs and the list that nvidia-smi has of them, the agent program, Azure
// DevOps.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';

import { type LabHost, type GpuProcess, occupyGpu } from '../../../practice/lab/host.ts';
import { provisionedFleet, type ProvisionedFleet } from '../../../practice/lab/provisioned.ts';
import { ManagedHost, pool, settings } from '../support/managed-host.ts';

let fleet: ProvisionedFleet;
let host: LabHost;
let managed: ManagedHost;
const otherProcesses: GpuProcess[] = [];
beforeAll(async () => {
  fleet = await provisionedFleet();
  host = fleet.lab.host('hook');
  managed = new ManagedHost(host, fleet.azure);
  await managed.allIdle();
});
afterEach(async () => {
  for (const gpuProcess of otherProcesses.splice(0)) await gpuProcess.leave();
});
afterAll(async () => {
  await host.setGpuFaults([]);
  await managed.allIdle();
});

/** A process of another user on a GPU, until the test ends at the latest. */
async function occupy(...asked: Parameters<typeof occupyGpu>): Promise<GpuProcess> {
  const gpuProcess = await occupyGpu(...asked);
  otherProcesses.push(gpuProcess);
  return gpuProcess;
}

const slot = async (name: string) => (await managed.status()).slots.find((each) => each.slot === name);

/** A job on one agent of the host. */
const queue = (name: string, script: string) =>
  fleet.azure.control.queue({ pool, script, demands: [`Agent.Name -equals hook-${name}`] });

const agentOf = async (name: string) => {
  const { pools } = await fleet.azure.control.overview();
  return pools.flatMap(({ agents }) => agents).find((agent) => agent.name === `hook-${name}`);
};

test('a GPU process of another user closes that slot alone, is named whatever nvidia-smi calls it, and keeps running', async () => {
  const gpuProcess = await occupy(host, 0, 15_974, {
    name: 'x, 1 MiB</process_name></process_info> & <gpu>',
  });
  await expect.poll(async () => (await slot('0'))?.state, settings).toBe('waiting');
  const { cause = '', code } = (await slot('0')) ?? {};
  expect([code, cause]).toEqual([
    'gpu.in-use',
    expect.stringMatching(
      new RegExp(
        String.raw`^waits: 15\.6 GiB held by alice, train\.py \(${gpuProcess.pid}\) since \d\d:\d\d$`,
      ),
    ),
  ]);
  expect(await agentOf('0')).toMatchObject({
    enabled: false,
    userCapabilities: { 'azp-fleet.disabled': cause },
  });
  const waiting = await queue('0', 'nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits');
  const [job] = await managed.finished(
    await queue('1', 'nvidia-smi --query-compute-apps=pid --format=csv,noheader; echo alone'),
  );
  expect([job?.result, job?.log.trim()]).toEqual(['succeeded', 'alone']);
  expect((await slot('0'))?.state).toBe('waiting');
  await host.exec(`kill -0 ${gpuProcess.pid}`);
  await gpuProcess.leave();
  const [late] = await managed.finished(waiting);
  expect([late?.result, late?.log.trim()]).toEqual(['succeeded', '0']);
  await managed.allIdle();
});

test('only processes that an ended run left are killed', async () => {
  const [container = ''] = (
    await host.exec('docker ps -q --no-trunc --filter label=azp-fleet.slot=0')
  ).stdout.split('\n');
  await managed.finished(await queue('0', 'true'));
  await managed.allIdle();
  const [left, other] = [await occupy(host, 0, 900), await occupy(host, 1, 0, { login: 'bob' })];
  // As what has fled from a container's processes is still in its control group.
  await host.exec(`base=$(sed -n 's/^[0-9]*:name=systemd://p' /proc/1/cgroup | sed 's|/init.scope$||')
group=/sys/fs/cgroup/systemd$base/docker/${container}
mkdir -p "$group" && echo ${left.pid} >"$group/cgroup.procs"`);
  const isGone = async () => (await host.exec(`kill -0 ${left.pid}`, { allowFailure: true })).code !== 0;
  await expect.poll(isGone, settings).toBe(true);
  await host.exec(`kill -0 ${other.pid}`);
  for (const gpuProcess of otherProcesses.splice(0)) await gpuProcess.leave();
  await managed.allIdle();
});

test('memory without a process closes the slot, and the finding says how to reset the GPU', async () => {
  await host.setGpuFaults(['busy 1']);
  await expect.poll(async () => (await slot('1'))?.code, settings).toBe('gpu.memory-held');
  await expect.poll(managed.states, settings).toBe('idle waiting');
  expect(await slot('1')).toMatchObject({
    cause: expect.stringMatching(/^waits: \d+\.\d GiB held by no visible process$/),
    next: expect.stringContaining(`nvidia-smi --gpu-reset -i ${host.gpus[1]?.uuid}`),
  });
  await host.setGpuFaults([]);
  await managed.allIdle();
});
