// A driver is being changed, and the run that changes it goes: by Ctrl-C, by SIGKILL, by a terminal that is closed. No job
// may start beside it, and the next run takes it up. Real: CLI, SSH, apt, systemd, the reboot, Docker, the manager.
// Stand-ins: the GPUs, NVIDIA's packages, the agent program, Azure DevOps.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { until } from '../../../practice/lab/run.ts';
import { startCli, type CliRun } from '../support/cli.ts';
import { ManagedHost, pool } from '../support/managed-host.ts';

let lab: Lab;
let azure: LabAzure;
let host: LabHost;
let managed: ManagedHost;
let inventory: string;
beforeAll(async () => {
  await removeLab('cutchange');
  lab = await startLab({
    prefix: 'cutchange',
    hosts: [{ name: 'c', release: 'bookworm', login: 'sudo', gpus: ['h200'] }],
  });
  azure = await startAzure('cutchange', lab.folder);
  host = lab.host('c');
  managed = new ManagedHost(host, azure);
  inventory = await writeInventory(lab, azure);
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', inventory, '--yes']);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  await managed.are('idle');
  inventory = await writeInventory(lab, azure, { defaults: { driver: { branch: '595' } } });
  // dpkg waits as it does on a slow disk; a DKMS build takes as long.
  await host.exec(`echo 'DPkg::Pre-Invoke { "touch /root/reached; while [ -e /root/slow ]; do sleep 0.2; done"; };' \
>/etc/apt/apt.conf.d/99lab-slow
touch /root/slow`);
});
afterAll(async () => {
  await azure.stop();
  await lab.remove();
});

/** The unit of the change that continues; undefined: none does. */
async function unit(): Promise<string | undefined> {
  const { stdout } = await host.exec(
    'systemctl list-units --plain --no-legend --state=running "azp-fleet-change-*" | cut -d " " -f 1',
  );
  return stdout.trim() === '' ? undefined : stdout.trim();
}

const provision = (): CliRun => startCli(lab, ['provision', inventory, '--yes']);
const words = (text: string): string => text.replaceAll(/\s+/g, ' ');

async function mark(): Promise<string | undefined> {
  const { drains } = await managed.status();
  return drains.find(({ run }) => run !== undefined)?.reason;
}

/** The change continues, the host is drained by a run, and what waits for an agent still waits. */
async function expectAside(name: string): Promise<void> {
  expect(await unit()).toBe(name);
  expect(await managed.states()).toBe('drained');
  expect(await managed.containers()).toEqual([]);
  expect(await mark()).toBeDefined();
  expect(await azure.control.jobs()).toMatchObject([{ state: 'waiting' }]);
}

describe('a driver that is being changed', () => {
  let name = '';

  test('Ctrl-C: the change continues and is named, no job comes to the host', async () => {
    const first = provision();
    await until('the change to be at work', async () => {
      const { code } = await host.exec('test -e /root/reached', { allowFailure: true });
      return code === 0;
    });
    name = (await unit()) ?? '';
    await azure.control.queue({ pool, script: 'nvidia-smi -L' });
    first.child.kill('SIGINT');
    const { code, stdout, stderr } = await first.done;
    expect(code, stderr).toBe(130);
    expect(words(stdout)).toMatch(
      new RegExp(
        `c interrupted .*interrupted during ".*", which continues on the host as ${name}; run again to follow it`,
      ),
    );
    expect(stderr).toContain('its agents stay drained: ');
    expect(await mark()).toContain(name);
    await expectAside(name);
  });

  test('status says that the run is gone, what continues, and what to do', async () => {
    const { stdout } = await azpFleet(lab.folder, ['status', inventory]);
    expect(words(stdout)).toMatch(
      /drained by run [0-9a-f]{8} of \S+: .*; interrupted, and its ".*" still runs/,
    );
    expect(words(stdout)).toContain(`still drained: the run ended before ${name}, since`);
    expect(words(stdout)).toContain('run "azp-fleet provision c": it waits for that, checks the host');
    await expectAside(name);
  });

  test('the next run follows it, and may be killed or lose its terminal as well', async () => {
    const killed = provision();
    await killed.said(/still runs on the host: waiting for its end/);
    killed.child.kill('SIGKILL');
    await killed.done;
    await expectAside(name);

    const closed = provision();
    await closed.said(/still runs on the host: waiting for its end/);
    closed.child.kill('SIGHUP');
    expect((await closed.done).code).toBe(130);
    expect(words(closed.stderr())).toContain(`continues on the host as ${name}; run again to follow it`);
    await expectAside(name);
  });

  test('the last one takes up its end, reboots, proves, and the job comes', async () => {
    const last = provision();
    await last.said(/still runs on the host: waiting for its end/);
    await host.exec('rm /root/slow');
    const { code, stdout, stderr } = await last.done;
    expect(code, `${stdout}\n${stderr}`).toBe(0);
    expect(stdout).toContain('1 host: 1 healthy');
    expect(stderr).toContain('takes over from an interrupted run: whole host drained by run ');
    const { stdout: version } = await host.exec(
      'nvidia-smi --query-gpu=driver_version --format=csv,noheader',
    );
    expect(version).toContain('595.');
    expect(await mark()).toBeUndefined();
    expect(await managed.finished(await azure.control.jobs())).toMatchObject([{ result: 'succeeded' }]);
  });
});
