// A Debian that looks like Rocky Linux 9: dnf, rpm, versionlock, systemd, sshd and the Docker Engine are real, and so are the
// repositories. The driver, DKMS, the kernels and what else the system has are stand-ins; SELinux and firewalld are not there.
import { globSync, readFileSync } from 'node:fs';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { kernels } from '../../../practice/lab/enterprise-packages.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { mirror, network } from '../../../practice/lab/paths.ts';
import { until, type Output } from '../../../practice/lab/run.ts';
import { startCli, type CliRun } from '../support/cli.ts';

const prefix = 'enterprise';
const [kernel, newer] = kernels.map((version) => `${version}.x86_64`) as [string, string];
/** No server listens there. */
const gone = `http://${network.gateway}:9/gone`;

let lab: Lab;
let host: LabHost;
let azure: LabAzure;

beforeAll(async () => {
  await removeLab(prefix);
  lab = await startLab({
    prefix,
    hosts: [{ name: 'el', release: 'rocky9', login: 'sudo', gpus: ['l40s'] }],
  });
  host = lab.host('el');
  azure = await startAzure(prefix, lab.folder, { speed: 10 });
});
afterAll(() => removeLab(prefix));

/** Lets the process that holds the packages end, once our run waits for it by this name. */
async function letEnd(name: string): Promise<void> {
  await until(
    `a wait for ${name}`,
    () => Promise.resolve(log().includes(`waiting, because ${name} (pid `)),
    limits,
  );
  await host.exec('touch /run/enough');
}

const inventory = (version: string): Promise<string> =>
  writeInventory(lab, azure, { defaults: { driver: { version } } });

const limits = { timeoutMs: 900_000, everyMs: 500 };

/** What the scripts have said on the host in all runs. */
function log(): string {
  return globSync(`${lab.folder}/home/state/azp-fleet/logs/*`)
    .map((file) => readFileSync(file, 'utf8'))
    .join('');
}

/** Another dnf that is busy with a package for long, under the name of the program that it imitates. */
async function slowly(name: string, words: string): Promise<() => Promise<Output>> {
  const running = host.exec(
    `rm -f /run/enough; cp /usr/bin/dnf /usr/local/bin/${name}; exec ${name} -y ${words}`,
    { allowFailure: true },
  );
  await until(
    `${name} to hold the database`,
    async () => {
      const { stdout } = await host.exec(`cat "/proc/$(cat /var/lib/dnf/rpmdb_lock.pid)/comm"`, {
        allowFailure: true,
      });
      return stdout.trim() === name;
    },
    limits,
  );
  return () => running;
}

async function agent(): Promise<unknown> {
  const { pools } = await azure.control.overview();
  return pools.find(({ name }) => name === 'gpu-lab')?.agents.at(0);
}

const isAsWanted = async (file: string): Promise<void> => {
  const { code, stdout } = await azpFleet(lab.folder, ['plan', file]);
  expect(stdout).toContain('No changes: 1 host up to date.');
  expect(code).toBe(0);
};

/** Packages of the owner, whose installation continues until /run/enough is there. */
const site = `set -e
mkdir -p /root/site
for version in 1 2 3; do
  printf '%s\\n' '%define debug_package %{nil}' 'Name: site-slow' "Version: $version" 'Release: 1' 'Summary: x' 'License: MIT' \\
    'AutoReqProv: no' '%description' x '%post' 'until [ -e /run/enough ]; do sleep 0.5; done' '%files' >/root/site.spec
  rpmbuild -bb --quiet --define '_rpmdir /root/site' /root/site.spec >/dev/null 2>&1
done
createrepo_c -q /root/site
printf '[site]\\nname=site\\nbaseurl=file:///root/site\\ngpgcheck=0\\n' >/etc/yum.repos.d/site.repo`;

/** NVIDIA's repository as its guide has it added, with the stream of an older branch; tools of containers; a dead mirror. */
const history = `set -e
printf '[cuda-rhel9-x86_64]\\nname=cuda\\nbaseurl=${mirror}/nvidia/rhel9/x86_64\\ngpgcheck=0\\n' >/etc/yum.repos.d/cuda-rhel9.repo
dnf -y -q module enable nvidia-driver:595-open
dnf -y -q install buildah
printf '[gone]\\nname=gone\\nbaseurl=${gone}\\n' >/etc/yum.repos.d/gone.repo`;

