// One manager on a real machine: systemd, Docker Engine, cgroups, network and processes are real; GPUs, the agent
// program and Azure DevOps are stand-ins that speak the real protocol.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { lowerCloud, names, raiseCloud, reach } from '../../../practice/lab/cloud.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { provisionedFleet, type ProvisionedFleet } from '../../../practice/lab/provisioned.ts';
import { ManagedHost, markAgents, pool, program, settings } from '../support/managed-host.ts';
import { placesOnHost } from '../support/secret-search.ts';

const removeAgents =
  'docker stop $(docker ps -q --filter label=azp-fleet.kind=agent); docker rm $(docker ps -aq --filter label=azp-fleet.kind=agent)';

let fleet: ProvisionedFleet;
let host: LabHost;
let managed: ManagedHost;
beforeAll(async () => {
  fleet = await provisionedFleet();
  host = fleet.lab.host('hook');
  managed = new ManagedHost(host, fleet.azure);
});
afterAll(async () => {
  await host.setGpuFaults([]);
  await managed.allIdle();
});

describe('jobs', () => {
  beforeAll(async () => {
    await managed.restartWith(markAgents);
    await managed.allMarked();
  });
  afterAll(() => managed.restore());

  test('a job is alone with its GPU, its datasets and no rights; nothing of ours is in reach', async () => {
    await raiseCloud(host);
    const [job] = await managed.finished(
      await managed.queue(`nvidia-smi -L | grep -c UUID
id -un
grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status | tr -d '\\t'
cat /proc/self/oom_score_adj
test -e /var/run/docker.sock && echo docker
test -e /run/azp-fleet && echo socket
${reach}
env | grep -i -E 'token|_pat=' | grep -v '^VSO_AGENT_IGNORE'
true`),
    );
    await lowerCloud(host);
    expect(job?.result).toBe('succeeded');
    expect(job?.log.trim().split('\n')).toEqual([
      '1',
      'agent',
      'CapEff:0000000000000000',
      'CapBnd:0000000000000000',
      'NoNewPrivs:1',
      '1000',
      `reached ${names}`,
    ]);
  });

  test('each job runs in a separate container, and its run record stays', async () => {
    const jobs = await managed.finished(await managed.queue('touch /tmp/mine; ls /tmp | wc -l', 4));
    expect(jobs.map(({ result, log }) => [result, log.trim()])).toEqual(jobs.map(() => ['succeeded', '1']));
    expect(new Set(jobs.flatMap(({ runs }) => runs.map(({ session }) => session))).size).toBe(4);
    await managed.allIdle();
    const { stdout } = await host.exec(`${program} runs`);
    const runs = JSON.parse(stdout) as { job?: string; result?: string; gpus: string[]; image: string }[];
    expect(runs.slice(0, 4).map(({ job, result }) => [job, result])).toEqual(
      jobs.map(() => [expect.stringMatching(/^job/), 'succeeded']),
    );
    expect(host.gpus.map(({ uuid }) => uuid)).toContain(runs[0]?.gpus[0]);
  });

  test('a manager that is killed in the middle of a job takes it up again', async () => {
    const jobs = await managed.queue('sleep 8; echo done');
    await expect.poll(managed.states, settings).toContain('busy');
    const { stdout: before } = await host.exec('docker ps -q --no-trunc | sort');
    await host.exec('systemctl kill -s KILL azp-fleet-manager');
    const [job] = await managed.finished(jobs);
    expect(job).toMatchObject({ result: 'succeeded', log: expect.stringContaining('done') as string });
    expect(job?.runs).toHaveLength(1);
    await managed.allIdle();
    const { stdout: after } = await host.exec('docker ps -q --no-trunc | sort');
    const kept = before.split('\n').filter((id) => id !== '' && after.includes(id));
    expect(kept).toHaveLength(1);
  });

  test('a drain lets the job end and stops the idle agent; the server shows why', async () => {
    const jobs = await managed.queue('sleep 12');
    await expect.poll(managed.states, settings).toContain('busy');
    await host.exec(`${program} drain --reason 'lab test'`);
    await expect.poll(managed.states, settings).toContain('drained');
    await managed.finished(jobs);
    await expect.poll(managed.states, settings).toBe('drained drained');
    expect((await host.exec('docker ps -aq --filter label=azp-fleet.kind=agent')).stdout).toBe('');
    await host.exec(`${program} undrain`);
    await managed.allIdle();
  });
});

