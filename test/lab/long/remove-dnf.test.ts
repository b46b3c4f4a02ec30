// A machine with dnf that joins the fleet and leaves it again: what is on its disk then is what was on it before, and what
// differs is named with its reason. Debian that looks like Rocky Linux 9. Real: systemd, dnf, rpm, versionlock, Docker Engine,
// users, routing rules, the manager, a power cut. Stand-ins: the GPUs, the driver, DKMS, Azure DevOps, the agent program.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { mirror, network } from '../../../practice/lab/paths.ts';
import { until } from '../../../practice/lab/run.ts';
import { startCli } from '../support/cli.ts';
import { pool } from '../support/managed-host.ts';
import { allowList, differences, snapshot, type Snapshot } from '../support/snapshot.ts';

const prefix = 'dnf-leave';
const stack = ['--toolkit', '--docker', '--driver'];
const slots = [
  { name: 'box', gpus: [0] },
  { name: 'bare', gpus: [1], mode: 'host', capabilities: ['compute'] },
];

let lab: Lab;
let azure: LabAzure;
let host: LabHost;
let inventory: string;
let before: Snapshot;
let packages: readonly string[];
let accounts: string;
let locks: string;

const say = (script: string) => host.exec(script, { allowFailure: true }).then(({ stdout }) => stdout.trim());
/** But for the vendors' keys, as rpm keeps them: others may have signed with them, too. */
const installed = async () =>
  (await say(`rpm -qa --qf '%{NAME}\\n' | grep -v gpg-pubkey | sort`)).split('\n');
/** Names and numbers of users and groups, but for the group that Docker's package makes and leaves. */
const accountsOf = () => say('cut -d : -f 1,3 /etc/passwd /etc/group | grep -v ^docker: | sort');
const lockList = () => say('cat /etc/dnf/plugins/versionlock.list');
const removal = (...args: readonly string[]) => ['remove', 'el', ...args, '-i', inventory, '--yes'];
const agents = async () => {
  const { pools } = await azure.control.overview();
  return (pools.find(({ name }) => name === pool)?.agents ?? []).map(({ name }) => name).toSorted();
};

async function done(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await azpFleet(lab.folder, args);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

/**
 * What the owner has: NVIDIA's repository as its guide has it added, a lock, a repository that does not answer, and a package
 * that has rpm wait in the middle of taking docker-ce away for as long as /root/slow is there.
 */
const history = `set -e
printf '[cuda-rhel9-x86_64]\\nname=cuda\\nbaseurl=${mirror}/nvidia/rhel9/x86_64\\ngpgcheck=0\\n' >/etc/yum.repos.d/cuda-rhel9.repo
mkdir -p /root/site
printf '%s\\n' '%define debug_package %{nil}' 'Name: site-watch' 'Version: 1' 'Release: 1' 'Summary: x' 'License: MIT' \\
  'AutoReqProv: no' '%description' x '%triggerun -- docker-ce' 'touch /root/reached; while [ -e /root/slow ]; do sleep 0.2; done' \\
  '%files' >/root/site.spec
rpmbuild -bb --quiet --define '_rpmdir /root/site' /root/site.spec >/dev/null 2>&1
dnf -y -q install 'dnf-command(versionlock)' /root/site/x86_64/site-watch-1-1.x86_64.rpm
dnf -q versionlock add bash
printf '%s\\n' '# broken with our storage' '!docker-ce-3:28.0.0-1.el9.*' >>/etc/dnf/plugins/versionlock.list
printf '[gone]\\nname=gone\\nbaseurl=http://${network.gateway}:9/gone\\n' >/etc/yum.repos.d/gone.repo`;

beforeAll(async () => {
  await removeLab(prefix);
  lab = await startLab({
    prefix,
    hosts: [{ name: 'el', release: 'rocky9', login: 'sudo', gpus: ['h200', 'h200'] }],
  });
  host = lab.host('el');
  azure = await startAzure(prefix, lab.folder, { speed: 20 });
  inventory = await writeInventory(lab, azure, { hosts: { el: { agents: slots } } });
  await host.exec(history);
  accounts = await accountsOf();
  packages = await installed();
  locks = await lockList();
  before = await snapshot(host);
  await done(['provision', inventory, '--yes']);
});
afterAll(() => removeLab(prefix));

describe('what is ours', () => {
  test('goes; Docker, driver and the containers of others work on, and get upgrades again', async () => {
    await host.exec('docker run -d --name theirs --entrypoint sleep $(docker image ls -q | head -n 1) 1000');
    await done(removal());
    expect(await agents()).toEqual([]);
    expect(await say('systemctl list-units --all --plain --no-legend "azp-fleet*"')).toBe('');
    expect(await say('docker ps --format "{{.Names}}"')).toBe('theirs');
    expect(await say('ip rule show | grep -E "azp-fleet0|uidrange 58"')).toBe('');
    expect(await accountsOf()).toBe(accounts);
    expect(await lockList()).toBe(locks);
    expect(await say('nvidia-smi -L | wc -l')).toBe('2');
  });

  test('a second time there is nothing to do', async () => {
    expect(await done(removal())).toContain('no changes');
  });
});

describe('toolkit, engine and driver', () => {
  test('a power cut in the middle of rpm ends the removal, and is said', async () => {
    await host.exec('docker rm -f theirs; touch /root/slow');
    const removing = startCli(lab, removal(...stack));
    await until(
      'rpm to take docker-ce away',
      async () => (await host.exec('test -e /root/reached', { allowFailure: true })).code === 0,
    );
    await host.powerOff();
    await host.powerOn();
    const { code, stdout } = await removing.done;
    expect(code).toBe(1);
    expect(stdout).toContain('ended without a result');
    await host.exec('rm /root/slow /root/reached');
  });

  test('the next run takes it up, and only what came along is installed beside what was before', async () => {
    await done(removal(...stack));
    const came = (await installed()).filter((name) => !packages.includes(name));
    expect(came).toEqual([
      'container-selinux',
      'dkms',
      'epel-release',
      'gcc',
      'kernel-devel',
      'krb5-libs',
      'libicu',
      'make',
      'ocl-icd',
      'opencl-filesystem',
      'openssl-libs',
      'zlib',
    ]);
    expect(await installed()).toEqual(expect.arrayContaining([...packages]));
    expect(await lockList()).toBe(locks);
  });

  test('the disk is as before, but for what is listed with its reason; the source of another is back', async () => {
    expect(await accountsOf()).toBe(accounts);
    const allowed = allowList('allowed-by-remove-dnf.txt');
    expect(differences(before, await snapshot(host), allowed)).toEqual([]);
  });
});

test('provision brings it back, without a reboot: nothing uses what is left of the driver', async () => {
  const boot = await host.bootId();
  await done(['provision', inventory, '--yes']);
  expect(await agents()).toEqual(['el-bare', 'el-box']);
  expect(await host.bootId()).toBe(boot);
});
