// A Debian that looks like Rocky Linux 9 that reaches this machine over SSH, Azure DevOps, and nothing else. Real: dnf, rpm and
// Docker Engine on both sides, the container in which packages are gathered and their signatures, the firewall. Stand-ins: the
// packages of system, EPEL and vendors, the CUDA base, Azure DevOps and the agent's program.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { closeNetwork } from '../../../practice/lab/firewall.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { ensureSystemImage } from '../../../practice/lab/images.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { inState, mirror } from '../../../practice/lab/paths.ts';
import type { Output } from '../../../practice/lab/run.ts';
import { ManagedHost } from '../support/managed-host.ts';

const prefix = 'bundle-dnf';
const engine = { DOCKER_HOST: `unix://${inState('docker.sock')}` };

let lab: Lab;
let host: LabHost;
let azure: LabAzure;
let managed: ManagedHost;
let closed: Awaited<ReturnType<typeof closeNetwork>> | undefined;
let before: string;

beforeAll(async () => {
  await removeLab(prefix);
  lab = await startLab({
    prefix,
    hosts: [{ name: 'el', release: 'rocky9', login: 'sudo', gpus: ['l40s'] }],
  });
  host = lab.host('el');
  azure = await startAzure(prefix, lab.folder, { speed: 10 });
  managed = new ManagedHost(host, azure);
  await ensureSystemImage('rocky9');
  before = await sources();
});
afterAll(async () => {
  await closed?.stop();
  await removeLab(prefix);
});

const inventory = (version: string): Promise<string> =>
  writeInventory(lab, azure, { defaults: { driver: { version } } });
const file = (name: string): string => join(lab.folder, `${name}.bundle`);

async function bundle(version: string): Promise<Output> {
  return azpFleet(lab.folder, ['bundle', await inventory(version), '-o', file(version)], { env: engine });
}

async function run(command: string, version: string, ...options: readonly string[]): Promise<Output> {
  const inventoryFile = await inventory(version);
  return azpFleet(lab.folder, [command, inventoryFile, '--bundle', file(version), ...options]);
}

/** The host's own repositories, and what it has read of them. */
async function sources(): Promise<string> {
  const { stdout } = await host.exec(
    'cd / && find etc/yum.repos.d etc/dnf/dnf.conf etc/pki/rpm-gpg var/cache/dnf -type f -exec sha256sum {} + | sort -k 2',
  );
  return stdout;
}

const inPool = async (name: string): Promise<string> =>
  (await host.exec(`stat -c '%i %Y' /var/lib/azp-fleet/packages/pool/${name}-*.rpm`)).stdout;

describe('one file', () => {
  test('has all that the host needs, checked by the keys of system, EPEL and vendors, and says what', async () => {
    const made = await bundle('580.65.06');
    expect(made.code, made.stderr).toBe(0);
    expect(made.stdout).toMatch(
      /rocky-9\/x86_64 +\d+ packages, including docker-ce [\d.]+, nvidia-container-toolkit [\d.]+, nvidia-driver-cuda 580\.65\.06/,
    );
    const shown = await azpFleet(lab.folder, ['bundle', '--show', file('580.65.06'), '--json']);
    const { bundle: manifest } = JSON.parse(shown.stdout) as {
      bundle: { packages: { keys: { vendor: string }[]; packages: { name: string }[] }[] };
    };
    const names = manifest.packages.flatMap((set) => set.packages.map(({ name }) => name));
    expect(names).toEqual(
      expect.arrayContaining([
        'docker-ce',
        'kmod-nvidia-open-dkms',
        'nvidia-container-toolkit',
        'dkms',
        'gcc',
        'kernel-devel',
        'python3-dnf-plugin-versionlock',
      ]),
    );
    expect(manifest.packages[0]?.keys.map(({ vendor }) => vendor).toSorted()).toEqual([
      'docker',
      'nvidia',
      'nvidia-container-toolkit',
    ]);
  });
});

describe('the host', () => {
  test('comes up without any other network', async () => {
    const { port } = new URL(azure.organization);
    closed = await closeNetwork(host.address, [Number(port)]);
    const at = new URL(mirror).host.replace(':', '/');
    const reached = await host.exec(`timeout 5 bash -c ': </dev/tcp/${at}'`, { allowFailure: true });
    expect(reached.code).not.toBe(0);
    const lost = await closed.dropped();
    const plan = await run('plan', '580.65.06');
    expect(plan.stdout).toMatch(/upload \d+ packages from the bundle \(\d+ MB\)/);
    expect(plan.stdout).not.toMatch(/(add|change) .* package source/);
    const { code, stdout, stderr } = await run('provision', '580.65.06', '--yes');
    expect(code, `${stdout}${stderr}`).toBe(0);
    expect(stdout).toContain('1 host: 1 healthy');
    expect(await closed.dropped()).toBe(lost);
  });

  test('has what it was given locked, and its own sources and what it knew of them as before', async () => {
    expect(await sources()).toBe(before);
    const { stdout } = await host.exec(
      `dnf -q --disablerepo='*' versionlock list | sed 's/-[^-]*-[^-]*$//' | sort; ls /etc/yum.repos.d`,
    );
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining(['docker-ce', 'nvidia-driver-cuda', 'nvidia-container-toolkit', 'rocky.repo']),
    );
  });

  test('runs a job', async () => {
    const jobs = await azure.control.queue({ pool: 'gpu-lab', script: 'nvidia-smi -L' });
    expect(await managed.finished(jobs)).toMatchObject([{ result: 'succeeded' }]);
  });

  test('has nothing to do in a second run', async () => {
    const { code, stdout } = await run('provision', '580.65.06', '--dry-run', '--detailed-exitcode');
    expect(code, stdout).toBe(0);
    expect(stdout).toContain('No changes: 1 host up to date.');
  });
});

describe('another version of the driver', () => {
  test('is not in this file, and the plan says what is', async () => {
    const inventoryFile = await inventory('580.95.05');
    const plan = await azpFleet(lab.folder, ['plan', inventoryFile, '--bundle', file('580.65.06')]);
    expect(plan.code).toBe(1);
    expect(plan.stdout.replaceAll(/\s+/g, ' ')).toContain(
      'the bundle has no nvidia-driver-cuda 580.95.05; it has 580.65.06',
    );
  });

  test('comes with another file, of which only the difference is sent', async () => {
    const made = await bundle('580.95.05');
    expect(made.code, made.stderr).toBe(0);
    const [engineThere, lost] = [await inPool('docker-ce'), await closed?.dropped()];
    const { code, stdout, stderr } = await run('provision', '580.95.05', '--yes');
    expect(code, `${stdout}${stderr}`).toBe(0);
    expect(await closed?.dropped()).toBe(lost);
    expect(await inPool('docker-ce')).toBe(engineThere);
    const { stdout: now } = await host.exec(
      `nvidia-smi --query-gpu=driver_version --format=csv,noheader; ls /var/lib/azp-fleet/packages/pool`,
    );
    expect(now).toMatch(/^580\.95\.05\n/);
    expect(now).not.toContain('580.65.06');
    const second = await run('provision', '580.95.05', '--dry-run', '--detailed-exitcode');
    expect(second.code, second.stdout).toBe(0);
  });
});
