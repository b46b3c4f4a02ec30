// What is not known is never "none": an engine that does not answer, a person's drain, containers that Docker Engine does
// not list. Real: CLI, SSH, systemd, both engines, Podman, processes and their open files. Stand-ins: the GPUs, the agent
// program, Azure DevOps.
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { HostPlan } from '../../../src/fleet/plan/fleet-plan.ts';
import type { StatusRow } from '../../../src/fleet/status/row.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory, type InventoryChanges } from '../../../practice/lab/inventory.ts';
import { removeLab, type Lab } from '../../../practice/lab/lab.ts';
import { startStackLab } from '../../../practice/lab/provisioned.ts';
import { ManagedHost } from '../support/managed-host.ts';

const prefix = 'unread';
/** The longest time of a provision that has nothing to do but to prove the host. */
const idleProvisionMs = 20_000;

let lab: Lab;
let azure: LabAzure;
let hung: LabHost;
let fine: LabHost;
beforeAll(async () => {
  await removeLab(prefix);
  lab = await startStackLab({
    prefix,
    hosts: [
      { name: 'hung', gpus: ['h200'] },
      { name: 'fine', gpus: ['h200'] },
    ],
  });
  hung = lab.host('hung');
  fine = lab.host('fine');
  azure = await startAzure(prefix, lab.folder);
  const { code, said } = await cli('provision', {}, '--yes');
  expect(code, said).toBe(0);
});
afterAll(() => removeLab(prefix));

/** Long lines are wrapped. */
async function cli(command: string, defaults: InventoryChanges['defaults'], ...more: readonly string[]) {
  const inventory = await writeInventory(lab, azure, { defaults: { agents: 1, ...defaults } });
  const { code, stdout, stderr } = await azpFleet(lab.folder, [command, inventory, ...more]);
  return { code, stdout, said: `${stdout}\n${stderr}`.replaceAll(/\s+/g, ' ') };
}

/** The other branch of the driver, which comes with a reboot. */
const otherDriver = { driver: { branch: '595' } };

async function planned(host: string): Promise<{ readonly code: number; readonly plan: HostPlan }> {
  const { code, stdout, said } = await cli('plan', otherDriver, '--limit', host, '--json');
  const [plan] = (JSON.parse(stdout) as { hosts: readonly HostPlan[] }).hosts;
  if (plan === undefined) throw new Error(`no plan: ${said}`);
  return { code, plan };
}

test('a host that a person has drained: provision says by whom and since when, and ends with success within 20 s', async () => {
  expect(await cli('drain', {}, 'fine', '--reason', 'disk swap', '--wait')).toMatchObject({ code: 0 });
  const note = /drained by [^@ ]+@[^@ ]+: disk swap, since \d{4}-\d\d-\d\d \d\d:\d\d UTC/;
  const started = performance.now();
  const { code, said } = await cli('provision', {}, '--limit', 'fine', '--yes');
  const ms = performance.now() - started;
  expect(code, said).toBe(0);
  expect(said).toMatch(new RegExp(`fine healthy no changes; ${note.source}`));
  expect(ms, said).toBeLessThan(idleProvisionMs);
  for (const options of [[], ['--strict']]) {
    const status = await cli('status', {}, '--limit', 'fine', '--json', ...options);
    expect(status.code, status.said).toBe(0);
    const [row] = (JSON.parse(status.stdout) as { hosts: readonly StatusRow[] }).hosts;
    expect(row?.verdict).toMatchObject({ state: 'healthy', note: expect.stringMatching(note) as string });
  }
  expect(await cli('undrain', {}, 'fine')).toMatchObject({ code: 0 });
  await new ManagedHost(fine, azure).are('idle');
});

test('a docker.socket that accepts and never answers: no change to that host, the probe is named, the other host is changed', async () => {
  const managed = new ManagedHost(hung, azure);
  await managed.are('idle');
  const traces = `dpkg-query -W; cat /proc/sys/kernel/random/boot_id
find /etc/azp-fleet -type f -exec sha256sum {} + | sort`;
  const before = [await managed.containers(), (await hung.exec(traces)).stdout];
  await hung.exec('kill -STOP "$(cat /run/docker.pid)"');
  try {
    const { code, plan } = await planned('hung');
    expect([code, plan.stages]).toEqual([1, []]);
    expect(plan.refusals).toMatchObject([
      {
        step: 'facts',
        what: expect.stringMatching(
          /^dockerd is running and does not answer on its socket; facts incomplete: .*docker-info \(no answer in \d+ s\)/,
        ) as string,
        next: expect.stringContaining('sudo curl --unix-socket /run/docker.sock') as string,
      },
    ]);
    const provisioned = await cli('provision', { capabilities: { rack: 'b12' } }, '--yes');
    expect(provisioned.code, provisioned.said).toBe(1);
    expect(provisioned.said).toMatch(/hung failed .*docker-info \(no answer in \d+ s\)/);
    expect(provisioned.said).toMatch(/fine healthy \d+ changes?\b/);
  } finally {
    await hung.exec('kill -CONT "$(cat /run/docker.pid)"');
  }
  await managed.are('idle');
  expect([await managed.containers(), (await hung.exec(traces)).stdout]).toEqual(before);
});

