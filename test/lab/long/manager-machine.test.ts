// What the machine does to the manager: memory and disk run short, Docker restarts. Real: systemd, Docker, the kernel's
// memory limits, files. Stand-ins: the GPUs, the agent program, Azure DevOps, and the size of Docker's disk (the manager
// alone sees a small file system in its place).
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { provisionedFleet } from '../../../practice/lab/provisioned.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { ManagedHost, markAgents, settings } from '../support/managed-host.ts';

let managed: ManagedHost;
let host: LabHost;
beforeAll(async () => {
  const { lab, azure } = await provisionedFleet();
  host = lab.host('hook');
  managed = new ManagedHost(host, azure);
});
afterEach(() => managed.endHeldJobs());
afterAll(() => managed.restore());

const lines = async (command: string): Promise<readonly string[]> =>
  (await host.exec(command)).stdout.split('\n').filter((line) => line !== '');

/** Process ids that must survive. */
const survivors = (): Promise<readonly string[]> =>
  lines('systemctl show -p MainPID --value azp-fleet-manager ssh docker');

const limit = 192 * 1024 ** 2;

/** Takes memory until the kernel ends it; refuses without the limit, and stops by itself at 1 GB: this machine is everybody's. */
const devour = `file=/sys/fs/cgroup/memory/memory.limit_in_bytes
[ -e $file ] || file=/sys/fs/cgroup/memory.max
[ "$(cat $file)" = ${limit} ] || { echo "no limit: $(cat $file)"; exit 9; }
ulimit -v 1000000
tail /dev/zero
code=$?
echo "tail ended with $code"
exit $code`;

test('a job over its memory limit is killed; agent, manager and sshd keep running, and the run record says why', async () => {
  await managed.renewWith(`${markAgents} config.limits = { memory: "192m" };`);
  await managed.allIdle();
  const before = await survivors();
  const [job] = await managed.finished(await managed.queue(devour));
  expect(job).toMatchObject({
    result: 'failed',
    log: expect.stringContaining('tail ended with 137') as string,
  });
  expect(job?.runs).toHaveLength(1);
  await managed.allIdle();
  expect((await managed.runs())[0]).toMatchObject({
    job: 'job',
    result: 'failed',
    oomKilled: true,
    cause: { code: 'run.out-of-memory' },
  });
  expect(await survivors()).toEqual(before);
  expect((await host.ssh('echo here')).stdout).toBe('here\n');
});

test('when the machine itself runs short, jobs go before their agents, and agents before everything else', async () => {
  await managed.allIdle();
  const agents = await lines(
    `for id in $(docker ps -q --filter label=azp-fleet.kind=agent); do
  cat /proc/$(docker inspect -f '{{.State.Pid}}' $id)/oom_score_adj
done`,
  );
  expect(agents).toEqual(['500', '500']);
  // The lab may not lower a score below zero: only the setting of systemd can be seen here.
  expect(await lines('systemctl show -p OOMScoreAdjust --value azp-fleet-manager')).toEqual(['-500']);
});

