import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import type { DrainOrder } from '../../src/shared/contract/drain.ts';
import type { HistoryAnswer, RunUse } from '../../src/shared/contract/history.ts';
import type { GpuStatus, RunRecord, ManagerStatus, SlotStatus } from '../../src/shared/contract/status.ts';
import { framesSaid, hostileHost, type HostileHost, type Said } from './hostile-host.ts';
import { managerStatus } from './manager-status.ts';

/** Hosts that always say the same, over real ssh: what commands make of them can be kept as text. */
export interface PracticeFleet {
  /** Entries of `hosts:` in an inventory; the login password is in the variable LOGIN. */
  readonly hosts: readonly string[];
  close(): void;
}

const at = '2026-11-21T11:59:50Z';

const slot = (host: string, name: string, more: Partial<SlotStatus>): SlotStatus => ({
  slot: name,
  agent: `${host}-${name}`,
  state: 'idle',
  gpus: [],
  pool: 'gpu-lab',
  since: '2026-11-21T11:40:00Z',
  jobsRun: 12,
  container: '0123456789ab',
  run: { id: 'r1', startedAt: '2026-11-21T11:40:00Z', settings: 'now' },
  settings: 'now',
  ...more,
});

const gpu = (uuid: string, load: Partial<GpuStatus>): GpuStatus => ({
  uuid,
  name: 'NVIDIA H200',
  computeCapability: '9.0',
  memoryTotalMiB: 143_771,
  ...load,
});

const h200: ManagerStatus = managerStatus({
  token: {},
  at,
  protocol: 1,
  host: 'h200-1',
  owner: 'practice',
  image: {
    state: 'ready',
    reference: 'azp-fleet/agent:cuda12.8',
    digest: 'sha256:0123456789abcdef0123456789abcdef',
  },
  drains: [],
  slots: [
    slot('h200-1', '0', {
      gpus: ['GPU-1'],
      state: 'busy',
      job: 'train resnet50 nightly',
      jobSince: '2026-11-21T09:49:00Z',
    }),
    slot('h200-1', '1', { gpus: ['GPU-2'] }),
  ],
  health: {
    state: 'healthy',
    checkedAt: at,
    cudaVersion: '13.0',
    gpus: [
      gpu('GPU-1', { temperatureC: 64, memoryUsedMiB: 73_420, utilizationPercent: 98 }),
      gpu('GPU-2', { temperatureC: 31, memoryUsedMiB: 0, utilizationPercent: 0 }),
    ],
    findings: [],
  },
});

const drained = { reason: 'a new fan', at: '2026-11-21T08:15:00Z', owner: 'ann@laptop' };
const rtx: ManagerStatus = managerStatus({
  at,
  protocol: 1,
  host: 'rtx-box',
  owner: 'practice',
  drained: true,
  drains: [drained],
  slots: [slot('rtx-box', '0', { gpus: ['GPU-3'], state: 'drained' })],
  health: {
    state: 'failed',
    checkedAt: at,
    cudaVersion: '12.8',
    gpus: [{ uuid: 'GPU-3', name: 'NVIDIA GeForce RTX 4080 SUPER', computeCapability: '8.9' }],
    findings: [
      {
        code: 'xid.79',
        gpu: '00000000:01:00.0',
        severity: 'fail',
        what: 'the GPU has fallen off the bus (XID 79)',
        next: 'drain and reboot the host; if the fault returns, check the hardware',
      },
    ],
  },
});

const run = (more: Partial<RunRecord>): RunRecord => ({
  schema: 1,
  run: '01JD0000',
  slot: '0',
  agent: 'h200-1-0',
  image: 'sha256:0123',
  gpus: ['GPU-1'],
  finishedAt: '2026-11-21T09:48:10Z',
  oomKilled: false,
  waitedS: 31,
  durationS: 5214,
  exitCode: 0,
  job: 'train resnet50 nightly',
  result: 'succeeded',
  log: [],
  ...more,
});
const use: RunUse = {
  samples: 260,
  sampledS: 5203,
  gpuS: 4890,
  peakMemoryMiB: 72_915,
  meanUtilizationPercent: 63.4,
  throttledS: 0,
  energyWh: 818.2,
};
const runs: readonly RunRecord[] = [
  run({ use }),
  run({
    slot: '1',
    result: 'failed',
    durationS: 64,
    oomKilled: true,
    exitCode: 137,
    job: 'unit tests of the data loader',
  }),
  run({ result: 'failed', durationS: 12, job: 'lint', diagnostics: true, run: '01JC9999' }),
];

