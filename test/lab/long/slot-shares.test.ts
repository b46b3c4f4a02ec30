// What a slot's jobs are and may use, seen from inside them: a separate uid, their part of the machine, datasets that
// are read-only at every level. Real: Docker, the kernel's cgroups, mounts and users. Stand-ins: the GPUs, the agent
// program, Azure DevOps.
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { LabHost } from '../../../practice/lab/host.ts';
import { provisionedFleet } from '../../../practice/lab/provisioned.ts';
import { ManagedHost, markAgents, pool } from '../support/managed-host.ts';

const agents = ['cdi-0', 'cdi-1'] as const;
const data = '/srv/lab-data';

let managed: ManagedHost;
let host: LabHost;
beforeAll(async () => {
  const { lab, azure } = await provisionedFleet();
  // Its engine and this kernel can make mounts below a read-only one read-only, too.
  host = lab.host('cdi');
  managed = new ManagedHost(host, azure);
  await host.exec(`set -e
mkdir -p ${data}/below
touch ${data}/file
mount -t tmpfs -o mode=0777 lab ${data}/below
touch ${data}/below/file
chmod 0777 ${data}`);
  await managed.renewWith(`${markAgents}
config.agents = { kind: "count", count: 2 };
config.share = true;
config.datasets = [{ name: "DATA", host: "${data}", container: "/data", requireMount: false }];`);
});
afterAll(async () => {
  await host.exec(
    `cd /etc/azp-fleet && mv manager.json.before manager.json && systemctl restart azp-fleet-manager`,
  );
  await managed.are('idle');
  await host.exec(`umount ${data}/below; rm -rf ${data}`);
});

const limitOf =
  'cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max';
const script = `id -u
id -g
id -un
echo ~
${limitOf}
[ "$(stat -c %u:%a /azp/.credentials_rsaparams)" = "$(id -u):600" ] && echo mine
touch ~/x ~/.cache/x /azp/x && git init -q ~/repository && echo written
ls /data/below
touch /data/x /data/below/x 2>&1 | grep -c 'Read-only file system'`;

test("each slot's job has a separate uid, its part of the memory, and cannot write below a dataset", async () => {
  const queued = await Promise.all(
    agents.map(async (agent) =>
      managed.azure.control.queue({ pool, script, demands: [`Agent.Name -equals ${agent}`] }),
    ),
  );
  const jobs = await managed.finished(queued.flat());
  const { slots } = await managed.status();
  const bytes = (slots[0]?.share?.memoryMiB ?? 0) * 1024 ** 2;
  expect(bytes).toBeGreaterThan(1024 ** 3);
  expect(jobs.map(({ result }) => result)).toEqual(['succeeded', 'succeeded']);
  expect(
    jobs
      .map(({ log }) => log.trim().split('\n'))
      .toSorted(([one = ''], [other = '']) => one.localeCompare(other)),
  ).toEqual(
    ['59000', '59001'].map((uid) => [
      uid,
      '4000',
      'agent',
      '/home/agent',
      String(bytes),
      'mine',
      'written',
      'file',
      '2',
    ]),
  );
});

test('containers are made so: mounts and no binds, shares and no caps', async () => {
  await managed.allIdle();
  const { stdout } = await host.exec(`for agent in ${agents.join(' ')}; do
  docker inspect -f '{{.Config.User}} {{.HostConfig.CpuShares}} {{.HostConfig.NanoCpus}} {{json .HostConfig.Binds}}' $agent
done`);
  expect(stdout.trim().split('\n')).toEqual(['59000:4000 1024 0 null', '59001:4000 1024 0 null']);
});
