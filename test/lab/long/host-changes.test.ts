// Changes that happen to real hosts, on Debian 12, Debian 13, and Debian 12 that looks like Ubuntu 24.04. Real: systemd, sshd, sudo,
// apt, dpkg, Docker Engine, the power cut, depmod and modinfo. Stand-ins: NVIDIA's and Docker's packages under the vendors'
// names (what is in Docker's is Debian's), a kernel that is installed and never boots, DKMS, unattended-upgrades.
import { readFileSync } from 'node:fs';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { scriptFailure } from '../../../src/fleet/apply/execute.ts';
import type { Change } from '../../../src/fleet/steps/change.ts';
import { buildDeb, type Deb } from '../../../practice/lab/deb.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { type Lab, removeLab, startLab } from '../../../practice/lab/lab.ts';
import { olderVersion } from '../../../practice/lab/nvidia-packages.ts';
import { mirror, ports } from '../../../practice/lab/paths.ts';
import { until } from '../../../practice/lab/run.ts';
import { StackRun, desiredStack } from '../support/stack-run.ts';
import { dressAsUbuntu, giveDkms, giveKernel, holdLock, runContainer } from '../support/host-history.ts';

const prefix = 'changes';
const branch = '595';
const newest = '595.71.05';
const before = '580.95.05';
/** Where NVIDIA's packages for it are. */
const folders: Readonly<Record<string, string>> = {
  deb12: 'debian12',
  deb13: 'debian13',
  ubuntu: 'ubuntu2404',
};

let lab: Lab;
let stack: StackRun;
beforeAll(async () => {
  await removeLab(prefix);
  lab = await startLab({
    prefix,
    hosts: [
      { name: 'deb12', release: 'bookworm', login: 'sudo', gpus: ['h200'] },
      { name: 'deb13', release: 'trixie', login: 'root', gpus: ['h200'] },
      { name: 'ubuntu', release: 'bookworm', login: 'sudo', gpus: ['l40s'] },
    ],
  });
  stack = new StackRun(lab);
  await dressAsUbuntu(lab.host('ubuntu'));
});
afterAll(() => removeLab(prefix));

const all = <T>(work: (host: LabHost) => Promise<T>): Promise<T[]> => Promise.all(lab.hosts.map(work));

async function install(host: LabHost, deb: Deb, how = 'dpkg -i'): Promise<void> {
  const input = readFileSync(await buildDeb(deb, `${lab.folder}/${host.name}`));
  await host.exec(`cat >/root/x.deb && ${how} /root/x.deb && rm /root/x.deb`, { input });
}

const titles = (changes: readonly (readonly { readonly title: string }[])[]): string[] =>
  changes.flat().map(({ title }) => title);

async function loaded(host: LabHost): Promise<string> {
  return (await host.exec('nvidia-smi --query-gpu=driver_version --format=csv,noheader')).stdout.trim();
}

/** Everything is up to date, nothing half done, and a second run finds nothing to do. */
async function expectSettled(host: LabHost, driver: Parameters<typeof desiredStack>[1], version: string) {
  const plan = await stack.ask(host, desiredStack(host, driver));
  expect(plan, host.name).toMatchObject({ stages: [], refusals: [] });
  expect(await loaded(host), host.name).toBe(version);
  expect((await host.exec('dpkg --audit')).stdout, host.name).toBe('');
}

async function changeOf(
  host: LabHost,
  driver: Parameters<typeof desiredStack>[1],
  name: string,
): Promise<Change> {
  const { stages } = await stack.ask(host, desiredStack(host, driver));
  const change = stages.flat().find((one): one is Change => one.kind === 'change' && one.id.startsWith(name));
  if (change === undefined) throw new Error(`${host.name} plans no ${name}: ${titles(stages).join(', ')}`);
  return change;
}

test('a full disk: refused with the numbers, before anything is changed', async () => {
  await all(async (host) => {
    const packages = async () => (await host.exec('sha256sum /var/lib/dpkg/status')).stdout;
    const there = await packages();
    await host.exec('mount -t tmpfs -o size=1m tmpfs /var/cache');
    try {
      const { refusals } = await stack.ask(host, desiredStack(host));
      expect(refusals.map(({ what }) => what).join('\n'), host.name).toMatch(
        /needs \d+ MB on \/var\/cache including the changes before it; 1 MB are free/,
      );
    } finally {
      await host.exec('umount /var/cache');
    }
    expect(await packages()).toBe(there);
  });
});

test('an interrupted dpkg and a held lock: a fresh host comes up all the same, and says for whom it waited', async () => {
  await all(async (host) => {
    await install(host, { name: 'site-half', version: '1', description: 'unpacked' }, 'dpkg --unpack');
    expect((await host.exec('dpkg --audit')).stdout).toContain('site-half');
    const holder = await holdLock(host, 'unattended-upgr');
    const run = stack.converge(host, desiredStack(host, { branch, version: olderVersion }));
    run.catch(() => undefined);
    try {
      await holder.waitedFor();
    } finally {
      await holder.letGo();
    }
    await run;
    await expectSettled(host, { branch, version: olderVersion }, olderVersion);
    const { stdout } = await host.exec("dpkg-query -W -f '${db:Status-Status}' site-half");
    expect(stdout).toBe('installed');
  });
});