const history: HistoryAnswer = {
  schema: 1,
  events: [
    { at: '2026-11-20T05:40:12.000Z', kind: 'reboot', what: 'the host started again' },
    { at: '2026-11-20T05:41:30.000Z', kind: 'driver', what: 'driver 580.82.07 → 580.95.05' },
    {
      at: '2026-11-20T13:02:00.000Z',
      kind: 'verdict',
      what: 'healthy → failed: gpu.lost on GPU-513536b6',
    },
    { at: '2026-11-20T13:02:01.000Z', kind: 'quarantine', slot: '1', what: 'slot 1 quarantined: gpu.lost' },
    {
      at: '2026-11-20T14:10:00.000Z',
      kind: 'drain',
      who: 'ann@laptop',
      what: 'host drained: replace the fan of the third GPU; until 2026-11-21T18:00Z',
    },
    {
      at: '2026-11-21T09:48:10.000Z',
      kind: 'run',
      slot: '0',
      what: 'train resnet50 nightly: succeeded',
      run: {
        id: '01JD0000',
        job: 'train resnet50 nightly',
        result: 'succeeded',
        failed: false,
        durationS: 5214,
        gpus: ['GPU-513536b6-7d19-9063-b049-1e69664bb298'],
        use,
      },
    },
  ],
  omitted: 0,
  summary: {
    since: '2026-11-14T12:00:00.000Z',
    jobs: 41,
    failures: [
      { cause: 'run.out-of-memory', count: 2 },
      { cause: 'failed', count: 1 },
    ],
    busy: [
      { gpu: 'GPU-513536b6-7d19-9063-b049-1e69664bb298', hours: 31.24 },
      { gpu: 'GPU-f8b53d4c-a05a-2a4b-7a2c-33c2b6b2d2ba', hours: 4.5 },
    ],
  },
};

interface Machine {
  readonly name: string;
  readonly more: string;
  readonly facts: Readonly<Record<string, string>>;
  readonly manager?: ManagerStatus;
}

const debian =
  'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\nID=debian\n';
const ubuntu =
  'PRETTY_NAME="Ubuntu 24.04.1 LTS"\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\nID=ubuntu\nID_LIKE=debian\n';
const machineOf = (id: string) =>
  `kernel 6.1.0-32-amd64\narch x86_64\nmachine-id ${id}\nboot-id ${id}\nsystemd systemd 252\nuser lab\nuid 1000\ntime 1795262400\nmemory 263000000\ncpus 64\n`;
const disk =
  'path /\nFilesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 900000000 400000000 500000000 45% /\n';
const engine = {
  docker: 'active\n',
  'docker-info': '{"ServerVersion":"29.7.2","CgroupDriver":"systemd","Runtimes":{"runc":{},"nvidia":{}}}\n',
  'docker-containers': '[]\n',
};
const packages =
  'installed hold docker-ce 5:29.7.2-1~debian.12~bookworm\ninstalled hold nvidia-container-toolkit 1.20.0-1\ninstalled install libnvidia-ml1 580.95.05-1\n';
const active = 'current versions/1\nActiveState=active\nUnitFileState=enabled\n';

/** The facts of a working machine with this machine-id. */
export const workingFacts = (id: string): Readonly<Record<string, string>> => ({
  os: debian,
  machine: machineOf(id),
  gpus: 'gpu 0000:83:00.0 2335 nvidia\ngpu 0000:84:00.0 2335 nvidia\n',
  driver: 'loaded 580.95.05\n',
  ...engine,
  'packages-apt': packages,
  disk,
  manager: active,
  'manager-status': `present\n${JSON.stringify(h200)}`,
});

const machines: readonly Machine[] = [
  {
    name: 'h200-1',
    more: 'gpus: 2, labels: { room: b12 }',
    facts: workingFacts('11'),
    manager: h200,
  },
  {
    name: 'l40s-1',
    more: 'labels: { room: b12, rack: 7 }',
    facts: {
      os: ubuntu,
      machine: machineOf('22'),
      gpus: 'gpu 0000:01:00.0 26b9 \n',
      disk,
      others: 'login bob pts/0\ngpu-process 4711 python3\n',
    },
  },
  {
    name: 'rtx-box',
    more: 'agents: 1',
    facts: {
      os: ubuntu,
      machine: machineOf('33'),
      gpus: 'gpu 0000:01:00.0 2702 nvidia\n',
      driver: 'loaded 570.133.20\n',
      ...engine,
      'packages-apt': packages,
      disk,
      manager: active,
      'manager-status': `present\n${JSON.stringify(rtx)}`,
    },
    manager: rtx,
  },
];

/** `folder`: where the sockets of the managers are. */
export async function practiceFleet(folder: string): Promise<PracticeFleet> {
  const managers: Server[] = [];
  const served: HostileHost[] = [];
  const hosts: string[] = [];
  for (const { name, more, facts, manager } of machines) {
    const socket = join(folder, `${name}.sock`);
    if (manager !== undefined) managers.push(await serveManager(socket, manager));
    const host = await hostileHost({
      answer: (script) => answer(name, script, facts),
      ...(manager === undefined ? {} : { managerSocket: socket }),
    });
    served.push(host);
    hosts.push(`${name}: { address: 127.0.0.1, port: ${host.port}, ${more} }`);
  }
  return {
    // Nothing listens on this port.
    hosts: [...hosts, 'away: { address: 127.0.0.1, port: 9 }'],
    close: () => {
      for (const host of served) host.close();
      for (const manager of managers) manager.close();
    },
  };
}

