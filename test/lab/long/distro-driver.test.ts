// Debian's real NVIDIA driver, kernel, headers and DKMS, from Debian's own archive, on real systemd and apt.
// Not real: the GPU, NVIDIA's own packages (stand-ins with its names) and the kernel, which is the machine's whatever
// `uname -r` says: Debian's is installed, its module is built for it, and nothing can load that.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { explainSmiFailure } from '../../../src/shared/health/smi-failure.ts';
import type { HostSpec } from '../../../src/fleet/inventory/fleet.ts';
import { driverStep } from '../../../src/fleet/steps/driver/step.ts';
import type { Desired } from '../../../src/fleet/steps/step.ts';
import { hostFindings } from '../../../src/fleet/verdict/host.ts';
import { desiredOf } from '../../support/host.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { mirror } from '../../../practice/lab/paths.ts';
import { installOwn } from '../support/host-history.ts';
import { StackRun } from '../support/stack-run.ts';
import { changesOf, removed, titles, described } from '../support/described-plan.ts';

const prefix = 'distro';
let lab: Lab;
const host = (name: string): LabHost => lab.host(name);

beforeAll(async () => {
  await removeLab(prefix);
  lab = await startLab({
    prefix,
    hosts: [
      { name: 'a', release: 'trixie', login: 'root', gpus: ['v100'] },
      { name: 'b', release: 'bookworm', login: 'sudo', gpus: ['h200'] },
    ],
  });
});
afterAll(() => removeLab(prefix));

const configured = (driver: Partial<HostSpec['driver']>): Desired =>
  desiredOf({ driver }, { mirrors: { nvidiaDriver: `${mirror}/nvidia` } });

/**
 * Debian's kernel, and what compiles for it: `uname` and /proc name the one in /run/lab-kernel, and after a boot the newest that
 * is installed.
 */
const ownKernel = `${installOwn('linux-image-amd64')}
cat >/usr/local/sbin/lab-kernel <<'END'
#!/bin/sh
[ -e /run/lab-kernel ] || ls /boot | sed -n 's/^vmlinuz-//p' | sort -V | tail -n 1 >/run/lab-kernel
mount --bind /run/lab-kernel /proc/sys/kernel/osrelease
END
cat >/usr/local/bin/uname <<'END'
#!/bin/sh
/bin/uname "$@" | sed "s/$(/bin/uname -r)/$(cat /proc/sys/kernel/osrelease)/"
END
cat >/etc/systemd/system/lab-kernel.service <<'END'
[Unit]
DefaultDependencies=no
Before=sysinit.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/lab-kernel
[Install]
WantedBy=sysinit.target
END
chmod 755 /usr/local/sbin/lab-kernel /usr/local/bin/uname
rm -f /usr/local/bin/gcc /usr/local/bin/make
systemctl enable -q --now lab-kernel`;

/** Until then one runs that is older than any of Debian's 6.12. */
const upgradedKernel = `echo 6.12.0-lab-amd64 >/run/lab-kernel
${ownKernel}`;

/** DKMS compiles some two hundred files: a minute or two where nothing else runs, much more where something does. */
const slow = { timeout: 3_000_000 };

