// `upgrade` on a fleet at work: twelve slots on three hosts, with more jobs than slots all the time. Real: CLI, SSH, apt, systemd,
// reboots, Docker, managers. Stand-ins: the GPUs, NVIDIA's packages, the agent program, Azure DevOps.
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, type Lab } from '../../../practice/lab/lab.ts';
import { startStackLab } from '../../../practice/lab/provisioned.ts';
import { breakAtBoot, repair } from '../support/gpu-fault.ts';
import { ManagedHost, pool, settings } from '../support/managed-host.ts';
import { release } from '../support/release.ts';

const names = ['u1', 'u2', 'u3'];
const allIdle = 'idle idle idle idle';
let lab: Lab;
let azure: LabAzure;
let inventory: string;
beforeAll(async () => {
  await removeLab('upgrade');
  lab = await startStackLab({
    prefix: 'upgrade',
    hosts: names.map((name) => ({ name, release: 'bookworm', login: 'root', gpus: ['h200'] })),
  });
  await withOldStorage(lab.host('u3'));
  azure = await startAzure('upgrade', lab.folder);
  inventory = await writeInventory(lab, azure, { defaults: { agents: 4, share: true } });
  writeFileSync(inventory, `# the lab of the upgrade test\n${text()}# the end\n`);
  const { code, stdout, stderr } = await cli('provision', '--yes');
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  for (const name of names) await on(name).are(allIdle);
});
afterAll(async () => {
  await azure.stop();
  await lab.remove();
});

const cli = (...args: readonly string[]) => azpFleet(lab.folder, [...args, '-i', inventory]);
const text = () => readFileSync(inventory, 'utf8');
const on = (name: string) => new ManagedHost(lab.host(name), azure);
const oneLine = (output: string) => output.replaceAll(/\s+/g, ' ');

/** A storage driver that Docker 24 and newer cannot read. */
async function withOldStorage(host: LabHost): Promise<void> {
  await host.exec(`[ -s /etc/docker/daemon.json ] || echo '{}' >/etc/docker/daemon.json
perl -0pi -e 's/^\\{(\\s*)("?)/{ "storage-driver": "overlay"@{[$2 ? "," : ""]}$1$2/' /etc/docker/daemon.json
systemctl restart docker`);
}

/** What an upgrade of any part leaves behind. */
async function traces(host: LabHost): Promise<string> {
  const { stdout } = await host.exec(
    `dpkg-query -W; cat /proc/sys/kernel/random/boot_id; readlink /opt/azp-fleet/current; sha256sum /etc/azp-fleet/manager.json`,
  );
  return stdout;
}

async function tracesOf(hosts: readonly string[]): Promise<readonly string[]> {
  return Promise.all(hosts.map((name) => traces(lab.host(name))));
}

/** Keeps more jobs waiting than there are slots while `work` runs. Every job must succeed. */
async function underLoad<T>(work: () => Promise<T>): Promise<T> {
  const jobs = [...(await azure.control.queue({ pool, script: 'sleep 4; echo done', count: 24 }))];
  const over = new AbortController();
  const feeding = (async () => {
    while (!over.signal.aborted) {
      const { length: left } = (await azure.control.jobs()).filter(({ state }) => state !== 'done');
      if (left < 24)
        jobs.push(...(await azure.control.queue({ pool, script: 'sleep 4; echo done', count: 12 })));
      await delay(settings.interval);
    }
  })();
  try {
    return await work();
  } finally {
    over.abort();
    await feeding;
    const done = await on('u1').finished(jobs);
    expect(done.filter(({ result }) => result !== 'succeeded')).toEqual([]);
    expect(done).toHaveLength(jobs.length);
  }
}

test('the table has what is installed, configured, offered and supported, and changes nothing', async () => {
  const before = [text(), ...(await tracesOf(names))];
  const { code, stdout, stderr } = await cli('upgrade');
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  expect(stdout).toMatch(/^driver +580\.95\.05 +580 +580\.95\.05, 595\.71\.05 +until 2028-06 +u\[1-3\]$/m);
  expect(stdout).toMatch(/^agent +5\.279\.0 +5\.279\.0 +5\.279\.0 /m);
  expect([text(), ...(await tracesOf(names))]).toEqual(before);
});

