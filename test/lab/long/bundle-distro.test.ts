// Debian's own driver out of a bundle, on Debian 12 and 13. Real: Debian's archive with its non-free components, from which the
// packages are gathered, the containers that do it, and the hosts' apt, which decides with only the bundle. Not done: the
// installation itself, of which the build by DKMS takes minutes (distro-driver.test.ts has that, from the archive).
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { closeNetwork } from '../../../practice/lab/firewall.ts';
import { ensureSystemImage } from '../../../practice/lab/images.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { inState } from '../../../practice/lab/paths.ts';

const prefix = 'bundledistro';
const env = { DOCKER_HOST: `unix://${inState('docker.sock')}` };

let lab: Lab;
let azure: LabAzure;
let inventory: string;
let file: string;
const closed: Awaited<ReturnType<typeof closeNetwork>>[] = [];

beforeAll(async () => {
  lab = await startLab({
    prefix,
    hosts: [
      { name: 'a', release: 'bookworm', gpus: ['h200'] },
      { name: 'b', release: 'trixie', gpus: ['h200'] },
    ],
  });
  azure = await startAzure(prefix, lab.folder, { speed: 10 });
  inventory = await writeInventory(lab, azure, { defaults: { driver: { method: 'distro' } } });
  file = join(lab.folder, 'site.bundle');
  for (const release of ['bookworm', 'trixie'] as const) await ensureSystemImage(release);
});
afterAll(async () => {
  for (const each of closed) await each.stop();
  await removeLab(prefix);
});

test('it has the driver of each release, and of NVIDIA nothing', async () => {
  const made = await azpFleet(lab.folder, ['bundle', inventory, '-o', file], { env });
  expect(made.code, made.stderr).toBe(0);
  const shown = await azpFleet(lab.folder, ['bundle', '--show', file, '--json']);
  const { bundle } = JSON.parse(shown.stdout) as {
    bundle: {
      packages: {
        system: string;
        keys: { vendor: string }[];
        packages: { name: string; version: string }[];
      }[];
    };
  };
  for (const [system = '', branch = '', modules = ''] of [
    ['debian-12', '535', 'nvidia-kernel-dkms'],
    ['debian-13', '550', 'nvidia-open-kernel-dkms'],
  ]) {
    const set = bundle.packages.find((each) => each.system === system);
    expect(set?.keys.map(({ vendor }) => vendor).toSorted()).toEqual(['docker', 'nvidia-container-toolkit']);
    const ofDriver = (name: string) => set?.packages.find((each) => each.name === name)?.version;
    for (const name of ['nvidia-smi', 'libcuda1', modules, 'nvidia-persistenced'])
      expect(ofDriver(name), `${system} ${name}`).toMatch(new RegExp(`^${branch}\\.`));
    for (const name of ['dkms', 'gcc', 'nvidia-kernel-common', 'glx-alternative-nvidia'])
      expect(ofDriver(name), `${system} ${name}`).toBeDefined();
    expect(ofDriver('nvidia-driver-cuda')).toBeUndefined();
  }
});

test("the hosts' apt would install it with only the bundle", async () => {
  const { port } = new URL(azure.organization);
  for (const host of lab.hosts) closed.push(await closeNetwork(host.address, [Number(port)]));
  const before = await Promise.all(closed.map((each) => each.dropped()));
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['plan', inventory, '--bundle', file]);
  const text = `${stdout}${stderr}`.replaceAll(/\s+/g, ' ');
  expect(code, text).toBe(3);
  expect(text).toMatch(
    /NVIDIA driver 535\.[\d.]+ \(the distribution's own, proprietary kernel modules, compute only\)/,
  );
  expect(text).toMatch(
    /NVIDIA driver 550\.[\d.]+ \(the distribution's own, open kernel modules, compute only\)/,
  );
  expect(text).not.toMatch(/refused|sources\.list/);
  expect(await Promise.all(closed.map((each) => each.dropped()))).toEqual(before);
});
