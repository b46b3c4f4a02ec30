// Faults of a host, one at a time: doctor stops at the step of each. Where the next action is a command, the test runs exactly
// that command, and the host is healthy again; otherwise the test does the part of a person.
// Real: CLI, SSH, systemd, timedatectl, Docker, manager, proxy, TLS. Stand-ins: the GPUs, the agent program, Azure DevOps, `date` and
// the time service.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';

import type { RungResult } from '../../../src/fleet/doctor/ladder.ts';
import { startConnectProxy } from '../../support/connect-proxy.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, type Lab } from '../../../practice/lab/lab.ts';
import { network } from '../../../practice/lab/paths.ts';
import { startStackLab } from '../../../practice/lab/provisioned.ts';
import { until } from '../../../practice/lab/run.ts';
import { makeCertificates, startTls } from '../../../practice/lab/tls.ts';
import { fullDisk, untilBoot, withoutHook, wrongClock } from '../support/host-faults.ts';
import { ManagedHost } from '../support/managed-host.ts';

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
  lab = await startStackLab({
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
  // The last test has another inventory, with the third host.
  const hosts = [metal, hook];
  inventory = await writeInventory({ ...lab, hosts }, azure, {
    hosts: { metal: { datasets: { IMAGENET } } },
  });
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', '-i', inventory, '--yes']);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  await healthy();
});
afterAll(() => removeLab(prefix));
// The fault has ended; what one test leaves would be the fault that the next one finds.
afterEach(() => healthy());

type Broken = Extract<RungResult, { readonly state: 'broken' }>;

/** Without a host: of all in the inventory. */
async function doctor(file = inventory, ...host: readonly string[]) {
  const { code, stdout, stderr } = await azpFleet(lab.folder, [
    'doctor',
    ...host,
    '-i',
    file,
    '--json',
    '--probe-timeout',
    '30s',
  ]);
  const { hosts } = JSON.parse(stdout) as { readonly hosts?: readonly { readonly rungs: RungResult[] }[] };
  const rungs = hosts?.flatMap((each) => each.rungs);
  if (rungs === undefined) throw new Error(`doctor has no steps: ${stdout}\n${stderr}`);
  return { code, rungs };
}

async function healthy(file = inventory, ...host: readonly string[]): Promise<void> {
  let seen: unknown;
  const isHealthy = async (): Promise<boolean> => {
    const { code, rungs } = await doctor(file, ...host);
    seen = rungs.filter(({ state }) => state !== 'ok');
    return code === 0;
  };
  await until('healthy hosts', isHealthy, limits).catch((error: unknown) => {
    throw new Error(`not healthy: ${JSON.stringify(seen)}`, { cause: error });
  });
}

/**
 * Waits until doctor stops at this step: it is the first that failed, and agents, which are last, are not checked. The manager needs
 * up to 90 s to notice some faults.
 */
async function stopsAt(host: LabHost, rung: string, file = inventory): Promise<Broken> {
  let seen: readonly RungResult[] = [];
  const found = await until(
    `doctor to stop at ${rung} of ${host.name}`,
    async () => {
      ({ rungs: seen } = await doctor(file, host.name));
      const first = seen.find((each): each is Broken => each.state === 'broken');
      return first?.rung === rung ? first : undefined;
    },
    limits,
  );
  const last = seen.at(-1);
  const state = rung === 'agents' ? 'broken' : 'blocked';
  expect(last, JSON.stringify(seen)).toMatchObject({ rung: 'agents', state });
  return found;
}

