// A change that takes agents away goes through a fleet at work: twelve jobs on three hosts, a driver that reboots them, and
// a canary whose GPU does not come back. Real: CLI, SSH, apt, systemd, reboots, Docker, managers. Stand-ins: the GPUs,
// NVIDIA's packages, the agent program, Azure DevOps.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, type Lab } from '../../../practice/lab/lab.ts';
import { startStackLab } from '../../../practice/lab/provisioned.ts';
import { breakAtBoot, repair } from '../support/gpu-fault.ts';
import { startCli } from '../support/cli.ts';
import { ManagedHost, pool, settings, type HeldJob } from '../support/managed-host.ts';

const names = ['w1', 'w2', 'w3'];
const slots = ['0', '1', '2', '3'];
const fourSlots = { agents: 4, share: true };
let lab: Lab;
let azure: LabAzure;
let inventory: string;
let managed: Readonly<Record<string, ManagedHost>>;
beforeAll(async () => {
  await removeLab('waves');
  lab = await startStackLab({
    prefix: 'waves',
    hosts: names.map((name) => ({ name, release: 'bookworm', login: 'root', gpus: ['h200'] })),
  });
  azure = await startAzure('waves', lab.folder);
  inventory = await writeInventory(lab, azure, { defaults: fourSlots });
  managed = Object.fromEntries(names.map((name) => [name, new ManagedHost(lab.host(name), azure)]));
  const { code, stdout, stderr } = await cli('provision', '--yes');
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  for (const name of names) await on(name).are('idle idle idle idle');
});
afterAll(async () => {
  await azure.stop();
  await lab.remove();
});

const cli = (...args: readonly string[]) => azpFleet(lab.folder, [...args, '-i', inventory]);

function on(name: string): ManagedHost {
  const host = managed[name];
  if (host === undefined) throw new Error(`no host ${name}`);
  return host;
}

/** What a change of the driver leaves behind: its packages, and another boot. */
async function traces(host: LabHost): Promise<string> {
  const { stdout } = await host.exec(`dpkg-query -W; cat /proc/sys/kernel/random/boot_id`);
  return stdout;
}

