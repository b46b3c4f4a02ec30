// What breaks on a host, and the verdict of `status` on each: one cause, and nothing that only follows from it. How soon is in
// connection.test.ts, what a container sees of such GPUs in health.test.ts. Real: CLI, SSH, systemd, manager, Docker, mounts, host
// keys. Stand-ins: the GPUs and nvidia-smi, the agent program, Azure DevOps, and `date` for a clock that is off.
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { StatusRow } from '../../../src/fleet/status/row.ts';
import type { AzureClient } from '../../../src/shared/azure/client.ts';
import { systemClock } from '../../../src/shared/base/clock.ts';
import type { Verdict } from '../../../src/shared/health/verdict.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import type { Lab } from '../../../practice/lab/lab.ts';
import { startStackLab } from '../../../practice/lab/provisioned.ts';
import { until } from '../../../practice/lab/run.ts';
import { tokenClient } from '../../support/token-client.ts';
import { ManagedHost, pool } from '../support/managed-host.ts';

/** Its GPUs reach containers by the hook, those of the other by CDI. */
type Name = 'hook' | 'cdi';

const data = '/srv/data';
const datasets = { DATA: { host: data, container: '/datasets/data', requireMount: true } };

let lab: Lab;
let azure: LabAzure;
let managed: ManagedHost;
let client: AzureClient;
let inventory: string;
beforeAll(async () => {
  lab = await startStackLab({
    prefix: 'broken',
    hosts: [
      { name: 'hook', release: 'bookworm', gpus: ['h200', 'h200'] },
      { name: 'cdi', release: 'trixie', gpus: ['h200'] },
    ],
  });
  await on('hook', `mkdir -p ${data} && mount -t tmpfs tmpfs ${data} && touch ${data}/train`);
  azure = await startAzure('broken', lab.folder);
  client = tokenClient(azure.organization, azure.tokenFile, systemClock(1), new AbortController().signal);
  inventory = await writeInventory(lab, azure, {
    hosts: { hook: { agents: [{ name: '0', gpus: [0, 1] }], datasets }, cdi: { agents: 1 } },
  });
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', inventory, '--yes']);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  managed = new ManagedHost(lab.host('hook'), azure);
  await managed.are('idle');
});
afterAll(() => lab.remove());

async function on(name: Name, script: string): Promise<void> {
  await lab.host(name).exec(`set -e\n${script}`);
}

async function status(name: Name, ...options: readonly string[]): Promise<StatusRow> {
  const line = ['status', inventory, name, '--json', ...options];
  const { stdout, stderr } = await azpFleet(lab.folder, line);
  const [row] = (JSON.parse(stdout) as { hosts: readonly StatusRow[] }).hosts;
  if (row === undefined) throw new Error(`no status of ${name}: ${stderr}`);
  return row;
}

/** The codes of what is wrong: of the findings, and of a host that is not reached. */
const codes = ({ verdict, findings }: StatusRow): readonly string[] => [
  ...(verdict.code === undefined ? [] : [verdict.code]),
  ...findings.map(({ code }) => code),
];

/** Waits for a row; reports the last one where it does not come. */
async function shown(
  what: string,
  name: Name,
  options: readonly string[],
  fits: (row: StatusRow) => boolean,
): Promise<StatusRow> {
  let row: StatusRow | undefined;
  try {
    await until(what, async () => fits((row = await status(name, ...options))), {
      timeoutMs: 900_000,
      everyMs: 2000,
    });
  } catch (error) {
    throw new Error(`${what}: ${JSON.stringify(row?.verdict)} ${JSON.stringify(row && codes(row))}`, {
      cause: error,
    });
  }
  return row ?? status(name, ...options);
}

interface Fault {
  readonly code: string;
  readonly state: Verdict['state'];
  readonly cause: RegExp;
  readonly begin: () => Promise<unknown>;
  readonly end: () => Promise<unknown>;
  /** Default: hook. */
  readonly host?: Name;
  readonly options?: readonly string[];
  /** All else that is wrong follows from it, so that nothing else is shown. */
  readonly alone?: true;
}

const gpuFault = (...faults: Parameters<ReturnType<Lab['host']>['setGpuFaults']>[0]) => ({
  begin: () => lab.host('hook').setGpuFaults(faults),
  end: () => lab.host('hook').setGpuFaults([]),
});
const shell = (begin: string, end: string, name: Name = 'hook') => ({
  begin: () => on(name, begin),
  end: () => on(name, end),
});

/** Runs a script where the manager sees the file systems. */
const inManager = (script: string): string =>
  `nsenter -m -t $(systemctl show -p MainPID --value azp-fleet-manager) sh -ec '${script}'`;

/** Stops or continues the processes of the agent's container, which Docker still shows as running. */
const signalAgent = (signal: 'STOP' | 'CONT'): string =>
  `kill -${signal} $(docker top hook-0 -eo pid | tail -n +2)`;

async function deleteAgent(): Promise<void> {
  await on('hook', signalAgent('STOP'));
  const poolId = (await client.findPool(pool))?.id ?? 0;
  const agent = await client.findAgent(poolId, 'hook-0');
  await client.deleteAgent(poolId, agent?.id ?? 0);
}

