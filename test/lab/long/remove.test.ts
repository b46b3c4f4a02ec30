// A machine that joins the fleet and leaves it again: what is on its disk then is what was on it before, and what differs is
// named with its reason. Real: systemd, apt, Docker Engine, users, routing rules, the manager. Stand-ins: the GPUs, NVIDIA's
// packages, Azure DevOps, the agent program.
import { afterAll, beforeAll, expect, test } from 'vitest';

import { startAzure, type LabAzure } from '../harness/azure.ts';
import { azpFleet } from '../harness/azp-fleet.ts';
import type { LabHost } from '../harness/host.ts';
import { writeInventory } from '../harness/inventory.ts';
import { startLab, type Lab } from '../harness/lab.ts';
import { startCli } from '../support/cli.ts';
import { ManagedHost } from '../support/managed-host.ts';
import { allowList, differences, snapshot, type Snapshot } from '../support/snapshot.ts';

const agents = [
  { name: 'box', gpus: [0] },
  { name: 'bare', gpus: [1], mode: 'host', capabilities: ['compute'] },
];

let lab: Lab;
let azure: LabAzure;
let host: LabHost;
let managed: ManagedHost;
let inventory: string;
let before: Snapshot;
const text = (script: string) =>
  host.exec(script, { allowFailure: true }).then(({ stdout }) => stdout.trim());
const remove = (...more: readonly string[]) =>
  azpFleet(lab.folder, ['remove', 'leaver', '-i', inventory, '--yes', ...more]);
const agentsInPool = async () => {
  const { pools } = await azure.control.overview();
  return pools.find(({ name }) => name === 'gpu-lab')?.agents.map(({ name }) => name) ?? [];
};

beforeAll(async () => {
  lab = await startLab({ prefix: 'leave', hosts: [{ name: 'leaver', gpus: ['h200', 'h200'] }] });
  host = lab.host('leaver');
  azure = await startAzure('leave', lab.folder, { speed: 20 });
  managed = new ManagedHost(host, azure);
  inventory = await writeInventory(lab, azure, { hosts: { leaver: { agents } } });
  before = await snapshot(host);
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', inventory, '--yes']);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
});
afterAll(() => lab.remove());

test('a dry run says what goes, and takes nothing', async () => {
  const { code, stdout } = await azpFleet(lab.folder, ['remove', 'leaver', '-i', inventory, '--dry-run']);
  expect(code).toBe(0);
  expect(stdout).toContain('stop the manager and take its unit away');
  expect(stdout).toContain('release the hold on Docker Engine');
  expect(await text('systemctl is-active azp-fleet-manager')).toBe('active');
});

test('the job that runs ends first; then agents, manager and files are gone, and Docker and driver work on', async () => {
  const job = await managed.holdJob('leaver-box');
  await host.exec('docker run -d --name theirs --entrypoint sleep $(docker image ls -q | head -n 1) 1000');
  const run = startCli(lab, ['remove', 'leaver', '-i', inventory, '--yes']);
  await run.said(/waiting for slot box/);
  expect(await job.end()).toMatchObject({ result: 'succeeded' });
  const { code, stdout, stderr } = await run.done;
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  expect(await agentsInPool()).toEqual([]);
  expect(await text('systemctl list-units --all --plain --no-legend "azp-fleet*"')).toBe('');
  expect(await text('docker ps --format "{{.Names}}"')).toBe('theirs');
  expect(await text('docker network ls --format "{{.Name}}" | grep azp-fleet')).toBe('');
  expect(await text('ip rule show | grep -E "azp-fleet0|uidrange 58"')).toBe('');
  expect(await text('getent passwd | grep azp-agent')).toBe('');
  expect(await text('apt-mark showhold')).toBe('');
  expect(await text('nvidia-smi -L | wc -l')).toBe('2');
});

test('a second time there is nothing to do', async () => {
  const { code, stdout } = await remove();
  expect(code, stdout).toBe(0);
  expect(stdout).toContain('no changes');
});

test('with toolkit, engine and driver the disk is as before, but for what is listed with its reason', async () => {
  await host.exec('docker rm -f theirs');
  const { code, stdout, stderr } = await remove('--toolkit', '--docker', '--driver');
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  const after = await snapshot(host);
  expect(differences(before, after, allowList('allowed-by-remove.txt'))).toEqual([]);
});

test('and provision brings it back', async () => {
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', inventory, '--yes']);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  expect((await agentsInPool()).toSorted()).toEqual(['leaver-bare', 'leaver-box']);
});
