// A host that reaches this machine over SSH, Azure DevOps, and nothing else: all that it is given comes out of one file. Real:
// apt and Docker Engine on both sides, the container in which packages are gathered, the firewall. Stand-ins: the vendors'
// packages, the CUDA base, Azure DevOps and the agent's program.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { closeNetwork } from '../../../practice/lab/firewall.ts';
import { ensureSystemImage } from '../../../practice/lab/images.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { inState, mirror } from '../../../practice/lab/paths.ts';
import type { Output } from '../../../practice/lab/run.ts';
import { caCertificate } from '../../../practice/lab/tls.ts';
import { ManagedHost } from '../support/managed-host.ts';
import { pushAgentImage } from '../support/pushed-agent.ts';

const prefix = 'bundle';
/** Node trusts the lab's registry as its Docker does. */
const env = { DOCKER_HOST: `unix://${inState('docker.sock')}`, NODE_EXTRA_CA_CERTS: caCertificate };

let lab: Lab;
let azure: LabAzure;
let managed: ManagedHost;
let hosts: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
let inventory: string;
let closed: Awaited<ReturnType<typeof closeNetwork>> | undefined;
let file: string;
/** By its digest. */
let image: string;

beforeAll(async () => {
  lab = await startLab({ prefix, hosts: [{ name: 'a', release: 'bookworm', gpus: ['h200', 'h200'] }] });
  azure = await startAzure(prefix, lab.folder, { speed: 10 });
  managed = new ManagedHost(lab.host('a'), azure);
  image = await pushAgentImage(azure);
  hosts = { a: { agents: [{ gpus: [0] }, { gpus: [1], image }] } };
  inventory = await writeInventory(lab, azure, { hosts });
  file = join(lab.folder, 'site.bundle');
  await ensureSystemImage('bookworm');
});
afterAll(async () => {
  await closed?.stop();
  await removeLab(prefix);
});

const provision = (...options: readonly string[]): Promise<Output> =>
  azpFleet(lab.folder, ['provision', inventory, '--bundle', file, ...options]);

test('one file has all that the host needs, and says what', async () => {
  const made = await azpFleet(lab.folder, ['bundle', inventory, '-o', file], { env });
  expect(made.code, made.stderr).toBe(0);
  expect(made.stdout).toMatch(/debian-12\/x86_64 +\d+ packages, including docker-ce [\d.]+/);
  const shown = await azpFleet(lab.folder, ['bundle', '--show', file, '--json']);
  const { bundle } = JSON.parse(shown.stdout) as {
    bundle: { packages: { packages: { name: string }[] }[]; images: { reference: string }[] };
  };
  const names = bundle.packages.flatMap((set) => set.packages.map(({ name }) => name));
  expect(names).toEqual(
    expect.arrayContaining([
      'docker-ce',
      'nvidia-kernel-open-dkms',
      'nvidia-container-toolkit',
      'gcc',
      'ca-certificates',
    ]),
  );
  expect(bundle.images.map(({ reference }) => reference)).toEqual([
    expect.stringMatching(/^azp-fleet\/agent:/),
    image,
  ]);
});

test('the host comes up without any other network', async () => {
  const { port } = new URL(azure.organization);
  closed = await closeNetwork(lab.host('a').address, [Number(port)]);
  const reached = await lab
    .host('a')
    .exec(`timeout 5 bash -c ': </dev/tcp/${new URL(mirror).host.replace(':', '/')}'`, {
      allowFailure: true,
    });
  expect(reached.code).not.toBe(0);
  const before = await closed?.dropped();
  const plan = await azpFleet(lab.folder, ['plan', inventory, '--bundle', file]);
  expect(plan.stdout).toMatch(/upload \d+ packages from the bundle \(\d+ MB\)/);
  expect(plan.stdout).toMatch(/load image azp-fleet\/agent:\S+ from the bundle/);
  const { code, stdout, stderr } = await provision('--yes');
  expect(code, `${stdout}${stderr}`).toBe(0);
  expect(await closed?.dropped()).toBe(before);
});

