// SIGINT, SIGTERM and SIGHUP, by turns, end provision after each effect that it has on a bare host, and on one whose
// agents run and whose driver and limits change. The next run continues, and gets the next signal after its first new
// effect. Real: the command, its signals, SSH, systemd, apt, dpkg, Docker, the manager. Stand-ins: GPUs and driver, the
// agent program, Azure DevOps.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { cliEnvironment } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { run } from '../../../practice/lab/run.ts';
import { say } from '../../../practice/lab/say.ts';
import { effectsIn, effectsVariable, signalVariable } from '../support/killed-cli/effects.ts';
import { buildKilledCli } from '../support/killed-cli/release.ts';
import type { ManagerStatus } from '../../../src/shared/contract/status.ts';
import { ManagedHost, pool, settings } from '../support/managed-host.ts';
import { release, type Release } from '../support/release.ts';

const prefix = 'interrupt';
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Far more than there are effects. */
const most = 200;

let lab: Lab;
let azure: LabAzure;
let host: LabHost;
let whole: Release;
let interrupted: string;
beforeAll(async () => {
  await removeLab(prefix);
  lab = await startLab({ prefix, hosts: [{ name: 'asked', release: 'trixie', gpus: ['h200'] }] });
  azure = await startAzure(prefix, lab.folder);
  host = lab.host('asked');
  whole = release(lab.folder, 'whole');
  interrupted = join(lab.folder, 'interrupted');
  cpSync(join(lab.folder, 'release-whole'), interrupted, { recursive: true, verbatimSymlinks: true });
  await buildKilledCli(interrupted);
});
afterAll(() => removeLab(prefix));

/** Runs provision until a run completes. Returns the effects after which a run got its signal. */
async function interruptAfterEach(name: string, inventory: string): Promise<readonly string[]> {
  const file = join(lab.folder, `effects-${name}`);
  for (let runs = 1; runs < most; runs += 1) {
    const signal = signals[runs % signals.length] ?? 'SIGINT';
    const boot = await host.bootId();
    const { code, stderr } = await run(
      process.execPath,
      [join(interrupted, 'bin/azp-fleet.js'), 'provision', inventory, '--yes'],
      {
        allowFailure: true,
        cwd: lab.folder,
        env: { ...cliEnvironment(lab.folder), [effectsVariable]: file, [signalVariable]: signal },
        timeoutMs: 600_000,
      },
    );
    const effects = effectsIn(file);
    const last = effects.at(-1) ?? '';
    if (effects.length < runs) {
      expect(code, stderr).toBe(0);
      return effects;
    }
    say(`${signal} after ${last}`);
    if (last === 'reboot') await host.rebooted(boot);
    expect(effects, stderr).toHaveLength(runs);
    expect(code, `${signal} after ${last}:\n${stderr}`).toBe(130);
    expect(await left(), `${signal} after ${last}`).toEqual([]);
  }
  throw new Error(`${most} runs were interrupted and none completed`);
}

/**
 * What an interrupted run must not leave: its lock, and agents that it drained. Those stay drained until a change that continues
 * on the host has ended, and until the next run has proved GPUs after a reboot.
 */
async function left(): Promise<readonly string[]> {
  const { stdout: owner } = await host.exec('cat /run/azp-fleet/lock.owner', { allowFailure: true });
  const { stdout } = await host.exec('cat /run/azp-fleet/status.json', { allowFailure: true });
  const drains = stdout === '' ? [] : (JSON.parse(stdout) as ManagerStatus).drains;
  const reasons = drains
    .map(({ reason }) => reason)
    .filter((reason) => !/; still drained: |^prove the host$/.test(reason));
  return [owner, ...reasons].filter((text) => text !== '');
}

async function expectWorking(inventory: string): Promise<void> {
  const plan = await whole(['plan', inventory], { allowFailure: true });
  expect(plan.code, plan.stdout).toBe(0);
  const managed = new ManagedHost(host, azure);
  const jobs = await azure.control.queue({ pool, script: 'nvidia-smi -L', count: 1, demands: [] });
  expect(await managed.finished(jobs)).toMatchObject([{ result: 'succeeded' }]);
  await expect.poll(managed.states, settings).toMatch(/^(idle ?)+$/);
}

test('a bare host, interrupted after each effect, is provisioned at last', async () => {
  const inventory = await writeInventory(lab, azure, { defaults: { driver: { branch: '580' } } });
  const effects = await interruptAfterEach('bare', inventory);
  say(`interrupted after each of ${effects.length} effects`);
  expect(effects.length).toBeGreaterThan(15);
  await expectWorking(inventory);
});

test('a host with running agents, interrupted after each effect, is changed at last', async () => {
  const defaults = { driver: { branch: '595' }, limits: { memory: '2g' } };
  const inventory = await writeInventory(lab, azure, { defaults });
  const effects = await interruptAfterEach('changed', inventory);
  say(`interrupted after each of ${effects.length} effects`);
  expect(effects.some((effect) => effect.startsWith('POST /v1/drain'))).toBe(true);
  await expectWorking(inventory);
});