/** Runs the command of a next action where it belongs: `azp-fleet …` here, with --yes, any other on the host. */
async function doNext(host: LabHost, { next }: Broken, file = inventory): Promise<void> {
  const command = /`([^`]+)`/.exec(next)?.[1] ?? /: (.+)$/.exec(next)?.[1] ?? '';
  const [program, ...words] = command.split(' ');
  if (program !== 'azp-fleet') {
    await host.exec(command);
    return;
  }
  const { code, stdout, stderr } = await azpFleet(lab.folder, [...words, '-i', file, '--yes']);
  expect(code, `${command}\n${stdout}\n${stderr}`).toBe(0);
}

test.each<[string, string, string, string, 'hook'?]>([
  [
    'the driver was updated without a reboot',
    'driver',
    'driver.mismatch',
    'echo 580.00.01 >/sys/module/nvidia/version',
  ],
  ['the module of the driver is missing', 'driver', 'driver.not-loaded', 'modprobe -r nvidia'],
  ['a GPU is gone', 'probe', 'gpu.missing', untilBoot('missing 1')],
  ['nvidia-smi hangs', 'probe', 'smi.hung', untilBoot('hang')],
  ['Docker was started without the hook', 'toolkit', 'engine.no-gpu-driver', withoutHook, 'hook'],
  ['dockerd is down', 'docker', 'docker.down', 'systemctl stop docker.socket docker'],
  ['the manager is stopped', 'manager', 'manager.down', 'systemctl stop azp-fleet-manager'],
  [
    'the CDI specification is of another driver',
    'toolkit',
    'engine.cdi-stale',
    "sed -i '1a # /usr/lib/libcuda.so.570.10.05' /var/run/cdi/nvidia.yaml",
  ],
  ['the clock is off', 'clock', 'host.clock-off', wrongClock],
])('%s: doctor names the command that fixes it', async (_, rung, code, fault, name) => {
  const host = lab.host(name ?? 'metal');
  await host.exec(fault);
  const found = await stopsAt(host, rung);
  expect(found.code).toBe(code);
  expect(found.fix).toBe(found.next.includes('azp-fleet provision') ? 'provision' : undefined);
  await doNext(host, found);
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
});

test('the agent was deleted at the server: the command ends its container', async () => {
  await new ManagedHost(hook, azure).loseAgent('hook-0');
  const found = await stopsAt(hook, 'agents');
  expect(found.code).toBe('agents.offline');
  await doNext(hook, found);
});

test('the token has ended: the command gives the hosts a new one', async () => {
  await azure.control.setToken('expired');
  const found = await stopsAt(metal, 'host-token');
  expect(found).toMatchObject({
    code: 'azure.auth',
    next: expect.stringMatching(/^make a new token/) as string,
  });
  writeFileSync(azure.tokenFile, `${randomBytes(26).toString('hex')}\n`);
  await azure.control.setToken('valid');
  await doNext(metal, found);
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
  await metal.exec(fullDisk.begin);
  try {
    expect(await stopsAt(metal, 'disk')).toMatchObject({ code: 'disk.full' });
  } finally {
    await metal.exec(fullDisk.end);
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

test('another key answers: --fix does not touch it; the command pins it after a person compared it', async () => {
  const keys = (await hook.hostKeys()).split('\n');
  const other = keys.find((line) => line.includes(' ssh-ed25519 ')) ?? '';
  const file = await writeInventory(lab, azure, {
    file: `${lab.folder}/wrong-key.yaml`,
    hosts: { metal: { hostKeys: [other.slice(other.indexOf(' ') + 1)] } },
  });
  const found = await stopsAt(metal, 'host-key', file);
  expect(found.code).toBe('ssh.host-key-mismatch');
  const { code, stderr } = await azpFleet(lab.folder, ['doctor', 'metal', '--fix', '-i', file, '--yes']);
  expect([code, stderr]).toEqual([1, expect.stringContaining('nothing was changed')]);
  const { stdout } = await metal.exec(/"(ssh-keygen [^"]+)"/.exec(found.next)?.[1] ?? 'false');
  expect(found.seen).toContain(stdout.split(' ')[1]);
  await doNext(metal, found, file);
  await healthy(file, 'metal');
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
      (await doctor(file, 'behind')).rungs.find(({ rung }) => rung === 'azure')?.state;
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
