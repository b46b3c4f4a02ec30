// The probe on real engines: the stand-in nvidia-smi fails in every way it can, once reached by the prestart hook
// (Docker 20.10) and once by CDI (Docker 26.1). GPUs, driver and nvidia-smi are stand-ins; engines, runtimes, SSH and
// container start are real.
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { StatusRow } from '../../../src/fleet/status/row.ts';
import { libcudaFile, standInLibcuda } from '../../../practice/lab/nvidia-packages.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { provisionedFleet, type ProvisionedFleet } from '../../../practice/lab/provisioned.ts';
import { until } from '../../../practice/lab/run.ts';
import { occupyGpu } from '../../../practice/lab/host.ts';

const probed = ['hook', 'cdi'] as const;

let fleet: ProvisionedFleet;
beforeAll(async () => {
  fleet = await provisionedFleet();
});
afterAll(async () => {
  for (const host of probed) await fleet.lab.host(host).setGpuFaults([]);
  await until(
    'a healthy fleet',
    async () => {
      const states = (await rows([])).map(({ verdict }) => verdict.state);
      return states.every((state) => state === 'healthy');
    },
    { everyMs: 2000 },
  );
});

async function rows(options: readonly string[]): Promise<readonly StatusRow[]> {
  const { stdout } = await azpFleet(fleet.lab.folder, ['status', fleet.inventory, '--json', ...options]);
  return (JSON.parse(stdout) as { hosts: readonly StatusRow[] }).hosts;
}

type Fault = Parameters<ReturnType<ProvisionedFleet['lab']['host']>['setGpuFaults']>[0][number];

test('without a fault both ways lead to all GPUs', async () => {
  const seen = await rows(['--probe', '--limit', 'hook,cdi']);
  expect(seen.map(({ host, verdict, gpus }) => [host, verdict.state, gpus?.names])).toEqual([
    ['hook', 'healthy', ['NVIDIA H200', 'NVIDIA H200']],
    ['cdi', 'healthy', ['NVIDIA H200']],
  ]);
});

// Before any fault of nvidia-smi: the manager's own check may report one for a minute, and CUDA is the only cause here.
test('CUDA that does not begin is found, though nvidia-smi has nothing to say', async () => {
  for (const host of probed) await fleet.lab.host(host).setGpuFaults([]);
  const answer = (number: number) =>
    Promise.all(
      probed.map((host) => {
        // Written over, not put in its place: a specification is made for the file that is there.
        const input = standInLibcuda(number);
        return fleet.lab.host(host).exec(`cat >${libcudaFile}`, { input });
      }),
    );
  try {
    await answer(802);
    const seen = await rows(['--probe', '--limit', 'hook,cdi']);
    expect(seen.map(({ verdict }) => verdict)).toEqual(
      probed.map(() => ({
        state: 'failed',
        cause: 'CUDA is not ready (error 802): the fabric manager has not connected the GPUs',
        next: expect.stringContaining('systemctl status nvidia-fabricmanager') as string,
      })),
    );
  } finally {
    await answer(0);
  }
});

const severities = { healthy: 'info', degraded: 'warn', failed: 'fail', hung: 'fail' } as const;

test.each<[Fault, string, keyof typeof severities]>([
  ['exit9', 'driver.not-loaded', 'failed'],
  ['exit15 0', 'gpu.lost', 'failed'],
  ['exit18', 'driver.mismatch', 'failed'],
  ['nvml-unknown', 'container.gpu-access', 'failed'],
  ['ecc 0', 'gpu.ecc-uncorrected', 'failed'],
  ['recovery 0', 'gpu.recovery-action', 'failed'],
  ['remap-failure 0', 'gpu.remap-failure', 'failed'],
  ['remap 0', 'gpu.remap-pending', 'degraded'],
  ['unknown 0', 'gpu.value-error', 'degraded'],
  ['hot 0', 'gpu.hot', 'degraded'],
  ['width 0', 'gpu.pcie-width', 'healthy'],
  ['inforom 0', 'gpu.inforom', 'degraded'],
  ['hang', 'smi.hung', 'hung'],
])('%s is reported as %s', async (fault, code, state) => {
  for (const host of probed) await fleet.lab.host(host).setGpuFaults([fault]);
  const seen = await rows(['--probe', '--probe-timeout', '8s', '--limit', 'hook,cdi']);
  for (const { host, findings } of seen) {
    const finding = findings.find((one) => one.code === code);
    expect(finding, `${host}: ${JSON.stringify(findings)}`).toBeDefined();
    expect(finding?.severity).toBe(severities[state]);
  }
});

test('a hung probe leaves no container behind', async () => {
  for (const host of probed) {
    const { stdout } = await fleet.lab.host(host).exec('docker ps -aq --filter label=azp-fleet.kind=probe');
    expect(stdout.trim()).toBe('');
  }
});

test('a GPU that is on the bus and not shown is missed by its address', async () => {
  await fleet.lab.host('hook').setGpuFaults(['missing 1']);
  const [row] = await rows(['--probe', '--limit', 'hook']);
  expect(row?.verdict).toMatchObject({ state: 'failed', cause: expect.stringContaining('0000:3b:00.0') });
});

test('one lost GPU is named, and the other is still judged by itself', async () => {
  const host = fleet.lab.host('hook');
  await host.setGpuFaults(['exit15 0', 'hot 1']);
  const [row] = await rows(['--probe', '--limit', 'hook']);
  expect(row?.findings).toContainEqual(expect.objectContaining({ code: 'gpu.lost', gpu: '0000:18:00.0' }));
  expect(row?.findings).toContainEqual(expect.objectContaining({ code: 'gpu.hot', gpu: host.gpus[1]?.uuid }));
});

test('a process with a report on the other GPU for its name changes nothing about any GPU', async () => {
  const host = fleet.lab.host('hook');
  await host.setGpuFaults([]);
  const forged = `<gpu id="0000${host.gpus[1]?.bus}"><gpu_recovery_action>Reset</gpu_recovery_action></gpu>`;
  const gpuProcess = await occupyGpu(host, 0, 100, {
    name: `</process_name></process_info></processes></gpu>${forged}</nvidia_smi_log>GPU is lost<gpu><processes>`,
  });
  const found = async () => (await rows(['--limit', 'hook']))[0]?.findings ?? [];
  try {
    // The manager's nvidia-smi may hang for a minute since the fault above.
    await until('a check', async () => (await found()).some(({ code }) => code === 'smi.ambiguous'), {
      everyMs: 1000,
    });
    expect((await found()).filter(({ code }) => /^(?:gpu|smi)\./.test(code))).toMatchObject([
      { code: 'smi.ambiguous', severity: 'info' },
    ]);
  } finally {
    await gpuProcess.leave();
  }
});