test('a mirror that fails twice: one line with its URL, and nothing is changed', async () => {
  const rule = `OUTPUT -p tcp --dport ${ports.mirror} -j REJECT --reject-with tcp-reset`;
  await all(async (host) => {
    const driver = { branch, version: newest };
    const change = await changeOf(host, driver, 'driver-install');
    await host.exec(`iptables -I ${rule}`);
    const output = await stack.apply(host, change).then(
      () => '',
      (error: unknown) => String(error),
    );
    await host.exec(`iptables -D ${rule}`);
    const { problem } = scriptFailure(change.title, 1, output);
    expect(problem.what, host.name).toMatch(
      new RegExp(`^${mirror}/nvidia/${folders[host.name]}/x86_64/\\S+ cannot be read$`),
    );
    expect(problem.seen).toMatch(/^(Could not|Unable to) connect to [^\n]+$/);
    expect(problem.next).toBe('check the network, the proxy and the mirrors in the inventory, and run again');
    await expectSettled(host, { branch, version: olderVersion }, olderVersion);
  });
});

test('the power goes in the middle of an upgrade within the branch: the next run ends it', async () => {
  const driver = { branch, version: newest };
  await all(async (host) => {
    const { stages } = await stack.ask(host, desiredStack(host, driver));
    expect(titles(stages)[0], host.name).toMatch(
      `upgrade NVIDIA driver ${olderVersion} → ${newest} (open kernel modules)`,
    );
    // dpkg waits as it does on a slow disk, once it has unpacked all and configured nothing.
    await host.exec(`cat >/usr/local/sbin/slow-dpkg <<'END'
#!/bin/sh
case "$*" in *--configure*) touch /root/reached; while [ -e /root/slow ]; do sleep 0.2; done ;; esac
exec /usr/bin/dpkg "$@"
END
chmod 755 /usr/local/sbin/slow-dpkg
touch /root/slow
echo 'Dir::Bin::dpkg "/usr/local/sbin/slow-dpkg";' >/etc/apt/apt.conf.d/99slow`);
    const change = await changeOf(host, driver, 'driver-install');
    const run = stack.apply(host, change).catch((error: unknown) => String(error));
    await until(`dpkg on ${host.name} to be in the middle`, async () => {
      const { code } = await host.exec('test -e /root/reached', { allowFailure: true });
      return code === 0;
    });
    await host.powerOff();
    await host.powerOn();
    await run;
    await host.exec('rm -f /root/slow /etc/apt/apt.conf.d/99slow');
    expect((await host.exec('dpkg --audit')).stdout, host.name).not.toBe('');
    await stack.converge(host, desiredStack(host, driver));
    await expectSettled(host, driver, newest);
  });
});

test('a foreign container: a driver change is refused with its name, and comes when it has ended', async () => {
  const driver = { branch: '580' };
  await all(async (host) => {
    await runContainer(host, 'training');
    const { refusals } = await stack.ask(host, desiredStack(host, driver), false);
    expect(refusals.map(({ what }) => what).join('\n'), host.name).toContain(
      'would disturb work of others: container training',
    );
    expect(await loaded(host)).toBe(newest);
    await host.exec('docker rm -f training');
    const { refusals: after } = await stack.ask(host, desiredStack(host, driver), false);
    expect(after.filter(({ what }) => what.includes('training'))).toEqual([]);
  });
});

test('another branch, while unattended-upgrades installs a package that it removes: stopped with its name, then as agreed', async () => {
  const driver = { branch: '580' };
  await all(async (host) => {
    const change = await changeOf(host, driver, 'driver-install');
    await install(host, {
      name: 'site-late',
      version: '1',
      description: 'depends on the branch',
      depends: [`nvidia-driver-pinning-${newest}`],
    });
    const holder = await holdLock(host, 'unattended-upgr');
    const run = stack.apply(host, change);
    run.catch(() => undefined);
    try {
      await holder.waitedFor();
    } finally {
      await holder.letGo();
    }
    await expect(run, host.name).rejects.toThrow(/apt would also remove other packages\n[^]*seen: site-late/);
    expect(await loaded(host)).toBe(newest);
    await stack.converge(host, desiredStack(host, driver));
    await expectSettled(host, driver, before);
  });
});

test('a kernel upgrade between two runs: the next kernel gets its headers and its module', async () => {
  await all(async (host) => {
    const flavor = host.name === 'ubuntu' ? 'generic' : 'amd64';
    const release = `6.99.0-1-${flavor}`;
    await giveDkms(host, before);
    await giveKernel(host, { flavor, release, folder: `${lab.folder}/${host.name}` });
    const desired = desiredStack(host, { branch: '580' });
    const { stages } = await stack.ask(host, desired);
    expect(titles(stages), host.name).toEqual([
      `install linux-headers-${release}, linux-headers-${flavor}`,
      `build the NVIDIA module for Linux ${release}`,
    ]);
    await stack.converge(host, desired);
    await expectSettled(host, { branch: '580' }, before);
    const { stdout } = await host.exec(`modinfo -k ${release} -F version nvidia`);
    expect(stdout.trim()).toBe(before);
  });
});