function answer(name: string, script: string, facts: Machine['facts']): Said {
  if (script.includes('frames %s')) return framesSaid(script, facts);
  const asked = [...script.matchAll(/^begin '?([a-z][a-z0-9-]*)'?$/gm)].map(([, key = '']) => key);
  if (asked.length > 0)
    return {
      stdout: asked
        .map((key) => `begin ${key}\n${simulated(key, facts['packages-apt'] ?? '')}end\n`)
        .join(''),
    };
  if (script.includes('nvidia-smi'))
    return name === 'rtx-box'
      ? { stderr: 'Unable to determine the device handle for GPU0000:01:00.0: Unknown Error\n', code: 255 }
      : { stdout: 'GPU 0: NVIDIA H200\n' };
  return { code: 1, stderr: 'this is practice: nothing is changed here\n' };
}

/** The releases in the vendors' repositories. */
const offered: Readonly<Record<string, readonly string[]>> = {
  driver: ['580.95.05-1', '580.126.09-1', '590.48.01-1', '570.133.20-1'],
  docker: ['5:29.7.2-1~debian.12~bookworm', '5:29.8.2-1~debian.12~bookworm', '5:28.5.2-1~debian.12~bookworm'],
  toolkit: ['1.20.0-1', '1.19.1-1'],
};

/** Returns what apt would do for a question about driver, Docker or toolkit. */
function simulated(key: string, installed: string): string {
  const offers = offered[key];
  if (offers !== undefined) return ['missing', ...offers.map((each) => `offer ${each}`), ''].join('\n');
  const packages = key.startsWith('driver')
    ? [
        'nvidia-kernel-open-dkms 580.95.05-1',
        'libcuda1 580.95.05-1',
        'nvidia-smi 580.95.05-1',
        'dkms 3.0.11-1',
      ]
    : key.startsWith('docker')
      ? ['docker-ce 5:29.7.2-1', 'containerd.io 2.1.5-1', 'docker-ce-cli 5:29.7.2-1']
      : ['nvidia-container-toolkit 1.20.0-1', 'libnvidia-container1 1.20.0-1'];
  return packages
    .filter((each) => !installed.includes(` ${each.split(' ')[0]} `))
    .map((each) => `install ${each}\n`)
    .join('');
}

/** Takes orders; of what it says only who drains it changes. */
async function serveManager(socket: string, begun: ManagerStatus): Promise<Server> {
  let status = begun;
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const path = `${request.method} ${request.url?.split('?')[0]}`;
      if (path === 'GET /v1/runs') return response.end(JSON.stringify(runs));
      if (path === 'GET /v1/history') return response.end(JSON.stringify(history));
      if (path === 'GET /v1/logs')
        return response.end('Running job: train resnet50 nightly\nepoch 12 of 90\n');
      if (path === 'POST /v1/webhook') return response.writeHead(409).end(JSON.stringify(noWebhook));
      if (path === 'POST /v1/image') return response.end(JSON.stringify(imageBuilt(status)));
      const known = begun.slots.map(({ slot: name }) => name);
      const { slots = [], ...mark } = body === '' ? {} : (JSON.parse(body) as Partial<DrainOrder>);
      const unknown = slots.find((name) => !known.includes(name));
      if (unknown !== undefined) return response.writeHead(400).end(JSON.stringify(noSlot(unknown, known)));
      if (path === 'POST /v1/undrain-own')
        status = { ...begun, drained: false, drains: [], slots: begun.slots.map(working) };
      if (path === 'POST /v1/drain')
        status = { ...begun, drained: true, drains: [{ ...drained, reason: mark.reason ?? '' }] };
      return response.end(JSON.stringify(status));
    });
  });
  await new Promise<void>((resolve) => void server.listen(socket, resolve));
  return server;
}

function working(of: SlotStatus): SlotStatus {
  return of.state === 'drained' ? { ...of, state: 'starting' } : of;
}

const noWebhook = {
  code: 'webhook.none',
  what: 'no webhook is set for this host',
  next: 'set `webhook:` in the inventory, then run azp-fleet provision',
};

const noSlot = (name: string, known: readonly string[]) => ({
  code: 'slot.unknown',
  what: `there is no slot ${name}`,
  expected: `slots: ${known.join(', ')}`,
  next: 'correct the name of the slot',
});

function imageBuilt(status: ManagerStatus): ManagerStatus {
  return { ...status, image: { ...status.image, asked: { at, state: 'done' } } };
}