describe("Debian's driver", () => {
  test(
    "replaces NVIDIA's, whose removal is planned by name, and is built for the kernel that boots next",
    slow,
    async () => {
      const driver = new StackRun(lab, [driverStep]);
      await driver.converge(host('a'), configured({ branch: '580' }));
      await host('a').exec(upgradedKernel);

      const asked = await driver.ask(host('a'), configured({ method: 'distro', branch: '550' }));
      expect(described(asked)).toEqual(
        expect.arrayContaining([
          expect.stringMatching(
            /^downgrade NVIDIA driver 580\.95\.05 → 550\.\d+\.\d+ \(the distribution's own, proprietary kernel modules\)$/,
          ),
          '- nvidia-driver-cuda 580.95.05',
          '- nvidia-driver-pinning-580 580.95.05',
          expect.stringMatching(/^~ downgrade .*libnvidia-ml1.* 580\.95\.05 → 550\./),
          // The other one came with NVIDIA's.
          "+ /etc/apt/sources.list.d/azp-fleet-non-free.sources: non-free non-free-firmware of the system's own archive",
          'reboot the host',
        ]),
      );
      for (const change of changesOf(asked)) await driver.apply(host('a'), change);

      const facts = await driver.facts(host('a'), configured({ method: 'distro', branch: '550' }));
      expect(facts.driver).toMatchObject({ loaded: undefined, userspace: expect.stringMatching(/^550\./) });
      expect(facts.kernels).toEqual([
        { release: expect.stringMatching(/^6\.12\.\d+\+deb13-amd64$/), headers: true, driver: true },
      ]);
      expect(facts.held).toEqual(expect.arrayContaining(['libcuda1', 'libnvidia-ml1', 'nvidia-smi']));
      expect(facts.files).toHaveProperty(['/etc/apt/sources.list.d/azp-fleet-non-free.sources']);
      expect(facts.files).not.toHaveProperty(['/etc/apt/sources.list.d/azp-fleet-nvidia.sources']);
      const { stdout } = await host('a').exec('dkms status');
      expect(stdout).toMatch(/^nvidia-current\/550\.[\d.]+, 6\.12\.\d+\+deb13-amd64, x86_64: installed$/m);
    },
  );

  test('is said to be built for the installed kernel, and not loaded', async () => {
    const driver = new StackRun(lab, [driverStep]);
    const desired = configured({ method: 'distro', branch: '550' });
    const asked = await driver.ask(host('a'), desired);
    expect(described(asked)).toEqual(['load the NVIDIA kernel module']);
    const built = /loading the NVIDIA module failed on Linux 6\.12\.\d+\+deb13-amd64/;
    for (const change of changesOf(asked))
      await expect(driver.apply(host('a'), change)).rejects.toThrow(built);
    const facts = await driver.facts(host('a'), desired);
    const provisioned = { ...facts, manager: { ...facts.manager, current: '0.2.0' } };
    expect(hostFindings(provisioned)[0]).toMatchObject({
      code: 'driver.not-loaded',
      what: expect.stringMatching(/built for Linux 6\.12\.\d+\+deb13-amd64, and not loaded$/),
    });
    expect(described(await driver.ask(host('a'), desired))).toEqual(['load the NVIDIA kernel module']);
  });

  test('has the real nvidia-smi and the real nvidia-persistenced, which say that there is no driver', async () => {
    const smi = await host('a').exec('nvidia-smi', { allowFailure: true });
    expect(smi.code).toBe(9);
    const run = { program: 'nvidia-smi', code: smi.code, output: smi.stdout + smi.stderr, timedOut: false };
    expect(explainSmiFailure(run, 'host')).toMatchObject({
      code: 'driver.not-loaded',
      what: 'the NVIDIA kernel module is not loaded',
    });
    const { driver } = await new StackRun(lab, [driverStep]).facts(host('a'), configured({}));
    expect(driver.services).toEqual([
      { unit: 'nvidia-persistenced.service', file: 'enabled', active: 'failed' },
    ]);
    const { stdout } = await host('a').exec('systemctl cat nvidia-persistenced.service');
    expect(stdout).toContain('ExecStart=/usr/bin/nvidia-persistenced --user nvpd');
  });

  test("goes for NVIDIA's by name, and leaves nothing that would hide its module", async () => {
    const driver = new StackRun(lab, [driverStep]);
    const desired = configured({ branch: '580' });
    const asked = await driver.ask(host('a'), desired);
    expect(removed(asked)).toEqual(expect.arrayContaining(['nvidia-alternative', 'nvidia-smi']));
    for (const change of changesOf(asked)) await driver.apply(host('a'), change);
    const again = await driver.ask(host('a'), desired);
    expect(described(again)).toEqual([]);
    const facts = await driver.facts(host('a'), desired);
    expect(facts.driver).toMatchObject({ loaded: '580.95.05', userspace: '580.95.05' });
    expect((await host('a').exec('modprobe -n -v nvidia')).stdout).not.toContain('nvidia-current');
  });
});

/** The GPU of that host can have either kind; of 535 the default is the other one. */
const openModules: Partial<HostSpec['driver']> = { method: 'distro', orNewer: true, flavor: 'open' };

describe('what Debian has', () => {
  test('is listed where another branch is configured', async () => {
    const { refusals } = await new StackRun(lab, [driverStep]).ask(
      host('b'),
      configured({ method: 'distro', branch: '580' }),
    );
    expect(refusals).toMatchObject([
      {
        what: 'driver 580 is not in the repositories; they have 535',
        next: "set driver.branch to one of these, or set driver.method to repo, for NVIDIA's own",
      },
    ]);
  });

  test('is installed where no branch is configured; a module that cannot be built is reported as such', async () => {
    const driver = new StackRun(lab, [driverStep]);
    const desired = configured({ method: 'distro', orNewer: true });
    const asked = await driver.ask(host('b'), desired);
    const [title] = described(asked);
    expect(title).toMatch(
      /^install NVIDIA driver 535\.[\d.]+ \(the distribution's own, proprietary kernel modules, compute only\)$/,
    );
    // There are no headers of the kernel that really runs: what replaces them is empty.
    for (const change of changesOf(asked))
      await expect(driver.apply(host('b'), change)).rejects.toThrow(/no NVIDIA module was built for Linux/);
    const smi = await host('b').exec('sudo nvidia-smi', { allowFailure: true });
    expect(
      explainSmiFailure(
        { program: 'nvidia-smi', code: smi.code, output: smi.stdout + smi.stderr, timedOut: false },
        'host',
      )?.code,
    ).toBe('driver.not-loaded');
    expect(described(await driver.ask(host('b'), desired))).toEqual(['load the NVIDIA kernel module']);
  });

  test('changes its kind of modules, the other of which goes by name', async () => {
    const driver = new StackRun(lab, [driverStep]);
    const asked = await driver.ask(host('b'), configured(openModules));
    expect(titles(asked)).toEqual([
      expect.stringMatching(/\(the distribution's own, open kernel modules\)$/),
    ]);
    expect(removed(asked)).toEqual(['nvidia-kernel-dkms', 'nvidia-kernel-support']);
    await expect(driver.converge(host('b'), configured(openModules))).rejects.toThrow(
      /no NVIDIA module was built for Linux/,
    );
    const { packages } = await driver.facts(host('b'), configured(openModules));
    expect(packages).toHaveProperty('nvidia-open-kernel-dkms');
    expect(packages).not.toHaveProperty('nvidia-kernel-dkms');
    const { stdout } = await host('b').exec('modprobe -n -v nvidia');
    expect(stdout).toContain('nvidia-current-open');
  });

  test(
    'is built for a kernel of Debian that was booted since, with planned headers, and not loaded',
    slow,
    async () => {
      const driver = new StackRun(lab, [driverStep]);
      const desired = configured(openModules);
      await host('b').exec(ownKernel);
      expect(titles(await driver.ask(host('b'), desired))).toEqual([
        expect.stringMatching(/^install linux-headers-6\.1\.0-\d+-amd64, linux-headers-amd64$/),
        'load the NVIDIA kernel module',
      ]);
      await expect(driver.converge(host('b'), desired)).rejects.toThrow(
        /loading the NVIDIA module failed on Linux 6\.1\.0-\d+-amd64/,
      );
      const { stdout } = await host('b').exec('dkms status');
      expect(stdout).toMatch(/^nvidia-current-open\/535\.[\d.]+, 6\.1\.0-\d+-amd64, x86_64: installed$/m);
      expect(titles(await driver.ask(host('b'), desired))).toEqual(['load the NVIDIA kernel module']);
    },
  );
});
