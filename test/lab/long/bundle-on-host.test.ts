// A Debian 13 that reaches this machine over SSH, Azure DevOps, and nothing else, with an agent straight on it and one in an
// image that is named by its digest, which Docker keeps in containerd. Real: apt and Docker Engine on both sides, the registry, the container in which packages
// are gathered, systemd, the firewall. Stand-ins: the vendors' packages, the CUDA base, Azure DevOps, the agent's program.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { closeNetwork } from '../../../practice/lab/firewall.ts';
import { ensureSystemImage } from '../../../practice/lab/images.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { inState } from '../../../practice/lab/paths.ts';
import type { Output } from '../../../practice/lab/run.ts';
import { caCertificate } from '../../../practice/lab/tls.ts';
import { ManagedHost } from '../support/managed-host.ts';
import { pushAgentImage } from '../support/pushed-agent.ts';

const prefix = 'bundlehost';
/** Node trusts the lab's registry as its Docker does. */
const env = { DOCKER_HOST: `unix://${inState('docker.sock')}`, NODE_EXTRA_CA_CERTS: caCertificate };

let lab: Lab;
let azure: LabAzure;
let managed: ManagedHost;
let inventory: string;
let closed: Awaited<ReturnType<typeof closeNetwork>> | undefined;
let file: string;
let image: string;

beforeAll(async () => {
  lab = await startLab({ prefix, hosts: [{ name: 'b', release: 'trixie', gpus: ['h200', 'h200'] }] });
  azure = await startAzure(prefix, lab.folder, { speed: 10 });
  managed = new ManagedHost(lab.host('b'), azure);
  image = await pushAgentImage(azure);
  const agents = [
    { name: 'box', gpus: [0], image },
    { name: 'bare', gpus: [1], mode: 'host' },
  ];
  inventory = await writeInventory(lab, azure, { hosts: { b: { agents } } });
  // Docker from 29 on keeps images in containerd by default; there an image has the id of its manifest.
  await lab.host('b').exec(`mkdir -p /etc/docker
echo '{"features": {"containerd-snapshotter": true}}' >/etc/docker/daemon.json`);
  file = join(lab.folder, 'site.bundle');
  await ensureSystemImage('trixie');
});
afterAll(async () => {
  await closed?.stop();
  await removeLab(prefix);
});

const provision = (...options: readonly string[]): Promise<Output> =>
  azpFleet(lab.folder, ['provision', inventory, '--bundle', file, ...options]);

test('one file has what agents on the host need, too', async () => {
  const made = await azpFleet(lab.folder, ['bundle', inventory, '-o', file], { env });
  expect(made.code, made.stderr).toBe(0);
  expect(made.stdout).toMatch(/debian-13\/x86_64 +\d+ packages, including docker-ce [\d.]+/);
  expect(made.stdout).toMatch(/agent \S+, for slots on the host/);
  expect(made.stdout.replaceAll(/\s/g, '')).toContain(image);
});

test('the host comes up without any other network', async () => {
  const { port } = new URL(azure.organization);
  closed = await closeNetwork(lab.host('b').address, [Number(port)]);
  const before = await closed?.dropped();
  const { code, stdout, stderr } = await provision('--yes');
  expect(code, `${stdout}${stderr}`).toBe(0);
  expect(await closed?.dropped()).toBe(before);
});

test.each(['box', 'bare'])('a job runs on the agent %s', async (slot) => {
  const jobs = await managed.queue('nvidia-smi -L', 1, [`Agent.Name -equals b-${slot}`]);
  expect(await managed.finished(jobs)).toMatchObject([{ result: 'succeeded' }]);
});

test('the image is known by the digest', async () => {
  const { images } = await managed.status();
  expect(images).toMatchObject([{ state: 'ready', reference: image, digest: image.split('@')[1] }]);
  const { stdout } = await lab.host('b').exec("docker info --format '{{.DriverStatus}}'");
  expect(stdout).toContain('io.containerd.snapshotter');
});

test('a second run has nothing to do', async () => {
  const { code, stdout } = await provision('--dry-run', '--detailed-exitcode');
  expect(code, stdout).toBe(0);
});
