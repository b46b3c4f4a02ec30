// The manager's unit on a real machine that boots cold: systemd, its sandbox, capabilities, device files and the kernel
// log are real. Stand-ins: the GPUs and the kernel's NVIDIA module (practice/images/cold), the agent, Azure DevOps.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { startLab, type Lab } from '../../../practice/lab/lab.ts';
import { labFiles } from '../../../practice/lab/paths.ts';
import { until } from '../../../practice/lab/run.ts';
import { ManagedHost, pool, program, settings } from '../support/managed-host.ts';

/** Address of the second GPU, which slot 1 has. */
const bus = '0000:3b:00.0';

/** All machines of the lab have one kernel log: what the test writes there is for this one, and not for a later run. */
const mark = `lab-cold-${process.pid}`;
const ownLines = `#!/bin/bash
exec sed -u 's/${mark} NVRM: /NVRM: /' < <(exec dmesg.kernel "$@" 2>/dev/null)
`;

let lab: Lab;
let azure: LabAzure;
let host: LabHost;
let managed: ManagedHost;
beforeAll(async () => {
  lab = await startLab({ prefix: 'cold', hosts: [{ name: 'cold', gpus: ['h200', 'h200'] }] });
  host = lab.host('cold');
  await host.exec(
    'mv /usr/bin/dmesg /usr/bin/dmesg.kernel; cat > /usr/bin/dmesg; chmod 0755 /usr/bin/dmesg',
    {
      input: ownLines,
    },
  );
  azure = await startAzure('cold', lab.folder);
  managed = new ManagedHost(host, azure);
  const { code, stdout, stderr } = await azpFleet(lab.folder, [
    'provision',
    await writeInventory(lab, azure),
    '--yes',
  ]);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
});
afterAll(() => lab.remove());

test('the score of systemd-analyze is the one that docs/systemd-unit.md names', async () => {
  const { stdout } = await host.exec('systemd-analyze security azp-fleet-manager.service --no-pager');
  const [, score, word] = /overall exposure level.*: (\S+) (\w+)/i.exec(stdout) ?? [];
  const page = readFileSync('docs/systemd-unit.md', 'utf8');
  const [, documented, documentedWord] = /gives it ([\d.]+) \("(\w+)"\) on Debian 12/.exec(page) ?? [];
  expect(`${score} ${word}`).toBe(`${documented} ${documentedWord}`);
});

test('after a cold boot the manager itself has the driver loaded, and sees GPUs, kernel log and Docker', async () => {
  const install = async (file: string, path: string): Promise<void> => {
    await host.exec(`cat > ${path} && chmod 0755 ${path}`, { input: readFileSync(labFiles('cold', file)) });
  };
  await install('kernel', '/usr/local/sbin/lab-kernel');
  await install('kernel.service', '/etc/systemd/system/lab-kernel.service');
  await install('nvidia-modprobe', '/usr/bin/nvidia-modprobe');
  await install('smi-front', '/root/smi-front');
  // No other program loads the driver or checks GPUs.
  await host.exec(`set -e
sed -i '1r /root/smi-front' /usr/bin/nvidia-smi
systemctl mask nvidia-boot.service nvidia-persistenced.service nvidia-cdi-refresh.service nvidia-cdi-refresh.path
systemctl enable lab-kernel`);
  // Stopped, not killed by the reboot: a session that is left behind blocks its name for five minutes.
  await host.exec(
    'systemctl stop azp-fleet-manager; docker stop $(docker ps -q --filter label=azp-fleet.kind=agent)',
  );
  await host.reboot();
  await managed.allIdle();
  expect((await host.exec('sort -u /run/lab-kernel.log')).stdout).toBe('azp-fleet-manager.service\n');
  expect((await host.exec('ls /dev/nvidia*')).stdout.trim().split('\n')).toEqual([
    '/dev/nvidia-uvm',
    '/dev/nvidia0',
    '/dev/nvidia1',
    '/dev/nvidiactl',
  ]);
  // The check that found no /dev/nvidia-uvm created it.
  await expect.poll(async () => (await managed.status()).health.state, settings).toBe('healthy');
  const { health, problems } = await managed.status();
  expect([health.findings, problems]).toEqual([[], []]);
  const [job] = await managed.finished(
    await azure.control.queue({ pool, script: 'nvidia-smi -L', count: 1 }),
  );
  expect(job?.log).toMatch(/^GPU 0: NVIDIA H200/);
});

