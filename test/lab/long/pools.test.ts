// One machine with agents in two pools and two images. Real: systemd, sshd, apt, Docker Engine, the manager, the protocol
// of the agents. Stand-ins: the GPUs and NVIDIA's packages, Azure DevOps, the agent program, the mirror and the registry.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { registry } from '../../../practice/lab/paths.ts';
import type { Output } from '../../../practice/lab/run.ts';
import { ManagedHost, settings } from '../support/managed-host.ts';

const prefix = 'pools';
const teamImage = `${registry}/team/training:7`;

let lab: Lab;
let host: LabHost;
let azure: LabAzure;
let managed: ManagedHost;

beforeAll(async () => {
  lab = await startLab({ prefix, hosts: [{ name: 'box', release: 'bookworm', gpus: ['h200', 'h200'] }] });
  host = lab.host('box');
  azure = await startAzure(prefix, lab.folder, { speed: 20 });
  managed = new ManagedHost(host, azure);
});
afterAll(() => removeLab(prefix));

type Slot = Readonly<Record<string, unknown>>;

/** The machine's pool is a pattern; each slot has a GPU. */
async function fleet(
  command: string,
  first: Slot,
  second: Slot,
  ...options: readonly string[]
): Promise<Output> {
  const inventory = await writeInventory(lab, azure, {
    pool: '{arch}-cuda{cuda}',
    defaults: {
      agents: [
        { name: 'a', gpus: [0], ...first },
        { name: 'b', gpus: [1], ...second },
      ],
    },
    file: join(lab.folder, 'inventory.yaml'),
  });
  return azpFleet(lab.folder, [command, inventory, ...options]);
}

/** Of every pool but the service's own. */
async function agents(): Promise<readonly string[]> {
  const { pools } = await azure.control.overview();
  return pools
    .filter(({ name }) => name !== 'Azure Pipelines')
    .flatMap(({ name, agents: each }) => each.map((agent) => `${name}/${agent.name} ${agent.status}`))
    .sort();
}

async function job(pool: string): Promise<object | undefined> {
  const jobs = await azure.control.queue({
    pool,
    script: 'echo "made by ${MADE_BY:-azp-fleet}"; nvidia-smi -L',
  });
  const [done] = await managed.finished(jobs);
  return done;
}

test('before the driver is there, the plan announces what its CUDA names, and what the inventory names alone', async () => {
  const { code, stdout } = await fleet('plan', {}, { pool: 'gpu-training' });
  expect(code, stdout).toBe(3);
  expect(stdout).toContain('+ create agent pool gpu-training');
  expect(stdout).toContain('? create agent pool x64-cuda{cuda} if there is none, and permit its use');
  expect(stdout).toMatch(
    /\? manager +write the manager's configuration\n[^?]*\+ registers \S+ in pool x64-cuda\{cuda\}/,
  );
});

test('a bare machine comes to have agents in both pools, and a second plan has nothing to do', async () => {
  const { code, stdout, stderr } = await fleet('provision', {}, { pool: 'gpu-training' }, '--yes');
  expect(code, stderr).toBe(0);
  expect(stdout).toContain('healthy');
  expect(await agents()).toEqual(['gpu-training/box-b online', 'x64-cuda13.0/box-a online']);
  const again = await fleet('plan', {}, { pool: 'gpu-training' });
  expect(again.code, again.stdout).toBe(0);
});

test('one slot gets another image from the registry, the other slot keeps the built one', async () => {
  const { stdout: built } = await host.exec(
    'docker images --filter label=azp-fleet.kind=image --format "{{.Repository}}:{{.Tag}}" | grep azp-fleet/agent',
  );
  const [base = ''] = built.trim().split('\n');
  await host.exec(
    `printf 'FROM ${base}\\nENV MADE_BY=team\\nLABEL azp-fleet.kind=\\n' | docker build -q -t ${teamImage} - && docker push ${teamImage} && docker rmi ${teamImage}`,
  );
  const { code, stderr } = await fleet('provision', {}, { pool: 'gpu-training', image: teamImage }, '--yes');
  expect(code, stderr).toBe(0);
  await managed.allIdle();
  expect(await job('x64-cuda13.0')).toMatchObject({
    result: 'succeeded',
    log: expect.stringMatching(/^made by azp-fleet\nGPU 0: /),
    runs: [{ agent: 'box-a' }],
  });
  expect(await job('gpu-training')).toMatchObject({
    result: 'succeeded',
    log: expect.stringMatching(/^made by team\nGPU 0: /),
    runs: [{ agent: 'box-b' }],
  });
  await managed.allIdle();
  const status = await azpFleet(lab.folder, ['status', join(lab.folder, 'inventory.yaml'), '--json']);
  const { hosts } = JSON.parse(status.stdout) as { hosts: readonly object[] };
  expect(hosts).toMatchObject([
    {
      azure: { registered: 2, online: 2 },
      slots: [
        { slot: 'a', pool: 'x64-cuda13.0', image: base },
        { slot: 'b', pool: 'gpu-training', image: teamImage },
      ],
    },
  ]);
  const again = await fleet('plan', {}, { pool: 'gpu-training', image: teamImage });
  expect(again.code, again.stdout).toBe(0);
});

test('a slot that moves leaves no agent in the pool that it was in', async () => {
  const { code, stderr } = await fleet('provision', {}, { pool: 'gpu-{host}', image: teamImage }, '--yes');
  expect(code, stderr).toBe(0);
  await expect.poll(agents, settings).toEqual(['gpu-box/box-b online', 'x64-cuda13.0/box-a online']);
  expect(await job('gpu-box')).toMatchObject({ result: 'succeeded', runs: [{ agent: 'box-b' }] });
  expect((await fleet('plan', {}, { pool: 'gpu-{host}', image: teamImage })).code).toBe(0);
});

test('status says how many jobs may run at once', async () => {
  await azure.control.limitJobs(1);
  const { stdout } = await azpFleet(lab.folder, ['status', join(lab.folder, 'inventory.yaml')]);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain('2 agents, 1 permitted parallel job of private projects');
});
