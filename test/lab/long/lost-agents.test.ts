// Agents that end without a word, a worker that is killed, a network that is cut: what is left of them on the server, and
// what the slot makes of it. Real: Docker, systemd, processes and signals, lost packets. Stand-ins: GPUs, the agent
// program (as version 5), and Azure DevOps, whose clock and the manager's are fast: a session lives 15 s.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

import type { AzureClient } from '../../../src/shared/azure/client.ts';
import type { FakeJob } from '../../../practice/azure/control/control.ts';
import { systemClock } from '../../../src/shared/base/clock.ts';
import type { SlotStatus } from '../../../src/shared/contract/status.ts';
import { tokenClient } from '../../support/token-client.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import type { Lab } from '../../../practice/lab/lab.ts';
import { startStackLab } from '../../../practice/lab/provisioned.ts';
import { until } from '../../../practice/lab/run.ts';
import { boxAndBare, ManagedHost, pool, settings } from '../support/managed-host.ts';

const speed = 20;

let lab: Lab;
let azure: LabAzure;
let host: LabHost;
let managed: ManagedHost;
let inventory: string;
let client: AzureClient;
let poolId: number;
beforeAll(async () => {
  lab = await startStackLab({ prefix: 'lost', hosts: [{ name: 'metal', gpus: ['h200', 'h200'] }] });
  host = lab.host('metal');
  azure = await startAzure('lost', lab.folder, { speed });
  managed = new ManagedHost(host, azure);
  inventory = await writeInventory(lab, azure, { hosts: { metal: { agents: boxAndBare } } });
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', inventory, '--yes']);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  const forever = new AbortController().signal;
  client = tokenClient(azure.organization, azure.tokenFile, systemClock(speed), forever);
  poolId = (await client.findPool(pool))?.id ?? 0;
});
afterAll(() => lab.remove());
beforeEach(() => managed.allIdle());

type Name = 'box' | 'bare';

const queue = (slot: Name, script: string): Promise<readonly FakeJob[]> =>
  managed.queue(script, 1, [`Agent.Name -equals metal-${slot}`]);
const entry = async (slot: Name) => client.findAgent(poolId, `metal-${slot}`);
const status = async (name: Name): Promise<SlotStatus | undefined> =>
  (await managed.status()).slots.find(({ slot }) => slot === name);
const newest = async (name: Name) => (await managed.runs()).find(({ slot }) => slot === name);
const logs = async (slot: Name, ...options: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await azpFleet(lab.folder, [
    'logs',
    inventory,
    `metal/${slot}`,
    ...options,
  ]);
  expect(code, stderr).toBe(0);
  return stdout;
};

test.each([
  ['box', 'docker kill metal-box'],
  ['bare', 'systemctl kill --kill-who=main -s KILL azp-fleet-agent-bare.service'],
] as const)(
  '%s: a killed agent leaves its session, and its slot serves again by a new id',
  async (slot, kill) => {
    const before = await entry(slot);
    await host.exec(kill);
    await expect.poll(async () => (await entry(slot))?.id ?? before?.id, settings).not.toBe(before?.id);
    await managed.allIdle();
    const [job] = await managed.finished(await queue(slot, 'true'));
    expect(job).toMatchObject({ result: 'succeeded', runs: [{ agent: `metal-${slot}` }] });
    const killed = (await managed.runs()).find((run) => run.slot === slot && run.exitCode === 137);
    expect(killed).toMatchObject({ cause: { code: 'agent.killed' }, diagnostics: true });
    expect(await logs(slot, '--diag', '--run', killed?.run ?? '')).toMatch(/^==> Agent_[\w-]+\.log of run /);
  },
);

test('while a job waits for a killed agent alone its entry stays: the slot says how long, and then runs the job', async () => {
  const before = await entry('box');
  await client.setAgentEnabled(poolId, before?.id ?? 0, false);
  const jobs = await queue('box', 'true');
  await host.exec('docker kill metal-box');
  const reported = async () => {
    const { code, cause, next } = (await status('box')) ?? {};
    return `${code}: ${cause}; ${next}`;
  };
  await expect
    .poll(reported, { ...settings, interval: 200 })
    .toMatch(
      /^agent\.session-left: .* until \d{4}-[\dT:-]+Z; job \S+ waits for this agent alone; wait at most (?:\d min )?\d+ s;/,
    );
  await client.setAgentEnabled(poolId, before?.id ?? 0, true);
  expect(await managed.finished(jobs)).toMatchObject([{ result: 'succeeded', runs: [expect.anything()] }]);
  expect((await entry('box'))?.id).toBe(before?.id);
});

test('a killed worker: the agent exits, and status and run record say until when the server counts its job', async () => {
  const jobs = await queue('box', 'sleep 600');
  await managed.are('busy idle');
  const written = 'docker exec metal-box sh -c "ls _diag | grep -q Worker_"';
  await until(
    'the log of the worker',
    async () => (await host.exec(written, { allowFailure: true })).code === 0,
  );
  // Not the shell that says so.
  await host.exec("pkill -9 -f '[A]gent[.]Worker'");
  await expect.poll(async () => (await status('box'))?.code, settings).toBe('agent.job-assigned');
  expect((await status('box'))?.cause).toMatch(/gives it up at \d{4}-\d\d-\d\dT[\d:]+Z$/);
  await expect.poll(async () => (await newest('box'))?.unfinished?.until, settings).toMatch(/^\d{4}-.*Z$/);
  expect(await newest('box')).toMatchObject({
    exitCode: 0,
    result: 'failed',
    cause: { code: 'run.result-missing' },
    diagnostics: true,
  });
  expect(await logs('box', '--diag')).toMatch(/==> Agent_[\s\S]*==> Worker_/);
  expect(await managed.finished(jobs)).toMatchObject([{ result: 'abandoned' }]);
});

test('a cut that outlasts the session: the job continues, and is counted once', async () => {
  const before = (await status('box'))?.jobsRun ?? 0;
  const script = 'touch /tmp/begun; until [ -e /tmp/enough ]; do sleep 0.2; done; echo done';
  const [job] = await queue('box', script);
  // Not earlier: what a job needs of the server it fetches first.
  await until('the script to begin', async () => {
    const { code } = await host.exec('docker exec metal-box test -e /tmp/begun', { allowFailure: true });
    return code === 0;
  });
  await host.blackHole(true);
  try {
    await expect.poll(async () => (await entry('box'))?.status, settings).toBe('offline');
  } finally {
    await host.blackHole(false);
  }
  await expect.poll(async () => (await entry('box'))?.status, settings).toBe('online');
  await host.exec('docker exec metal-box touch /tmp/enough');
  const [done] = await managed.finished(job === undefined ? [] : [job]);
  expect(done).toMatchObject({ result: 'succeeded', log: 'done\n', runs: [{ agent: 'metal-box' }] });
  await managed.allIdle();
  expect((await status('box'))?.jobsRun).toBe(before + 1);
  const run = await newest('box');
  expect(run).toMatchObject({ job: 'job', result: 'succeeded', exitCode: 0 });
  expect(run?.cause).toBeUndefined();
  expect(run?.durationS).toBeGreaterThan(10);
});