describe('a driver that reboots three hosts with twelve jobs on them', () => {
  let jobs: readonly { readonly host: string; readonly job: HeldJob }[];
  let before: Readonly<Record<string, string>>;

  test('the plan shows the waves', async () => {
    jobs = await Promise.all(
      names.flatMap((host) =>
        slots.map(async (slot) => ({ host, job: await on(host).holdJob(`${host}-${slot}`) })),
      ),
    );
    inventory = await writeInventory(lab, azure, { defaults: { ...fourSlots, driver: { branch: '595' } } });
    const { stdout } = await cli('plan');
    expect(stdout).toContain(`Waves: each starts once the previous is healthy; at most 25% of a pool at a time
  1 canary: w1
  2: w2
  3: w3
`);
  });

  test('--only-harmless leaves it on all hosts and says so: no drain, no change, all jobs continue', async () => {
    const untouched = await Promise.all(lab.hosts.map(traces));
    const { code, stdout, stderr } = await cli('provision', '--only-harmless', '--yes');
    expect(code, `${stdout}\n${stderr}`).toBe(3);
    expect(stdout).toMatch(/ changes? left: /);
    expect(await Promise.all(lab.hosts.map(traces))).toEqual(untouched);
    for (const name of names) expect(await on(name).states()).toBe('busy busy busy busy');
  });

  test('a canary that fails: no job is lost, and nothing behind it is touched', async () => {
    before = Object.fromEntries(
      await Promise.all(lab.hosts.map(async (host) => [host.name, await traces(host)] as const)),
    );
    await breakAtBoot(lab.host('w1'));
    const run = startCli(lab, ['provision', '-i', inventory, '--yes']);
    await run.said(/w1: draining: waiting for slot 0 .*slot 3/);
    const onCanary = jobs.filter(({ host }) => host === 'w1');
    const ended = await Promise.all(onCanary.map(({ job }) => job.end()));
    expect(ended.map((job) => job?.result)).toEqual(slots.map(() => 'succeeded'));

    const { code, stdout, stderr } = await run.done;
    expect(code, stderr).toBe(1);
    expect(stdout).toMatch(/^w2, w3 +skipped +not begun because the canary w1 failed: /m);
    expect(stdout).toMatch(/^w1 +failed +/m);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('its agents stay drained');
    expect(stderr).toMatch(/next +fix w1, then run the same command again/);
    for (const name of ['w2', 'w3']) {
      expect(await traces(lab.host(name))).toBe(before[name]);
      expect(await on(name).states()).toBe('busy busy busy busy');
    }
  });

  test('no job comes to the canary, and status says why', async () => {
    expect(await on('w1').states()).toMatch(/^(drained ?){4}$/);
    const { stdout } = await cli('status', 'w1');
    expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(/drained by run [0-9a-f]{8} of \S+: .*still drained/);
  });

  test('all other jobs come to their end', async () => {
    const others = jobs.filter(({ host }) => host !== 'w1');
    const ended = await Promise.all(others.map(({ job }) => job.end()));
    expect(ended.map((job) => job?.result)).toEqual(others.map(() => 'succeeded'));
    expect((await azure.control.jobs()).map(({ result }) => result)).toEqual(jobs.map(() => 'succeeded'));
  });

  test('run again, it continues: the canary is only proven, the others follow one by one under a stream of jobs', async () => {
    await repair(lab.host('w1'));
    const rebooted = await lab.host('w1').bootId();
    const stream = await azure.control.queue({ pool, script: 'sleep 4; echo done', count: 60 });
    const { code, stdout, stderr } = await cli('provision', '--yes');
    expect(code, `${stdout}\n${stderr}`).toBe(0);
    expect(stdout.replaceAll(/ +/g, ' ')).toContain('0: w1, left drained by an earlier run: verified first');
    expect(stderr).toMatch(/wave 1 \(canary\): w2[^]*wave 2: w3/);
    expect(await lab.host('w1').bootId()).toBe(rebooted);
    for (const { name } of lab.hosts) expect(await traces(lab.host(name))).not.toBe(before[name]);
    const done = await on('w1').finished(stream);
    expect(done.filter(({ result }) => result !== 'succeeded')).toEqual([]);
  });
});

describe('azp-fleet reboot', () => {
  test('waits for the running job, proves the host, and only then gives its agents back', async () => {
    const host = lab.host('w2');
    await expect.poll(on('w2').states, settings).toBe('idle idle idle idle');
    const boot = await host.bootId();
    const job = await on('w2').holdJob('w2-0');
    // It needs no token: the file that the inventory names is not there.
    const withoutToken = await writeInventory(lab, azure, {
      defaults: { ...fourSlots, driver: { branch: '595' } },
      top: { token: { file: `${lab.folder}/no-such-token` } },
      file: `${lab.folder}/reboot.yaml`,
    });
    const run = startCli(lab, ['reboot', 'w2', '-i', withoutToken, '--yes']);
    await run.said(/w2: draining: waiting for slot 0/);
    expect(await host.bootId()).toBe(boot);
    expect(await job.end()).toMatchObject({ result: 'succeeded' });
    const { code, stdout, stderr } = await run.done;
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/^w2 +healthy +1 change; Azure DevOps not checked$/m);
    expect(await host.bootId()).not.toBe(boot);
    await expect.poll(on('w2').states, settings).toBe('idle idle idle idle');
  });

  test('leaves out what was booted a moment ago', async () => {
    const { code, stdout } = await cli('reboot', 'w2', '--booted-before', '1h', '--yes');
    expect(code).toBe(0);
    expect(stdout).toContain('1 host: 1 ok · no changes');
  });
});
