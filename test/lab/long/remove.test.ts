// A machine that joins the fleet and leaves it again: what is on its disk then is what was on it before, and what differs is
// named with its reason. Real: systemd, apt, dpkg, Docker Engine with CDI, users, routing rules, the manager, lost packets,
// a power cut. Stand-ins: the GPUs, NVIDIA's packages, Azure DevOps, the agent program.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { startLab, type Lab } from '../../../practice/lab/lab.ts';
import { mirror } from '../../../practice/lab/paths.ts';
import { run, until } from '../../../practice/lab/run.ts';
import { startCli, type CliRun } from '../support/cli.ts';
import { ManagedHost, pool } from '../support/managed-host.ts';
import { allowList, differences, snapshot, type Snapshot } from '../support/snapshot.ts';

const slots = [
  { name: 'box', gpus: [0] },
  { name: 'bare', gpus: [1], mode: 'host', capabilities: ['compute'] },
];
const stack = ['--toolkit', '--docker', '--driver'];

let lab: Lab;
let azure: LabAzure;
let leaver: LabHost;
let managed: ManagedHost;
let inventory: string;
let before: Snapshot;
let accounts: readonly string[];

const say = (script: string) =>
  leaver.exec(script, { allowFailure: true }).then(({ stdout }) => stdout.trim());
const removal = (...args: readonly string[]) => ['remove', ...args, '-i', inventory, '--yes'];
const remove = (...args: readonly string[]) => azpFleet(lab.folder, removal(...args));
const agents = async () => {
  const { pools } = await azure.control.overview();
  return pools.find(({ name }) => name === pool)?.agents ?? [];
};
const agentsInPool = async () => (await agents()).map(({ name }) => name).toSorted();
/** Names and numbers of users and groups, but for the group that Docker's package makes and leaves. */
const accountsOf = async () => {
  const found = await say('cut -d : -f 1,3 /etc/passwd /etc/group | sort');
  return found.split('\n').filter((line) => !line.startsWith('docker:'));
};

async function provision(): Promise<void> {
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', inventory, '--yes']);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
}

beforeAll(async () => {
  lab = await startLab({
    prefix: 'leave',
    hosts: [{ name: 'leaver', release: 'trixie', login: 'sudo', gpus: ['h200', 'h200'] }],
  });
  leaver = lab.host('leaver');
  azure = await startAzure('leave', lab.folder, { speed: 20 });
  managed = new ManagedHost(leaver, azure);
  inventory = await writeInventory(lab, azure, { hosts: { leaver: { agents: slots } } });
  // A file of the owner for a repository that ours replaces while it is configured.
  await leaver.exec(
    `echo 'deb [trusted=yes] ${mirror}/docker/debian trixie stable' >/etc/apt/sources.list.d/docker.list`,
  );
  accounts = await accountsOf();
  before = await snapshot(leaver);
  await provision();
});
afterAll(() => lab.remove());

describe('what is ours', () => {
  test('a dry run says what goes, and takes nothing', async () => {
    const { code, stdout } = await azpFleet(lab.folder, ['remove', 'leaver', '-i', inventory, '--dry-run']);
    expect(code).toBe(0);
    expect(stdout).toContain('stop the manager and remove its unit');
    expect(stdout).toContain('release the hold on Docker Engine');
    expect(await say('systemctl is-active azp-fleet-manager')).toBe('active');
  });

  test('goes when the job that runs has ended; Docker and driver work on', async () => {
    const job = await managed.holdJob('leaver-box');
    await leaver.exec(
      'docker run -d --name theirs --entrypoint sleep $(docker image ls -q | head -n 1) 1000',
    );
    const removing = startCli(lab, removal('leaver'));
    await removing.said(/waiting for slot box/);
    expect(await job.end()).toMatchObject({ result: 'succeeded' });
    const { code, stdout, stderr } = await removing.done;
    expect(code, `${stdout}\n${stderr}`).toBe(0);
    expect(await agentsInPool()).toEqual([]);
    expect(await say('systemctl list-units --all --plain --no-legend "azp-fleet*"')).toBe('');
    expect(await say('docker ps --format "{{.Names}}"')).toBe('theirs');
    expect(await say('docker network ls --format "{{.Name}}" | grep azp-fleet')).toBe('');
    expect(await say('ip rule show | grep -E "azp-fleet0|uidrange 58"')).toBe('');
    expect(await say('getent passwd | grep azp-agent')).toBe('');
    expect(await say('apt-mark showhold')).toBe('');
    // Docker keeps its source, and gets upgrades from it.
    expect(await say('ls /etc/apt/sources.list.d/docker.list*')).toMatch(/azp-fleet-docker\.disabled$/);
    expect(await say('nvidia-smi -L | wc -l')).toBe('2');
  });

  test('a second time there is nothing to do', async () => {
    const { code, stdout } = await remove('leaver');
    expect(code, stdout).toBe(0);
    expect(stdout).toContain('no changes');
  });
});

