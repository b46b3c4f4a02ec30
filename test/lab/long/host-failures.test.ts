// What breaks on a host, and the verdict of `status` on each: one cause, and nothing that only follows from it. What breaks between
// host and server is in connection-failures.test.ts, how soon in connection.test.ts, what a container sees of such GPUs in
// health.test.ts, and what to do in doctor.test.ts. Real: CLI, SSH, systemd, manager, Docker, mounts. Stand-ins: the GPUs and
// nvidia-smi, the agent program, Azure DevOps.
import { afterAll, beforeAll, test } from 'vitest';

import { gpuFolders } from '../../../practice/lab/gpus.ts';
import { type Fault, FailingHosts } from '../support/failing-hosts.ts';
import { fullDisk, withoutHook } from '../support/host-faults.ts';

const data = '/srv/data';
const datasets = { DATA: { host: data, container: '/datasets/data', requireMount: true } };
const mountData = `mount -t tmpfs tmpfs ${data}; touch ${data}/train`;

let failing: FailingHosts;
beforeAll(async () => {
  failing = await FailingHosts.start(
    'broken',
    [
      // Its GPUs reach containers by the hook, those of the other by CDI.
      { name: 'hook', release: 'bookworm', gpus: ['h200', 'h200'] },
      { name: 'cdi', release: 'trixie', gpus: ['h200'] },
    ],
    { hook: { agents: [{ name: '0', gpus: [0, 1] }], datasets }, cdi: { agents: 1 } },
    `set -e; mkdir -p ${data}; ${mountData}`,
  );
});
afterAll(() => failing.lab.remove());

const smi = (mode: string): Pick<Fault, 'begin' | 'end'> => ({
  begin: `echo '${mode}' >${gpuFolders.control}/mode`,
  end: `: >${gpuFolders.control}/mode`,
});

const faults: Readonly<Record<string, Fault>> = {
  'the driver was updated without a reboot': {
    ...smi('exit18'),
    code: 'driver.mismatch',
    state: 'failed',
    cause: /different versions/,
    alone: true,
  },
  'the module is missing': {
    ...smi('exit9'),
    code: 'driver.not-loaded',
    state: 'failed',
    cause: /kernel module is not loaded/,
    alone: true,
  },
  'a GPU is gone': {
    ...smi('missing 1'),
    code: 'gpu.missing',
    state: 'failed',
    cause: /on the PCI bus, and nvidia-smi does not list it/,
  },
  'nvidia-smi hangs': {
    ...smi('hang'),
    code: 'smi.hung',
    state: 'hung',
    cause: /does not answer/,
    alone: true,
  },
  'Docker was started without the hook of the toolkit': {
    begin: withoutHook,
    end: 'systemctl restart docker',
    code: 'engine.no-gpu-driver',
    state: 'failed',
    cause: /cannot give containers a GPU/,
    options: ['--probe'],
  },
  'the CDI specification is of other GPUs': {
    begin:
      'cp -p /var/run/cdi/nvidia.yaml /root/cdi-kept; sed -i "s/name: .all./name: gone/; s/name: .GPU-/&0/" /var/run/cdi/nvidia.yaml',
    end: 'cp -p /root/cdi-kept /var/run/cdi/nvidia.yaml',
    host: 'cdi',
    code: 'engine.cdi-stale',
    state: 'failed',
    cause: /CDI specification does not contain the GPU/,
    options: ['--probe'],
  },
  'dockerd is stopped': {
    begin: 'systemctl stop docker.socket docker',
    end: 'systemctl start docker.socket docker',
    code: 'docker.down',
    state: 'failed',
    cause: /Docker Engine is not running/,
    alone: true,
  },
  'the disk of Docker is nearly full': {
    ...fullDisk,
    code: 'disk.full',
    state: 'failed',
    cause: /\/var\/lib\/docker/,
  },
  'a dataset is not mounted': {
    // Its agent keeps the mount: only the next one needs it.
    begin: `umount -l ${data}; docker kill hook-0`,
    end: mountData,
    code: 'agents.waiting',
    state: 'failed',
    cause: /\/srv\/data/,
  },
};

test.each(Object.entries(faults))('%s: status names that', (what, fault) =>
  failing.expectVerdict(what, fault),
);
