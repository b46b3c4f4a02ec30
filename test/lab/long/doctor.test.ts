// Faults of a host, one at a time: doctor stops at the step of each. Where the next action is a command, the test runs exactly
// that command, and the host is healthy again; otherwise the test does the part of a person.
// Real: CLI, SSH, systemd, Docker, manager, proxy, TLS. Stand-ins: the GPUs, the agent program, Azure DevOps.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';

import type { RungResult } from '../../../src/fleet/doctor/ladder.ts';
import { startConnectProxy } from '../../support/connect-proxy.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { network } from '../../../practice/lab/paths.ts';
import { until } from '../../../practice/lab/run.ts';
import { makeCertificates, startTls } from '../../../practice/lab/tls.ts';

const prefix = 'doctor';
/** The name of the server that only the proxy knows. */
const name = 'azure.lab.invalid';
const limits = { timeoutMs: 900_000, everyMs: 3000 };

let lab: Lab;
let azure: LabAzure;
let metal: LabHost;
let hook: LabHost;
let inventory: string;
beforeAll(async () => {
  await removeLab(prefix);
  lab = await startLab({
    prefix,
    hosts: [
      { name: 'metal', release: 'trixie', gpus: ['h200', 'h200'] },
      { name: 'hook', release: 'bookworm', gpus: ['h200'] },
      { name: 'behind', release: 'trixie', gpus: ['h200'] },
    ],
  });
  [metal, hook] = [lab.host('metal'), lab.host('hook')];
  azure = await startAzure(prefix, lab.folder);
  await metal.exec(`mkdir -p /srv/set /data/set && echo 1 >/srv/set/images
echo '/srv/set /data/set none bind 0 0' >>/etc/fstab && mount /data/set`);
  const IMAGENET = { host: '/data/set', container: '/datasets/set', requireMount: true };
  inventory = await writeInventory(lab, azure, { hosts: { metal: { datasets: { IMAGENET } } } });
  const { code, stdout, stderr } = await azpFleet(lab.folder, [
    'provision',
    'metal',
    'hook',
    '-i',
    inventory,
    '--yes',
  ]);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  for (const host of [metal, hook]) await healthy(host);
});
afterAll(() => removeLab(prefix));
// What one test leaves would be the fault that the next one finds.
afterEach(async () => {
  for (const host of [metal, hook]) await healthy(host);
});

type Broken = Extract<RungResult, { readonly state: 'broken' }>;

async function doctor(host: string, file = inventory) {
  const { code, stdout, stderr } = await azpFleet(lab.folder, [
    'doctor',
    host,
    '-i',
    file,
    '--json',
    '--probe-timeout',
    '30s',
  ]);
  const { hosts } = JSON.parse(stdout) as { readonly hosts?: readonly { readonly rungs: RungResult[] }[] };
  const rungs = hosts?.[0]?.rungs;
  if (rungs === undefined) throw new Error(`doctor has no steps: ${stdout}\n${stderr}`);
  return { code, rungs };
}

async function healthy({ name: host }: LabHost): Promise<void> {
  await until(`${host} to be healthy`, async () => (await doctor(host)).code === 0, limits);
}

/**
 * Waits until doctor stops at this step: it is the first that failed, and agents are not checked. The manager needs up to 90 s to
 * notice some faults.
 */
async function stopsAt(host: LabHost, rung: string, file = inventory): Promise<Broken> {
  let seen: readonly RungResult[] = [];
  const found = await until(
    `doctor to stop at ${rung} of ${host.name}`,
    async () => {
      ({ rungs: seen } = await doctor(host.name, file));
      const first = seen.find((each): each is Broken => each.state === 'broken');
      return first?.rung === rung ? first : undefined;
    },
    limits,
  );
  const last = seen.at(-1);
  expect(last, JSON.stringify(seen)).toMatchObject({ rung: 'agents', state: 'blocked' });
  return found;
}

