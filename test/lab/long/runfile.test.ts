// NVIDIA's .run file on Debian 12. Real: systemd, sshd, sudo, apt, Debian's DKMS with its compiler and make, depmod, modinfo.
// Stand-ins: the .run file with its installer and uninstaller (the real one's options, refusals, logs and order), what it installs,
// the kernel module (which nothing compiles), the kernel that is upgraded to, and the mirror.
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { HostSpec } from '../../../src/fleet/inventory/fleet.ts';
import type { HostPlan } from '../../../src/fleet/plan/fleet-plan.ts';
import type { Change } from '../../../src/fleet/steps/change.ts';
import { driverStep } from '../../../src/fleet/steps/driver/step.ts';
import { removalOf } from '../../../src/fleet/steps/remove/remove.ts';
import type { Desired } from '../../../src/fleet/steps/step.ts';
import { desiredOf } from '../../support/host.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { machineRoot } from '../../../src/shared/base/host-root.ts';
import { mirror } from '../../../practice/lab/paths.ts';
import { runfileDigest } from '../../../practice/lab/runfile.ts';
import { giveKernel } from '../support/host-history.ts';
import { StackRun } from '../support/stack-run.ts';

const prefix = 'runfile';
const [first, second] = ['580.95.05', '595.71.05'];
const next = '6.99.0-1-amd64';
const own = '/var/lib/azp-fleet/runfile';
let lab: Lab;
let driver: StackRun;
let host: LabHost;

beforeAll(async () => {
  await removeLab(prefix);
  lab = await startLab({
    prefix,
    hosts: [{ name: 'a', release: 'bookworm', login: 'sudo', gpus: ['h200'] }],
  });
  host = lab.host('a');
  driver = new StackRun(lab, [driverStep]);
  // The replacement for a compiler is removed, and DKMS reads the headers.
  await host.exec(
    'rm -f /usr/local/bin/gcc /usr/local/bin/make; mkdir /lib/modules/$(uname -r)/build/include',
  );
});
afterAll(() => removeLab(prefix));

function configured(version: string, more: Partial<HostSpec['driver']> = {}): Desired {
  const branch = version.replace(/\..*/, '');
  return desiredOf(
    { driver: { method: 'runfile', version, branch, sha256: runfileDigest(version), ...more } },
    { mirrors: { nvidiaRunfile: `${mirror}/XFree86`, nvidiaDriver: `${mirror}/nvidia` } },
  );
}

const titles = ({ stages }: HostPlan): string[] => stages.flat().map(({ title }) => title);

async function status(kernel = '$(uname -r)'): Promise<string> {
  return (await host.exec(`dkms status -m nvidia -k "${kernel}"`)).stdout.trim();
}

/** Checks the driver, nvidia-smi and DKMS, that no upload is left, and that a second run changes nothing. */
async function expectSettled(version: string): Promise<void> {
  const plan = await driver.ask(host, configured(version));
  expect(plan).toMatchObject({ stages: [], refusals: [] });
  const facts = await driver.facts(host, configured(version));
  expect(facts.driver).toMatchObject({
    loaded: version,
    userspace: version,
    open: true,
    runfile: true,
    dkms: 'registered',
    services: [{ unit: 'nvidia-persistenced.service', file: 'enabled', active: 'active' }],
  });
  expect(facts.ours.runfile).toEqual({ version, graphics: false });
  const smi = await host.exec('nvidia-smi --query-gpu=driver_version --format=csv,noheader');
  expect(smi.stdout.trim()).toBe(version);
  expect(await status()).toMatch(new RegExp(`^nvidia/${version}, .*: installed$`));
  expect((await host.exec(`ls ${own}`)).stdout.trim()).toBe('installed');
}

test('run by hand, it refuses a host without a compiler', async () => {
  const { code, stderr } = await host.exec(
    `/usr/lib/apt/apt-helper download-file ${mirror}/XFree86/Linux-x86_64/${first}/NVIDIA-Linux-x86_64-${first}.run /root/x.run >/dev/null
sh /root/x.run --silent --dkms`,
    { allowFailure: true },
  );
  expect(code).not.toBe(0);
  expect(stderr).toContain("ERROR: Unable to find the development tool 'gcc' in your path");
});