test('jobs run on it, in the image that was built and in the one that is named by its digest', async () => {
  for (const slot of ['0', '1']) {
    const jobs = await managed.queue('nvidia-smi -L', 1, [`Agent.Name -equals a-${slot}`]);
    expect(await managed.finished(jobs)).toMatchObject([{ result: 'succeeded' }]);
  }
  const { images } = await managed.status();
  expect(images[1]).toMatchObject({ state: 'ready', reference: image });
  const { stdout } = await lab.host('a').exec(`docker image inspect --format '{{.Id}}' ${image}; true`);
  expect(stdout.trim(), 'the engine itself does not know it by that').toBe('');
});

test('a second run has nothing to do', async () => {
  const { code, stdout } = await provision('--dry-run', '--detailed-exitcode');
  expect(code, stdout).toBe(0);
});

test('an upgrade of the driver comes out of a newer bundle: a reboot, its image, and a job', async () => {
  const [copy, newer] = [join(lab.folder, 'newer.yaml'), join(lab.folder, 'newer.bundle')];
  await writeInventory(lab, azure, { hosts, defaults: { driver: { branch: '595' } }, file: copy });
  const made = await azpFleet(lab.folder, ['bundle', copy, '-o', newer], { env });
  expect(made.code, made.stderr).toBe(0);
  const table = await azpFleet(lab.folder, ['upgrade', '-i', inventory, '--bundle', newer]);
  expect(table.stdout).toMatch(/^driver +580\.95\.05 +580 +595\.71\.05 /m);
  const upgrade = ['upgrade', 'driver', '--to', '595', '-i', inventory, '--bundle', newer, '--yes'];
  const { code, stdout, stderr } = await azpFleet(lab.folder, upgrade);
  expect(code, `${stdout}${stderr}`).toBe(0);
  const loaded = await lab.host('a').exec('cat /sys/module/nvidia/version');
  expect(loaded.stdout.trim()).toBe('595.71.05');
  const again = ['provision', inventory, '--bundle', newer, '--dry-run', '--detailed-exitcode'];
  expect((await azpFleet(lab.folder, again)).code).toBe(0);
  const jobs = await managed.queue('nvidia-smi -L', 1, ['Agent.Name -equals a-0']);
  expect(await managed.finished(jobs)).toMatchObject([{ result: 'succeeded' }]);
});

test('a changed file is refused before any change', async () => {
  const bytes = readFileSync(file);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
  const { code, stderr } = await provision('--yes');
  expect(code).toBe(2);
  expect(stderr.replaceAll(/\s+/g, ' ')).toContain('is damaged or was changed');
});

test('it leaves the fleet: no hold stays, and what the bundle brought goes where it is named', async () => {
  const say = async (script: string): Promise<string> =>
    (await lab.host('a').exec(script, { allowFailure: true })).stdout.trim();
  const remove = async (...parts: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await azpFleet(lab.folder, [
      'remove',
      'a',
      '-i',
      inventory,
      '--yes',
      ...parts,
    ]);
    expect(code, `${stdout}${stderr}`).toBe(0);
    return stdout;
  };
  const installed = `dpkg-query -W -f '\${db:Status-Status} \${Package}\\n' |
    sed -nE 's/^installed (docker-ce|libcuda1|nvidia-driver-cuda|nvidia-container-toolkit)$/\\1/p' | sort`;
  const all = await say(installed);
  expect(all).toContain('docker-ce');
  expect(await say('apt-mark showhold')).toContain('nvidia-driver-cuda');
  await remove();
  expect(await say('apt-mark showhold')).toBe('');
  expect(await say(installed)).toBe(all);
  expect(await remove()).toContain('no changes');
  const stack = ['--toolkit', '--docker', '--driver'];
  await remove(...stack);
  expect(await say(installed)).toBe('');
  expect(await say('ls -d /var/lib/azp-fleet')).toBe('');
  expect(await remove(...stack)).toContain('no changes');
});
