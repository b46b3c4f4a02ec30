// Agents straight on a real machine, beside one in a container: users, systemd units, folders, routing rules and
// reboots are real; GPUs, the agent program, the cloud and Azure DevOps are stand-ins. The server's clock is fast.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { identities, names, raiseCloud, reach } from '../../../practice/lab/cloud.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import type { Lab } from '../../../practice/lab/lab.ts';
import { startStackLab } from '../../../practice/lab/provisioned.ts';
import { fault } from '../../support/fault.ts';
import { boxAndBare, ManagedHost, program, settings } from '../support/managed-host.ts';
import { placesOnHost } from '../support/secret-search.ts';

let lab: Lab;
let azure: LabAzure;
let host: LabHost;
let managed: ManagedHost;
beforeAll(async () => {
  lab = await startStackLab({ prefix: 'bare', hosts: [{ name: 'metal', gpus: ['h200', 'h200'] }] });
  host = lab.host('metal');
  azure = await startAzure('bare', lab.folder, { speed: 20 });
  managed = new ManagedHost(host, azure);
  const inventory = await writeInventory(lab, azure, { hosts: { metal: { agents: boxAndBare } } });
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', inventory, '--yes']);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
});
afterAll(() => lab.remove());

/** For `bare`, straight on the host, or `box`, in its container. */
const queue = (slot: 'bare' | 'box', script: string, count = 1) =>
  managed.queue(script, count, [`Agent.Name -equals metal-${slot}`]);

const runs = async () => (await managed.runs()).filter(({ slot }) => slot === 'bare');

const folders = async (): Promise<string> =>
  (await host.exec('ls /var/lib/azp-fleet/host', { allowFailure: true })).stdout.trim();

test('a job runs as a separate user without a way to root, in a separate unit', async () => {
  const [job] = await managed.finished(
    await queue(
      'bare',
      `id -un
grep -E 'CapEff|NoNewPrivs' /proc/self/status | tr -d '\\t'
grep -o 'azp-fleet-agent-bare.service' /proc/self/cgroup | sort -u
pwd; echo "$HOME"; echo "$CUDA_VISIBLE_DEVICES"
hostname`,
    ),
  );
  expect(job?.log.trim().split('\n')).toEqual([
    'azp-agent-bare',
    'CapEff:0000000000000000',
    'NoNewPrivs:1',
    'azp-fleet-agent-bare.service',
    '/var/lib/azp-fleet-agents/bare/_work/1/s',
    '/var/lib/azp-fleet-agents/bare/home',
    host.gpus[1]?.uuid,
    'metal',
  ]);
});

test('each job has a new work folder, its evidence stays, and its folder is gone afterwards', async () => {
  await managed.allIdle();
  const before = await folders();
  const jobs = await managed.finished(
    await queue('bare', 'ls -A . "$HOME" /tmp | wc -l; touch mine "$HOME/mine" /tmp/mine', 3),
  );
  expect(jobs.map(({ result }) => result)).toEqual(['succeeded', 'succeeded', 'succeeded']);
  expect(new Set(jobs.map(({ log }) => log)).size).toBe(1);
  expect(new Set(jobs.flatMap(({ runs: each }) => each.map(({ session }) => session))).size).toBe(3);
  await managed.allIdle();
  expect((await runs()).slice(0, 3)).toEqual(
    jobs.map(() =>
      expect.objectContaining({ job: expect.any(String) as string, result: 'succeeded', exitCode: 0 }),
    ),
  );
  // One folder: that of the agent that waits now.
  expect(await folders()).toMatch(/^host-\S+$/);
  expect(await folders()).not.toBe(before);
});

test('the token is in no file and no process that a job can read', async () => {
  const half = Math.floor(azure.token.length / 2);
  const [job] = await managed.finished(
    await queue(
      'bare',
      `needle="${azure.token.slice(0, half)}""${azure.token.slice(half)}"
printf '%s' "$needle" > needle
echo looked
grep -rlsFf needle /etc /run /var/lib /opt /home /root /tmp --exclude=needle
for folder in /proc/[0-9]*; do tr '\\0' '\\n' 2>/dev/null < "$folder/environ" | grep -qFf needle && echo "$folder"; done
rm needle
for path in /etc/azp-fleet/token /run/azp-fleet/manager.sock /var/lib/azp-fleet/manager.json; do
  test -r "$path" && echo "$path"
done
true`,
    ),
  );
  expect(job?.log.trim()).toBe('looked');
  await managed.allIdle();
  expect(
    (await placesOnHost(host, azure.token)).filter(
      (place) => !/(?:\/etc\/azp-fleet\/token|\/credentials\/).* [46]00 root$/.test(place),
    ),
  ).toEqual([]);
});