test('a file with another digest is not run', async () => {
  const desired = configured(first, { sha256: '0'.repeat(64) });
  const plan = await driver.ask(host, desired);
  const fetch = plan.stages
    .flat()
    .find((each): each is Change => each.kind === 'change' && each.id.includes('fetch'));
  if (fetch === undefined) throw new Error(titles(plan).join(', '));
  await expect(driver.apply(host, fetch)).rejects.toThrow(
    /cannot be downloaded\nexpected: the file with sha256 0000/,
  );
  expect((await driver.facts(host, desired)).driver.runfile).toBe(false);
});

test('a fresh host: what its installer needs comes first, and the driver runs without a reboot', async () => {
  const plan = await driver.ask(host, configured(first));
  expect(plan.refusals).toEqual([]);
  expect(titles(plan)).toEqual([
    expect.stringMatching(/^install gcc, make, dkms, libelf-dev$/),
    `download NVIDIA-Linux-x86_64-${first}.run`,
    `install NVIDIA driver ${first} (.run file, open kernel modules, compute only)`,
  ]);
  await driver.converge(host, configured(first));
  await expectSettled(first);
});

test('a kernel upgrade between two runs: its headers come, and the module is built before it boots', async () => {
  await giveKernel(host, { flavor: 'amd64', release: next, folder: lab.folder });
  expect(titles(await driver.ask(host, configured(first)))).toEqual([
    `install linux-headers-${next}, linux-headers-amd64`,
    `build the NVIDIA module for Linux ${next}`,
  ]);
  await driver.converge(host, configured(first));
  await expectSettled(first);
  expect(await status(next)).toMatch(new RegExp(`^nvidia/${first}, .*: installed$`));
  const { stdout } = await host.exec(`modinfo -k ${next} -F version nvidia`);
  expect(stdout.trim()).toBe(first);
});

test('another branch over a loaded driver comes with a reboot, for the next kernel, too', async () => {
  expect(titles(await driver.ask(host, configured(second)))).toEqual([
    `download NVIDIA-Linux-x86_64-${second}.run`,
    `upgrade NVIDIA driver ${first} → ${second} (.run file, open kernel modules, compute only)`,
    'reboot the host',
  ]);
  await driver.converge(host, configured(second));
  await host.booted();
  await expectSettled(second);
  expect(await status(next)).toMatch(new RegExp(`^nvidia/${second}, .*: installed$`));
});

test('packages are refused beside it, with the fix', async () => {
  const { refusals } = await driver.ask(host, configured(first, { method: 'repo', branch: '580' }));
  expect(refusals).toMatchObject([
    {
      what: 'a driver from a .run file is installed; packages must not be mixed with it',
      next: expect.stringContaining('sudo nvidia-uninstall --silent'),
    },
  ]);
});

test('remove --driver runs its own uninstaller, and leaves nothing of it', async () => {
  const facts = await driver.facts(host, configured(second));
  const { host: spec } = configured(second);
  const found = removalOf(facts, {
    host: spec,
    owner: 'test',
    parts: new Set(['driver']),
    root: machineRoot,
  });
  const changes = found.filter((each): each is Change => !('refused' in each) && each.step === 'driver');
  expect(changes.map(({ title }) => title)).toEqual([`remove NVIDIA driver ${second}`]);
  for (const change of changes) await driver.apply(host, change);
  const after = await driver.facts(host, configured(second));
  expect(after.driver).toMatchObject({
    loaded: undefined,
    userspace: undefined,
    runfile: false,
    services: [],
  });
  expect(after.ours.runfile).toBeUndefined();
  const left = await host.exec(
    `ls -d ${own} /usr/bin/nvidia-smi /var/lib/nvidia /usr/src/nvidia-* /var/lib/dkms/nvidia 2>/dev/null || :`,
  );
  expect(left.stdout).toBe('');
});