describe('toolkit, engine and driver, cut three times', () => {
  const cutAt = ['nvidia-container-toolkit', 'docker-ce', 'nvidia-driver-cuda'] as const;
  const reached = async (name: (typeof cutAt)[number]) =>
    until(`dpkg to take ${name} away`, async () => {
      const { code } = await leaver.exec(`test -e /root/reached-${name}`, { allowFailure: true });
      return code === 0;
    });
  const goOn = (name: (typeof cutAt)[number]) => leaver.exec(`rm /root/slow-${name} /root/reached-${name}`);
  /** From here to its sshd. */
  const connected = (is: boolean) =>
    until(`the run to be ${is ? 'connected' : 'cut off'}`, async () => {
      const { stdout } = await run('ss', ['-Htn', 'state', 'established', 'dst', leaver.address]);
      return (stdout.trim() !== '') === is;
    });
  const begin = (): CliRun => startCli(lab, removal('leaver', ...stack));

  beforeAll(async () => {
    await leaver.exec('docker rm -f theirs');
    // dpkg stays in the middle of each until the test ends it.
    for (const name of cutAt)
      await leaver.exec(`script=/var/lib/dpkg/info/${name}.prerm
[ -e $script ] || { echo '#!/bin/sh' >$script; chmod 755 $script; }
sed -i '1a touch /root/reached-${name}; while [ -e /root/slow-${name} ]; do sleep 0.2; done' $script
touch /root/slow-${name}`);
  });

  test('by Ctrl-C: the change continues and is named', async () => {
    const removing = begin();
    await reached('nvidia-container-toolkit');
    removing.child.kill('SIGINT');
    const { code, stdout } = await removing.done;
    expect(code).toBe(130);
    expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
      /which continues on the host as azp-fleet-change-\S+; run again/,
    );
    await goOn('nvidia-container-toolkit');
  });

  test('by a lost connection, after which the run continues, and by a power cut in the middle of dpkg', async () => {
    const removing = begin();
    await reached('docker-ce');
    await leaver.blackHole(true);
    await connected(false);
    await leaver.blackHole(false);
    await connected(true);
    await leaver.powerOff();
    await leaver.powerOn();
    const { code, stdout } = await removing.done;
    expect(code).toBe(1);
    expect(stdout).toContain('ended without a result');
    expect(await say(`dpkg-query -W -f '\${db:Status-Status}' docker-ce`)).toBe('half-configured');
    await goOn('docker-ce');
  });

  test('by SIGKILL', async () => {
    const removing = begin();
    await reached('nvidia-driver-cuda');
    removing.child.kill('SIGKILL');
    await removing.done;
    await goOn('nvidia-driver-cuda');
  });

  test('the next run takes it up, and the disk is as before, but for what is listed with its reason', async () => {
    const { code, stdout, stderr } = await begin().done;
    expect(code, `${stdout}\n${stderr}`).toBe(0);
    expect(await accountsOf()).toEqual(accounts);
    expect(differences(before, await snapshot(leaver), allowList('allowed-by-remove.txt'))).toEqual([]);
  });
});

test('provision brings it back, without a reboot: nothing uses what is left of the driver', async () => {
  const boot = await leaver.bootId();
  await provision();
  expect(await leaver.bootId()).toBe(boot);
  expect(await agentsInPool()).toEqual(['leaver-bare', 'leaver-box']);
});

test('--gone removes the agents of a machine that no longer exists, without a connection to it', async () => {
  await leaver.powerOff();
  await until('its agents to be offline', async () =>
    (await agents()).every(({ status }) => status === 'offline'),
  );
  const { code, stdout, stderr } = await azpFleet(lab.folder, [
    'remove',
    '--gone',
    'leaver',
    '-i',
    inventory,
    '--yes',
  ]);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  expect(await agentsInPool()).toEqual([]);
  expect(stdout).toContain('leaver is still in');
});