const faults: Readonly<Record<string, Fault>> = {
  'the driver was updated without a reboot': {
    ...gpuFault('exit18'),
    code: 'driver.mismatch',
    state: 'failed',
    cause: /different versions/,
    alone: true,
  },
  'the module is missing': {
    ...gpuFault('exit9'),
    code: 'driver.not-loaded',
    state: 'failed',
    cause: /kernel module is not loaded/,
    alone: true,
  },
  'a GPU is gone': {
    ...gpuFault('missing 1'),
    code: 'gpu.missing',
    state: 'failed',
    cause: /on the PCI bus, and nvidia-smi does not list it/,
  },
  'nvidia-smi hangs': {
    ...gpuFault('hang'),
    code: 'smi.hung',
    state: 'hung',
    cause: /does not answer/,
    alone: true,
  },
  'the hook of the toolkit is missing': {
    ...shell(
      'mv /usr/bin/nvidia-container-runtime-hook /root/hook-kept; systemctl restart docker',
      'mv /root/hook-kept /usr/bin/nvidia-container-runtime-hook; systemctl restart docker',
    ),
    code: 'engine.no-gpu-driver',
    state: 'failed',
    cause: /cannot give containers a GPU/,
    options: ['--probe'],
  },
  'the CDI specification is of other GPUs': {
    ...shell(
      'cp -p /var/run/cdi/nvidia.yaml /root/cdi-kept; sed -i "s/name: .all./name: gone/; s/name: .GPU-/&0/" /var/run/cdi/nvidia.yaml',
      'cp -p /root/cdi-kept /var/run/cdi/nvidia.yaml',
      'cdi',
    ),
    host: 'cdi',
    code: 'engine.cdi-stale',
    state: 'failed',
    cause: /CDI specification does not contain the GPU/,
    options: ['--probe'],
  },
  'dockerd is stopped': {
    ...shell('systemctl stop docker.socket docker', 'systemctl start docker.socket docker'),
    code: 'docker.down',
    state: 'failed',
    cause: /Docker Engine is not running/,
    alone: true,
  },
  'the manager is stopped': {
    ...shell('systemctl stop azp-fleet-manager', 'systemctl start azp-fleet-manager'),
    code: 'manager.down',
    state: 'failed',
    cause: /the manager is inactive/,
    alone: true,
  },
  'the agent was deleted at the server': {
    begin: deleteAgent,
    end: () => on('hook', signalAgent('CONT')),
    code: 'agents.offline',
    state: 'failed',
    cause: /not registered in pool gpu-lab/,
  },
  'the proxy is dead': {
    begin: () => managed.restartWith('config.proxy.http = "http://127.0.0.1:9";'),
    end: () =>
      on(
        'hook',
        'cd /etc/azp-fleet; mv manager.json.before manager.json; systemctl restart azp-fleet-manager',
      ),
    code: 'azure.no-connection',
    state: 'failed',
    cause: /127\.0\.0\.1:9/,
  },
  'the token has ended': {
    begin: () => azure.control.setToken('expired'),
    end: () => azure.control.setToken('valid'),
    code: 'azure.auth',
    state: 'failed',
    cause: /token/,
  },
  'the disk of Docker is nearly full': {
    ...shell(
      inManager('mount -t tmpfs -o size=64m tmpfs /var/lib/docker; fallocate -l 63m /var/lib/docker/fill'),
      inManager('umount /var/lib/docker'),
    ),
    code: 'disk.full',
    state: 'failed',
    cause: /\/var\/lib\/docker/,
  },
  'a dataset is not mounted': {
    // Its agent keeps the mount: only the next one needs it.
    ...shell(`umount -l ${data}; docker kill hook-0`, `mount -t tmpfs tmpfs ${data}; touch ${data}/train`),
    code: 'agents.waiting',
    state: 'failed',
    cause: /\/srv\/data/,
  },
  'the clock is off': {
    // The lab's hosts have one clock. The manager's report is old by the false one, so the host is unknown, too.
    ...shell(
      `cat >/usr/local/bin/date <<'END'
#!/bin/sh
exec /usr/bin/date -d '+10 minutes' "$@"
END
chmod 755 /usr/local/bin/date`,
      'rm /usr/local/bin/date',
    ),
    code: 'host.clock-off',
    state: 'unknown',
    cause: /10 min old/,
  },
  'the host is down': {
    begin: () => lab.host('hook').blackHole(true),
    end: () => lab.host('hook').blackHole(false),
    code: 'ssh.timeout',
    state: 'unreachable',
    cause: /./,
    alone: true,
  },
  'another machine answers': {
    ...shell(
      'mkdir /root/keys-kept; mv /etc/ssh/ssh_host_* /root/keys-kept; ssh-keygen -A; systemctl restart ssh',
      'rm /etc/ssh/ssh_host_*; mv /root/keys-kept/* /etc/ssh; rmdir /root/keys-kept; systemctl restart ssh',
    ),
    code: 'ssh.host-key-mismatch',
    state: 'unreachable',
    cause: /key/,
    alone: true,
  },
};

test.each(Object.entries(faults))('%s: status names that', async (what, fault) => {
  const { host = 'hook', options = [], code, state, cause, alone } = fault;
  await shown(`a healthy host before: ${what}`, host, options, ({ verdict }) => verdict.state === 'healthy');
  await fault.begin();
  try {
    const fits = (row: StatusRow): boolean => codes(row).includes(code) && row.verdict.state === state;
    const row = await shown(what, host, options, fits);
    expect(row.verdict.cause).toMatch(cause);
    expect(row.verdict.next).not.toBe('');
    const serious = row.findings.filter(({ severity }) => severity !== 'info').map((each) => each.code);
    if (alone === true) expect(serious).toEqual(state === 'unreachable' ? [] : [code]);
  } finally {
    await fault.end();
  }
  await shown(`a healthy host after: ${what}`, host, options, ({ verdict }) => verdict.state === 'healthy');
});