test('a fatal error in the kernel log closes the slot within seconds, and a repair mark opens it', async () => {
  await managed.allIdle();
  const checkedAt = async (): Promise<number> => Date.parse((await managed.status()).health.checkedAt ?? '');
  const codes = async (): Promise<readonly string[]> =>
    (await managed.status()).health.findings.map(({ code }) => code);
  const before = await checkedAt();
  const fresh = await until('the next check', async () => {
    const at = await checkedAt();
    return at > before && at;
  });
  await host.exec(
    `echo '${mark} NVRM: Xid (PCI:${bus.slice(0, -2)}): 79, GPU has fallen off the bus.' > /dev/kmsg`,
  );
  await until('the XID to be found', async () => (await codes()).includes('xid.79'));
  // Checks are 20 s apart unless something happens.
  expect((await checkedAt()) - fresh).toBeLessThan(15_000);
  await expect.poll(managed.states, settings).toBe('idle quarantined');
  const agents = (await azure.control.overview()).pools
    .flatMap(({ agents: all }) => all)
    .map(({ name, enabled }) => [name, enabled]);
  expect(agents).toContainEqual(['cold-1', false]);
  await host.exec(`${program} repaired --gpu ${bus}`);
  await managed.allIdle();
});

test('a dataset below /tmp is found, where the manager can read and not write', async () => {
  await host.exec('mkdir -p /tmp/lab-data && touch /tmp/lab-data/x');
  const dataset = '{ name: "LAB_DATA", host: "/tmp/lab-data", container: "/lab", requireMount: false }';
  await managed.restartWith(`config.datasets = [${dataset}];`);
  await managed.allIdle();
  const [job] = await managed.finished(
    await azure.control.queue({ pool, script: 'ls $LAB_DATA', count: 1, demands: ['dataset.LAB_DATA'] }),
  );
  expect(job).toMatchObject({ result: 'succeeded', log: expect.stringMatching(/^x$/m) as string });
  const inside = 'nsenter --mount --target $(systemctl show -p MainPID --value azp-fleet-manager)';
  const { code, stderr } = await host.exec(`${inside} touch /tmp/written`, { allowFailure: true });
  expect([code, stderr]).toEqual([1, expect.stringContaining('Read-only file system')]);
  await managed.restore();
});

test('with network: required no agent starts on another network of that name; once it is removed, ours is created', async () => {
  await managed.restartWith('config.fence = "required";');
  await managed.allIdle();
  await host.exec(`systemctl stop azp-fleet-manager
docker stop $(docker ps -q --filter label=azp-fleet.kind=agent)
docker network rm azp-fleet
docker network create -o com.docker.network.bridge.name=azp-fleet0 azp-fleet
systemctl start azp-fleet-manager`);
  await expect
    .poll(async () => (await managed.status()).slots.map(({ state, code }) => `${state}: ${code}`), settings)
    .toEqual(['waiting: fence.network', 'waiting: fence.network']);
  const { slots, problems } = await managed.status();
  expect(problems.map(({ code }) => code)).toEqual(['fence.network']);
  expect(slots[0]?.cause).toContain('its containers reach each other');
  await host.exec('docker network rm azp-fleet');
  await managed.allIdle();
  const { stdout } = await host.exec(
    `docker network inspect azp-fleet -f '{{ index .Options "com.docker.network.bridge.enable_icc" }}'`,
  );
  expect(stdout.trim()).toBe('false');
  // What cannot be put up sends idle agents away; a program that is missing is the simplest such thing.
  await host.exec('mv "$(readlink -f /usr/sbin/ip)" /root/ip');
  await managed.are('waiting waiting');
  expect((await managed.containers()).length).toBe(0);
  await host.exec('mv /root/ip "$(readlink -m /usr/sbin/ip)"');
  await managed.restore();
});