describe('a fresh host with a history', () => {
  let run: CliRun;

  test('is provisioned while other programs hold its packages, and with a mirror that is gone', async () => {
    await host.exec(site);
    await host.exec(history);
    const yum = await slowly('yum', '--disablerepo=gone install site-slow-1');
    run = startCli(lab, ['provision', await inventory('580.65.06'), '--yes']);
    await letEnd('yum');
    expect((await yum()).code).toBe(0);
    await run.said(/install NVIDIA driver .*: done/);
    const automatic = await slowly('dnf-automatic', '--disablerepo=gone upgrade site-slow-2');
    await letEnd('dnf-automatic');
    const { code, stdout, stderr } = await run.done;
    expect(code, `${stdout}${stderr}`).toBe(0);
    expect((await automatic()).code).toBe(0);
    expect(stdout).toContain('1 host: 1 healthy');
    expect(await agent()).toMatchObject({ name: 'el-0', enabled: true, status: 'online' });
  });

  test('has seen by name in the plan what goes, and nothing else went', async () => {
    const docker = run.stdout().slice(run.stdout().indexOf(' Docker Engine 20.'));
    const names = [...docker.matchAll(/^ {13}- (\S+) /gm)].map(([, name]) => name);
    expect(new Set(names)).toEqual(new Set(['buildah', 'runc']));
    const { stdout } = await host.exec('rpm -q buildah runc site-slow docker-ce epel-release dkms', {
      allowFailure: true,
    });
    expect(stdout).toMatch(
      /^package buildah is not installed\npackage runc is not installed\nsite-slow-2-1\.x86_64\ndocker-ce-\S+\nepel-release-\S+\ndkms-\S+\n$/,
    );
  });

  test('names the process that it waits for, and in one line the mirror that is gone', () => {
    const said = log();
    expect(said).toMatch(/waiting, because yum \(pid \d+\) holds \/var\/lib\/(rpm|dnf)\//);
    expect(said).toMatch(/waiting, because dnf-automatic \(pid \d+\) holds \/var\/lib\/(rpm|dnf)\//);
    expect(said.match(/trying again in 3 s/g)).toHaveLength(1);
    expect(said).toContain(
      `continuing without a package source: ${gone}/repodata/repomd.xml cannot be read: Curl error (7)`,
    );
    expect(said).not.toContain('cannot remove the duplicates');
    expect(said).toContain('switching off /etc/yum.repos.d/cuda-rhel9.repo');
  });

  test('has what it was given locked, and a second run finds nothing to do', async () => {
    const { stdout } = await host.exec('dnf -q --disablerepo=gone --assumeno upgrade 2>&1', {
      allowFailure: true,
    });
    expect(stdout).not.toMatch(/docker|containerd|nvidia/);
    await isAsWanted(await inventory('580.65.06'));
  });
});

describe('a kernel upgrade between two runs', () => {
  test('is refused where its owner keeps the headers back, with what frees them', async () => {
    await host.exec(`rm /etc/yum.repos.d/gone.repo
      dnf -q -y install kernel-core-${newer}
      dnf -q --disablerepo='*' versionlock add kernel-devel`);
    const { code, stdout } = await azpFleet(lab.folder, ['plan', await inventory('580.95.05')]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/kernel-devel/);
    expect(stdout).toMatch(/next: .*versionlock delete kernel-devel/);
    await host.exec(`dnf -q --disablerepo='*' versionlock delete kernel-devel`);
  });

  test('and an upgrade in the branch, after a transaction that was killed: headers, module, a proven reboot', async () => {
    const before = await host.bootId();
    expect((await host.exec('uname -r')).stdout.trim()).toBe(kernel);
    const upgrade = await slowly('yum', 'upgrade site-slow-3');
    await until(
      'the new one to be there beside the old one',
      async () => (await host.exec('rpm -q site-slow')).stdout.trim().split('\n').length === 2,
      limits,
    );
    await host.exec('pkill -9 -x yum; touch /run/enough');
    expect((await upgrade()).code).not.toBe(0);
    const file = await inventory('580.95.05');
    const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', file, '--yes']);
    expect(code, `${stdout}${stderr}`).toBe(0);
    expect(await host.bootId()).not.toBe(before);
    const { stdout: now } = await host.exec(
      `uname -r; rpm -q site-slow kernel-devel; nvidia-smi --query-gpu=driver_version --format=csv,noheader`,
    );
    expect(now.split('\n').slice(0, -1)).toEqual([
      newer,
      'site-slow-3-1.x86_64',
      `kernel-devel-${kernel}`,
      `kernel-devel-${newer}`,
      '580.95.05',
    ]);
    await isAsWanted(file);
  });
});

describe('another branch', () => {
  test('comes although the stream of the old one is enabled, and its agent works again', async () => {
    await host.exec(`sed -i 's/595-open/580-open/g' /etc/dnf/modules.d/nvidia-driver.module`);
    const file = await inventory('595.71.05');
    const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', file, '--yes']);
    expect(code, `${stdout}${stderr}`).toBe(0);
    expect((await host.exec('cat /usr/lib/nvidia-standin/kmod')).stdout).toBe('595.71.05\n');
    expect(await agent()).toMatchObject({ enabled: true, status: 'online' });
    await isAsWanted(file);
  });
});