test('a Docker that could not read the images of one host: nothing is changed anywhere', async () => {
  const before = [text(), ...(await tracesOf(names))];
  const { code, stderr } = await underLoad(() => cli('upgrade', 'docker', '--to', '29.7.2', '--yes'));
  expect(code).toBe(1);
  expect(oneLine(stderr)).toContain('Docker stores its images with overlay');
  expect(oneLine(stderr)).toContain('No changes made: not all hosts can be upgraded');
  expect([text(), ...(await tracesOf(names))]).toEqual(before);
});

describe('a driver that reboots the hosts', () => {
  test('the canary loses its GPU: nothing after it is touched, the inventory is unchanged, the way back is named', async () => {
    const canary = lab.host('u1');
    const before = { text: text(), others: await tracesOf(['u2', 'u3']) };
    await breakAtBoot(canary);
    const { code, stderr } = await underLoad(() => cli('upgrade', 'driver', '--to', '595', '--yes'));
    expect(code).toBe(1);
    expect(text()).toBe(before.text);
    expect(await tracesOf(['u2', 'u3'])).toEqual(before.others);
    expect(await on('u1').states()).toMatch(/^(drained ?){4}$/);
    expect(oneLine(stderr)).toContain('to go back (docs/upgrade.md): azp-fleet upgrade driver u1 --to 580');
  });

  test('repaired, the same command ends what it began, and writes the version with the comments kept', async () => {
    await repair(lab.host('u1'));
    const before = text();
    const { code, stdout, stderr } = await underLoad(() => cli('upgrade', 'driver', '--to', '595', '--yes'));
    expect(code, `${stdout}\n${stderr}`).toBe(0);
    expect(text()).toBe(before.replace(/(driver:\s+branch: )"?580"?/, '$1"595"'));
    for (const name of names) await expect.poll(on(name).states, settings).toBe(allIdle);
    expect((await cli('plan')).code).toBe(0);
  });

  test('the way back of one host is written at that host, and the others stay', async () => {
    const others = await tracesOf(['u1', 'u3']);
    const { code, stdout, stderr } = await cli('upgrade', 'driver', 'u2', '--to', '580', '--yes');
    expect(code, `${stdout}\n${stderr}`).toBe(0);
    expect(text()).toContain('driver: { branch: "580" }');
    expect(await tracesOf(['u1', 'u3'])).toEqual(others);
    expect((await cli('plan')).code).toBe(0);
  });
});

describe('a manager', () => {
  const upgrade = ['upgrade', 'manager', '--to', 'default', '--yes'];

  test('goes through the fleet under jobs that continue', async () => {
    const held = await on('u1').holdJob('u1-0');
    const containers = await on('u1').containers();
    await release(lab.folder, 'next')([...upgrade, '-i', inventory]);
    expect(await on('u1').containers()).toEqual(expect.arrayContaining([containers[0]]));
    expect(await held.end()).toMatchObject({ result: 'succeeded' });
  });

  test('that does not start is rolled back on the canary, and reaches no other host', async () => {
    const before = await tracesOf(names);
    const broken = release(lab.folder, 'broken', "console.error('broken on purpose'); process.exit(9);");
    const { code, stderr } = await underLoad(() =>
      broken([...upgrade, '-i', inventory], { allowFailure: true }),
    );
    expect(code).toBe(1);
    expect(oneLine(stderr)).toContain('the previous one is restored');
    expect(await tracesOf(names)).toEqual(before);
  });
});

test('an agent whose archive nothing verifies, over plain http: nothing is changed anywhere', async () => {
  const before = [text(), ...(await tracesOf(names))];
  const { code, stderr } = await underLoad(() => cli('upgrade', 'agent', '--to', '5.278.0', '--yes'));
  expect(code).toBe(2);
  expect(oneLine(stderr)).toContain('the agent is downloaded over plain http without a digest');
  expect([text(), ...(await tracesOf(names))]).toEqual(before);
});