/** Runs the command of a next action where it belongs: `azp-fleet …` here, with --yes, any other on the host. */
async function doNext(host: LabHost, { next }: Broken): Promise<void> {
  const command = /`([^`]+)`/.exec(next)?.[1] ?? /: (.+)$/.exec(next)?.[1] ?? '';
  const [program, ...words] = command.split(' ');
  if (program !== 'azp-fleet') {
    await host.exec(command);
    return;
  }
  const { code, stdout, stderr } = await azpFleet(lab.folder, [...words, '-i', inventory, '--yes']);
  expect(code, `${command}\n${stdout}\n${stderr}`).toBe(0);
}

test.each<[string, string, string, string]>([
  ['the module of the driver is missing', 'driver', 'driver.not-loaded', 'modprobe -r nvidia'],
  ['dockerd is down', 'docker', 'docker.down', 'systemctl stop docker.socket docker'],
  ['the manager is stopped', 'manager', 'manager.down', 'systemctl stop azp-fleet-manager'],
  [
    'the CDI specification is of another driver',
    'toolkit',
    'engine.cdi-stale',
    "sed -i '1a # /usr/lib/libcuda.so.570.10.05' /var/run/cdi/nvidia.yaml",
  ],
])('%s: doctor names the command that fixes it', async (_, rung, code, fault) => {
  await metal.exec(fault);
  const found = await stopsAt(metal, rung);
  expect(found).toMatchObject({ code, fix: 'provision' });
  await doNext(metal, found);
  await healthy(metal);
});

test('--fix does the same', async () => {
  await metal.exec('systemctl stop azp-fleet-manager; systemctl stop docker.socket docker');
  const { code, stdout, stderr } = await azpFleet(lab.folder, [
    'doctor',
    'metal',
    '--fix',
    '-i',
    inventory,
    '--yes',
  ]);
  expect(stdout).toContain('start Docker Engine, now and at boot');
  expect([0, 1], `${stdout}\n${stderr}`).toContain(code);
  await healthy(metal);
});

test('the dataset is not mounted: the command mounts it', async () => {
  const change = (verb: string) => azpFleet(lab.folder, [verb, 'metal', '-i', inventory]);
  // Agents that wait for a job have it mounted already.
  await change('drain');
  await until(
    'no agents',
    async () => (await metal.exec('docker ps -q --filter label=azp-fleet.kind=agent')).stdout === '',
    limits,
  );
  await metal.exec('umount /data/set');
  await change('undrain');
  const found = await stopsAt(metal, 'dataset');
  expect(found).toMatchObject({ code: 'dataset.unusable', next: 'mount it: mount /data/set' });
  await doNext(metal, found);
});

test('the disk of Docker is nearly full', async () => {
  const inManager = (command: string) =>
    metal.exec(`nsenter -m -t $(systemctl show -p MainPID --value azp-fleet-manager) sh -ec '${command}'`);
  await inManager('mount -t tmpfs -o size=64m tmpfs /var/lib/docker; fallocate -l 63m /var/lib/docker/fill');
  try {
    expect(await stopsAt(metal, 'disk')).toMatchObject({ code: 'disk.full' });
  } finally {
    await inManager('umount /var/lib/docker');
  }
});

test('the hook of the toolkit is missing', async () => {
  await hook.exec('mv /usr/bin/nvidia-container-runtime-hook /root/');
  try {
    const { code, next } = await stopsAt(hook, 'probe');
    expect(code).toMatch(/^engine\./);
    expect(next).not.toBe('');
  } finally {
    await hook.exec('mv /root/nvidia-container-runtime-hook /usr/bin/');
  }
});

test('a GPU is gone', async () => {
  await metal.setGpuFaults(['missing 1']);
  try {
    expect(await stopsAt(metal, 'probe')).toMatchObject({ code: 'gpu.missing' });
  } finally {
    await metal.setGpuFaults([]);
  }
});

test('the host is down', async () => {
  await metal.powerOff();
  try {
    expect((await stopsAt(metal, 'port')).code).toMatch(/^ssh\.(?:timeout|unreachable)$/);
  } finally {
    await metal.powerOn();
  }
});

test('another key answers: --fix does not touch it', async () => {
  const keys = (await hook.hostKeys()).split('\n');
  const other = keys.find((line) => line.includes(' ssh-ed25519 ')) ?? '';
  const file = await writeInventory(lab, azure, {
    file: `${lab.folder}/wrong-key.yaml`,
    hosts: { metal: { hostKeys: [other.slice(other.indexOf(' ') + 1)] } },
  });
  expect(await stopsAt(metal, 'host-key', file)).toMatchObject({ code: 'ssh.host-key-mismatch' });
  const { code, stderr } = await azpFleet(lab.folder, ['doctor', 'metal', '--fix', '-i', file, '--yes']);
  expect([code, stderr]).toEqual([1, expect.stringContaining('nothing was changed')]);
});

test('the proxy of the host is dead, and that of this machine is not', async () => {
  const behind = lab.host('behind');
  let isOpen = true;
  await makeCertificates(lab.folder, [`DNS:${name}`]);
  const { hostname, port } = new URL(azure.organization);
  const tls = await startTls(lab.folder, '127.0.0.1', { hostname, port: Number(port) });
  const proxy = await startConnectProxy(network.gateway, ({ target, from }) => {
    if (!isOpen && from === behind.address) return 503;
    return target === `${name}:443` ? { host: '127.0.0.1', port: tls.port } : 403;
  });
  try {
    const file = await writeInventory(lab, azure, {
      file: `${lab.folder}/behind.yaml`,
      top: {
        organization: `https://${name}/lab`,
        proxy: { https: `http://${proxy.address}`, noProxy: [network.gateway] },
        ca: 'ca.crt',
      },
    });
    const provisioned = ['provision', 'behind', '-i', file, '--yes', '--no-probe'];
    expect((await azpFleet(lab.folder, provisioned)).code).toBe(0);
    const azureRung = async () =>
      (await doctor('behind', file)).rungs.find(({ rung }) => rung === 'azure')?.state;
    await until('a tested connection', async () => (await azureRung()) === 'ok', limits);
    isOpen = false;
    const found = await stopsAt(behind, 'azure', file);
    expect(found.what).toContain(`${proxy.address} answered 503`);
    isOpen = true;
    await until('the connection', async () => (await azureRung()) === 'ok', limits);
  } finally {
    await proxy.close();
    tls.server.close();
  }
});