/** A root file system without an image, with a program that holds a GPU open. */
const root = '/srv/gpu-root';
/** Holds the GPU open as the process `sleep`. */
const holds = `sh -c 'exec 3</dev/nvidia0 && exec sleep 100000'`;
const install = 'DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends';
/** Can be opened, unlike the stand-in's device, which has no driver. */
const prepared = `set -e
rm -f /dev/nvidia0
mknod -m 0666 /dev/nvidia0 c 1 3
apt-get update -qq
${install} busybox-static >/dev/null
mkdir -p ${root}/bin ${root}/dev ${root}/proc ${root}/sys ${root}/etc ${root}/tmp
cp /bin/busybox ${root}/bin/busybox
for each in sh sleep; do ln -sf busybox ${root}/bin/$each; done`;

/** Why the driver is not changed; empty: nothing prevents it. */
async function driverRefusal(): Promise<string> {
  const { code, plan } = await planned('fine');
  const refused = plan.refusals.map(({ what }) => what).join('\n');
  expect(code, refused).toBe(refused === '' ? 3 : 1);
  return refused;
}

test('a Podman container with a GPU open refuses another driver by name', async () => {
  // crun does not know all of the lab's control groups.
  const podman = 'podman --cgroup-manager=cgroupfs --runtime=runc';
  // The storage of a host that is a container has no overlay; a database of another driver would be refused.
  await fine.exec(`${prepared}
${install} podman crun >/dev/null
rm -rf /var/lib/containers
mkdir -p /etc/containers
printf '[storage]\\ndriver = "vfs"\\nrunroot = "/run/containers/storage"\\ngraphroot = "/var/lib/containers/storage"\\n' > /etc/containers/storage.conf`);
  const { stdout } = await fine.exec(
    `${podman} run -d --name theirs --network none --ulimit host --device /dev/nvidia0 --rootfs ${root} ${holds}`,
  );
  const id = stdout.trim();
  expect(id).toMatch(/^[0-9a-f]{64}$/);
  try {
    expect(await driverRefusal()).toMatch(
      new RegExp(
        `^"upgrade NVIDIA driver .*" would disturb work of others: GPU process \\d+ sleep in a Podman container ${id.slice(0, 12)}`,
      ),
    );
  } finally {
    await fine.exec(`${podman} rm -f -t 0 theirs`);
  }
});

/** A user's own engine, as RootlessKit starts it. On a host that is a container, /proc and /sys are partly covered. */
const rootlessEngine = `${prepared}
${install} rootlesskit uidmap >/dev/null
useradd --create-home alice
install -d -o alice /run/alice
mkdir -p /run/whole/proc /run/whole/sys
mount -t proc proc /run/whole/proc
mount -t sysfs sysfs /run/whole/sys
cat >/srv/rootless.sh <<'SCRIPT'
cd && exec rootlesskit --copy-up=/etc --copy-up=/run --propagation=rslave sh -c 'rm -f /run/docker /run/containerd /run/xtables.lock
exec dockerd --rootless --host=unix:///run/alice/docker.sock --exec-root=/run/alice/docker --pidfile=/run/alice/docker.pid \
  --data-root=/home/alice/data --storage-driver=vfs --iptables=false --ip6tables=false --bridge=none'
SCRIPT
setsid -f runuser -u alice -- env HOME=/home/alice XDG_RUNTIME_DIR=/run/alice sh /srv/rootless.sh >/srv/rootless.log 2>&1 </dev/null
tries=0
until docker -H unix:///run/alice/docker.sock info >/dev/null 2>&1; do
  tries=$((tries + 1))
  if [ "$tries" -gt 300 ]; then tail -n 20 /srv/rootless.log >&2; exit 1; fi
  sleep 0.2
done`;

test("a container of a user's rootless Docker with a GPU open refuses another driver by name", async () => {
  const docker = 'docker -H unix:///run/alice/docker.sock';
  await fine.exec(rootlessEngine);
  await fine.exec(`tar -C ${root} -c . | ${docker} import - gpu-root`);
  await fine.exec(
    `${docker} run -d --name theirs --network none -v /dev/nvidia0:/dev/nvidia0 gpu-root ${holds}`,
  );
  try {
    expect(await driverRefusal()).toMatch(
      /^"upgrade NVIDIA driver .*" would disturb work of others: GPU process \d+ sleep\b/,
    );
  } finally {
    await fine.exec(`${docker} rm -f theirs`);
  }
  expect(await driverRefusal()).toBe('');
  await fine.exec('kill "$(cat /run/alice/docker.pid)"');
});