test('nothing that a job left of its user is alive when the next agent has its key', async () => {
  await managed.allIdle();
  const uid = (await host.exec('id -u azp-agent-bare')).stdout.trim();
  // What linger, cron and a daemon would leave: root starts it in the job's place, which has no way to.
  await host.exec(`mkdir -p /var/lib/systemd/linger && touch /var/lib/systemd/linger/azp-agent-bare
systemd-run --unit=left-behind -p User=azp-agent-bare -p Restart=no sh -c 'trap "" TERM; touch /var/tmp/left /dev/shm/left; while :; do sleep 1; done'
until test -e /dev/shm/left; do sleep 0.1; done`);
  const [first, second] = await managed.finished(
    await queue(
      'bare',
      'loginctl enable-linger >/dev/null 2>&1 && echo lingers; find /var/tmp /dev/shm -user "$(id -u)"',
      2,
    ),
  );
  expect(second?.log).toBe('');
  expect(first?.result).toBe('succeeded');
  const { stdout } = await host.exec(
    `ls /var/lib/systemd/linger; systemctl is-active left-behind user@${uid}.service; find /var/tmp /dev/shm -uid ${uid}; true`,
  );
  expect(stdout.trim().split('\n')).toEqual([expect.stringMatching(/inactive|failed/), 'inactive']);
});

fault(
  'fork-loop',
  'processes that fork and exit all the time are gone when the next agent has its key',
  async () => {
    await managed.allIdle();
    const [first, second] = await managed.finished(
      await queue(
        'bare',
        `for look in $(seq 50); do grep -lsx comet /proc/[0-9]*/comm; done | wc -l
cp "$(readlink -f /bin/sh)" "$HOME/comet"
for each in 1 2 3 4; do setsid "$HOME/comet" -c 'fork() { fork & }; fork' </dev/null >/dev/null 2>&1 & done
until grep -qsx comet /proc/[0-9]*/comm; do :; done`,
        2,
      ),
    );
    expect([first?.result, first?.log.trim()]).toEqual(['succeeded', '0']);
    expect([second?.result, second?.log.trim()]).toEqual(['succeeded', '0']);
    await managed.allIdle();
    const { stdout } = await host.exec(
      'for look in $(seq 50); do grep -lsx comet /proc/[0-9]*/comm; done | wc -l',
    );
    expect(stdout.trim()).toBe('0');
  },
);

test("no job reaches the cloud's identities, names are answered; what is not fenced reaches all", async () => {
  await raiseCloud(host);
  const all = [...identities, names].map((at) => `reached ${at}`);
  const image = (await host.exec('docker images -q azp-fleet/agent | head -n 1')).stdout.trim();
  const container = await host.exec(`docker run --rm -i --entrypoint bash ${image}`, {
    input: `${reach}\ntrue\n`,
  });
  expect(container.stdout.trim().split('\n')).toEqual(all);
  expect((await host.exec(`bash -c '${reach}'; true`)).stdout.trim().split('\n')).toEqual(all);
  for (const slot of ['bare', 'box'] as const) {
    const [job] = await managed.finished(await queue(slot, `${reach}\ntrue`));
    expect(job?.log.trim(), slot).toBe(`reached ${names}`);
  }
});

describe('a job that is under way', () => {
  test('continues when the manager is killed, and is taken up again', async () => {
    await managed.allIdle();
    const jobs = await queue('bare', 'sleep 10; echo done');
    await expect.poll(managed.states, settings).toBe('idle busy');
    const pid = 'systemctl show -p MainPID azp-fleet-agent-bare';
    const { stdout: before } = await host.exec(pid);
    await host.exec('systemctl kill -s KILL azp-fleet-manager');
    await expect.poll(managed.states, settings).toBe('idle busy');
    expect((await host.exec(pid)).stdout).toBe(before);
    const [job] = await managed.finished(jobs);
    expect(job).toMatchObject({ result: 'succeeded', log: 'done\n' });
    expect(job?.runs).toHaveLength(1);
    await managed.allIdle();
    expect((await runs())[0]).toMatchObject({ result: 'succeeded', exitCode: 0 });
  });

  test('holds up a drain, which then leaves nothing behind', async () => {
    await managed.allIdle();
    const jobs = await queue('bare', 'sleep 8; echo done');
    await expect.poll(managed.states, settings).toBe('idle busy');
    await host.exec(`${program} drain --reason 'lab test'`);
    await expect.poll(managed.states, settings).toBe('drained busy');
    const [job] = await managed.finished(jobs);
    expect(job).toMatchObject({ result: 'succeeded', log: 'done\n' });
    await expect.poll(managed.states, settings).toBe('drained drained');
    expect(await folders()).toBe('');
    expect(
      (await host.exec('systemctl list-units --all --plain --no-legend "azp-fleet-agent-*"')).stdout,
    ).toBe('');
    await host.exec(`${program} undrain`);
    await managed.allIdle();
  });

  test('ends with a reboot; that is kept as evidence, and the next one runs in a clean folder', async () => {
    const jobs = await queue('bare', 'touch mine; sleep 600');
    await expect.poll(managed.states, settings).toBe('idle busy');
    await host.reboot();
    const [lost] = await managed.finished(jobs);
    expect(lost?.result).not.toBe('succeeded');
    await managed.allIdle();
    expect((await runs())[0]).not.toMatchObject({ result: 'succeeded' });
    const [job] = await managed.finished(await queue('bare', 'ls -A'));
    expect(job).toMatchObject({ result: 'succeeded', log: '' });
    await managed.allIdle();
    expect(await folders()).toMatch(/^host-\S+$/);
  });
});