test('pauses between restarts grow until the manager resets the count of systemd', async () => {
  const machine = fleet.lab.host('cdi');
  const show = async (property: string): Promise<string> =>
    (await machine.exec(`systemctl show -p ${property} --value azp-fleet-manager`)).stdout.trim();
  const settled = ['0', '5s'];
  const seen = async (): Promise<readonly string[]> => [
    await show('NRestarts'),
    await show('RestartUSecNext'),
  ];
  await machine.exec('systemctl restart azp-fleet-manager');
  expect(await seen()).toEqual(settled);
  for (const _ of [1, 2]) {
    await machine.exec('systemctl kill -s KILL azp-fleet-manager');
    await expect.poll(() => show('ActiveState'), settings).not.toBe('active');
    await expect.poll(() => show('ActiveState'), settings).toBe('active');
  }
  const [restarts, next] = await seen();
  expect([restarts, next]).toEqual(['2', expect.stringMatching(/^(?:[6-9]|[1-5]\d)/)]);
  await machine.exec('systemctl reset-failed azp-fleet-manager.service');
  expect(await seen()).toEqual(settled);
  expect(await show('ActiveState')).toBe('active');
});

test('a GPU that is lost closes its slot only, and the slot comes back by itself', async () => {
  await managed.allIdle();
  await host.setGpuFaults(['exit15 1']);
  await expect.poll(managed.states, settings).toBe('idle quarantined');
  await host.setGpuFaults([]);
  await managed.allIdle();
});

test('a container that never started is removed, and so is one that exited', async () => {
  await host.exec('systemctl stop azp-fleet-manager');
  // Stopped, not killed: a session that is left behind blocks its name for five minutes.
  await host.exec(`docker stop $(docker ps -q --filter label=azp-fleet.kind=agent)
docker rm $(docker ps -aq --filter label=azp-fleet.slot=1)
docker create --name left --label azp-fleet.kind=agent --label azp-fleet.slot=1 $(docker images -q azp-fleet/agent | head -n 1)
systemctl start azp-fleet-manager`);
  await managed.allIdle();
  expect((await host.exec('docker ps -aq --filter name=left')).stdout).toBe('');
});

test('config.sh in a separate container registers as well, and leaves the token nowhere', async () => {
  await managed.renewWith(`${markAgents} config.registration = "config"; config.limits = { shm: "2g" };`);
  const [job] = await managed.finished(
    await managed.queue('df -m /dev/shm | tail -n 1 | tr -s " " | cut -d " " -f 2'),
  );
  expect(job).toMatchObject({ result: 'succeeded', log: expect.stringContaining('2048') as string });
  // While it registers, the agent's own program has the token in its environment, in a container without a job.
  await managed.allIdle();
  const places = await placesOnHost(host, fleet.azure.token);
  expect(
    places.filter((place) => !/(?:\/etc\/azp-fleet\/token|\/credentials\/).* [46]00 root$/.test(place)),
  ).toEqual([]);
  await managed.restore();
});

test('alone on a machine, without inventory and CLI', async () => {
  // A name of this run's own: the server may remember one that an earlier machine held.
  const name = `alone-${process.pid}`;
  await host.exec(`systemctl stop azp-fleet-manager
${removeAgents}`);
  await host.exec('mkdir -p /data/set && touch /data/set/x');
  const image = (await host.exec('docker images -q azp-fleet/agent | head -n 1')).stdout.trim();
  await host.exec(`systemd-run --unit=alone ${program} run --url ${fleet.azure.organization} --pool ${pool} \
--token-file /etc/azp-fleet/token -n 2 --name ${name} -d ${image} --volume /data/set:/set:SET --volume /data/set:/other:OTHER --state /run/alone`);
  await expect.poll(async () => (await managed.status()).host, settings).toBe(name);
  await managed.allIdle();
  const jobs = await fleet.azure.control.queue({
    pool,
    script: 'ls "$SET" "$OTHER"',
    demands: ['dataset.OTHER'],
  });
  const [job] = await managed.finished(jobs);
  expect(job?.log).toContain('/other:\nx');
  expect(job?.runs[0]?.agent).toContain(name);
  await host.exec(`systemctl stop alone\n${removeAgents}\nsystemctl start azp-fleet-manager`);
  await expect.poll(async () => (await managed.status()).host, settings).toBe('hook');
  await managed.allIdle();
});