describe('a disk that is nearly full', () => {
  const ours = ['first', 'second', 'third'].map((name) => `azp-fleet/agent:${name}`);
  const theirs = 'practice/foreign:1';
  const used = 'azp-fleet/agent:used';
  const everything = [...ours, used, theirs];

  /** Images without content, each a second older than the next: Docker counts their age in whole seconds. */
  const make = (tag: string, label: string): Promise<unknown> =>
    host.exec(
      `sleep 1; printf 'FROM scratch\\nLABEL made=%s %s\\nCMD ["/x"]\\n' "${tag}" "${label}" | DOCKER_BUILDKIT=0 docker build -q -t ${tag} -`,
    );
  const present = async (): Promise<readonly string[]> => {
    const all = await lines("docker images --format '{{.Repository}}:{{.Tag}}'");
    return everything.filter((tag) => all.includes(tag));
  };
  const inManager = (command: string): Promise<unknown> =>
    host.exec(`nsenter -m -t $(systemctl show -p MainPID --value azp-fleet-manager) sh -ec '${command}'`);
  const problems = async (): Promise<readonly string[]> =>
    (await managed.status()).problems.map(({ code }) => code);

  beforeAll(async () => {
    // Rounds of a minute pass in three seconds.
    await host.practiseAt(20);
    await managed.restartWith(markAgents);
    await managed.allIdle();
  });
  afterAll(async () => {
    await host.practiseAt(1);
    await host.exec(`docker rm -f user; docker rmi -f ${everything.join(' ')}`, { allowFailure: true });
  });

  test('nothing new is started, images of ours that nothing needs go, others stay; it comes back by itself', async () => {
    const standard = await lines(
      "docker inspect -f '{{.Image}}' $(docker ps -q --filter label=azp-fleet.kind=agent) | sort -u",
    );
    for (const tag of ours) await make(tag, 'azp-fleet.kind=image');
    await make(used, 'azp-fleet.kind=image');
    await make(theirs, 'maker=somebody');
    await host.exec(`docker create --name user ${used}`);
    // With space enough the newest two of those that nothing needs are kept, and what a container needs anyway.
    await expect.poll(present, settings).not.toContain('azp-fleet/agent:first');
    expect(await present()).toEqual(expect.arrayContaining(['azp-fleet/agent:third', used, theirs]));

    await inManager(
      'mount -t tmpfs -o size=64m tmpfs /var/lib/docker; fallocate -l 63m /var/lib/docker/fill',
    );
    await expect.poll(problems, settings).toEqual(['disk.full']);
    await expect.poll(present, settings).toEqual([used, theirs]);
    const [job] = await managed.finished(await managed.queue('true'));
    expect(job).toMatchObject({ result: 'succeeded' });
    await expect.poll(managed.states, settings).toMatch(/^(waiting idle|idle waiting)$/);
    expect(await managed.containers()).toHaveLength(1);
    const waiting = (await managed.status()).slots.find(({ state }) => state === 'waiting');
    expect(waiting?.cause).toContain('the disk of Docker (/var/lib/docker) is full');

    await inManager('umount /var/lib/docker');
    await managed.allIdle();
    expect(await problems()).toEqual([]);
    expect(await lines(`docker images -q --no-trunc | grep -c ${standard[0]}`)).toEqual(['1']);
    expect(await present()).toEqual([used, theirs]);
  });
});

test('Docker restarts under a job: the job continues, the stream of events is opened again', async () => {
  await managed.restartWith(markAgents);
  await managed.allIdle();
  const job = await managed.holdJob('hook-0');
  const before = await managed.containers();
  const learnt = () =>
    lines(
      `journalctl -u azp-fleet-manager -o cat --since "@$(cat /run/restarted)" | grep '^docker {' || true`,
    );
  // It says what the engine can do each time before it opens the stream.
  await host.exec('date +%s >/run/restarted; systemctl restart docker');
  await expect.poll(async () => (await learnt()).length, settings).toBeGreaterThan(0);
  expect(await managed.containers()).toEqual(before);
  await expect.poll(async () => (await managed.status()).problems, settings).toEqual([]);
  expect(await job.end()).toMatchObject({ result: 'succeeded', runs: [expect.anything()] });
  await managed.allIdle();
});

test('only root reaches the control socket; the metrics are served on loopback', async () => {
  expect(await lines("stat -c '%a %U' /run/azp-fleet /run/azp-fleet/manager.sock")).toEqual([
    '700 root',
    '600 root',
  ]);
  const get = `require("http").get("http://127.0.0.1:9417/metrics", (answer) => answer.pipe(process.stdout))`;
  const metrics = await lines(`/opt/azp-fleet/current/node -e '${get}'`);
  expect(metrics).toContain('azp_fleet_docker_up 1');
  expect(await lines("ss -ltnH 'sport = :9417' | tr -s ' ' | cut -d ' ' -f 4")).toEqual(['127.0.0.1:9417']);
});
