import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ProcessFacts } from '../../../../src/manager/machine/process.ts';
import { ManagerRig, printed } from '../../../support/manager-rig.ts';
import { fault } from '../../../support/fault.ts';

// The daemon with a fake Azure DevOps server and a stand-in dockerd, both over real sockets. This file has the output of
// nvidia-smi, /proc and getent.
const healthy = readFileSync('test/fixtures/nvidia-smi/h200-pair-v13.xml', 'utf8');
const gpus = [...healthy.matchAll(/<uuid>(GPU-[^<]+)</g)].map(([, uuid = '']) => uuid);

let rig: ManagerRig;
/** Rows of nvidia-smi: index of the GPU, pid, MiB. */
let rows: (readonly [number, number, number | string])[];
/** Memory in use beyond that of the rows. */
let hidden: readonly [number, number];
/** Exit code of nvidia-smi. */
let code: number;
/** Pids that systemd-run has killed. */
let killed: number[];
/** Pids that hang in the kernel. */
let hung: Set<number>;

beforeEach(async () => {
  rows = [];
  hidden = [0, 0];
  code = 0;
  killed = [];
  hung = new Set();
  rig = await ManagerRig.create();
  rig.plugIn('0000:83:00.0');
  rig.plugIn('0000:84:00.0');
  rig.programs.set('sh', printed(healthy));
  rig.programs.set('dmesg', printed(''));
  rig.programs.set('nvidia-smi', (args) => ({ ...printed(smi(args[0] ?? '')), code }));
  rig.programs.set('head', printed('python3\0/home/alice/train.py\0--lr\x001e-4\0'));
  rig.programs.set('getent', printed('alice:x:1000:1000:Alice:/home/alice:/bin/bash\n'));
  rig.programs.set('systemd-run', (args) => {
    const pids = args.slice(args.indexOf('sh', 5) + 1).filter((_, at) => at % 2 === 0);
    killed.push(...pids.map(Number));
    rows = rows.filter(([, pid]) => !killed.includes(pid) || hung.has(pid));
    return printed('');
  });
});
afterEach(() => rig.close());

function smi(question: string): string {
  if (question.startsWith('--query-compute-apps'))
    return rows.map(([gpu, pid, mib]) => `${gpus[gpu]}, ${pid}, ${mib}\n`).join('');
  return gpus
    .map((uuid, index) => {
      const own = rows.filter(([gpu]) => gpu === index).map(([, , mib]) => Number(mib) || 0);
      return `${uuid}, ${own.reduce((sum, mib) => sum + mib, hidden[index] ?? 0)}, Disabled\n`;
    })
    .join('');
}

/** Adds a process of the login alice that started now. */
function process(pid: number, changes: Partial<ProcessFacts> = {}): void {
  rig.hostPrograms.processes.set(pid, {
    pid,
    parent: 1,
    uid: 1000,
    comm: 'python3',
    state: 'S',
    startTicks: 4_000 + pid,
    startedAt: Date.now(),
    cgroups: ['/user.slice/user-1000.slice/session-3.scope'],
    ...changes,
  });
}

const inContainer = (id: string): Partial<ProcessFacts> => ({
  uid: 4000,
  cgroups: [`/system.slice/docker-${id}.scope`],
});

const agent = async (name: string) => {
  const found = await rig.azure.findAgent(rig.poolId, name);
  return { enabled: found?.enabled, reason: found?.userCapabilities?.['azp-fleet.disabled'] };
};

const now = (): string => {
  const two = (number: number): string => String(number).padStart(2, '0');
  return `${two(new Date().getHours())}:${two(new Date().getMinutes())}`;
};

fault(
  'gpu-taken',
  "another user's process closes only its slot, and is not killed; the slot opens when it exits",
  async () => {
    await rig.start();
    await rig.until('idle');
    process(4121);
    const since = now();
    rows = [[1, 4121, 15_974]];
    await rig.until('waiting', ['1']);
    const cause = `waits: 15.6 GiB held by alice, train.py (4121) since ${since}`;
    expect(await rig.slot('1')).toMatchObject({ code: 'gpu.in-use', cause });
    await expect.poll(() => agent('box-1')).toEqual({ enabled: false, reason: cause });
    expect((await rig.slot('0')).state).toBe('idle');
    expect(await agent('box-0')).toEqual({ enabled: true, reason: undefined });
    expect(rig.docker.get('box-1')).toBeUndefined();
    expect(killed).toEqual([]);
    rows = [];
    await rig.until('idle');
    expect(await agent('box-1')).toEqual({ enabled: true, reason: undefined });
  },
);

test('a process that uses more memory does not update the pool each time', async () => {
  await rig.start();
  await rig.until('idle');
  process(4121);
  rows = [[1, 4121, 500]];
  await rig.until('waiting', ['1']);
  await expect.poll(() => agent('box-1')).toMatchObject({ enabled: false });
  const before = checks();
  rows = [[1, 4121, 9_000]];
  await expect.poll(checks).toBeGreaterThan(before + 2);
  expect((await rig.slot('1')).cause).toContain('500 MiB held by alice');
});

test('no agent is launched on a GPU that is in use when the manager starts', async () => {
  process(4121);
  rows = [[0, 4121, 800]];
  await rig.start();
  await rig.until('waiting', ['0']);
  await rig.until('idle', ['1']);
  expect(rig.docker.get('box-0')).toBeUndefined();
});

test("the processes of a slot's job do not close the slot", async () => {
  await rig.start();
  await rig.until('idle');
  rig.beginJob('box-1');
  await rig.until('busy', ['1']);
  process(500, inContainer(rig.docker.get('box-1')?.id ?? ''));
  rows = [[1, 500, 30_000]];
  const before = checks();
  await expect.poll(checks).toBeGreaterThan(before + 2);
  expect((await rig.slot('1')).cause).toBeUndefined();
  rows = [];
  // A check in progress still shows the process that has ended.
  const after = checks();
  await expect.poll(checks).toBeGreaterThan(after + 1);
  rig.endJob('box-1');
  await rig.until('idle');
  expect(killed).toEqual([]);
});

const checks = (): number => rig.hostPrograms.calls.filter((call) => call.includes('compute-apps')).length;

describe('a process that an ended run left on its GPU', () => {
  async function end(): Promise<void> {
    await rig.start();
    await rig.until('idle');
    rig.beginJob('box-1');
    await rig.until('busy', ['1']);
    process(500, { ...inContainer(rig.docker.get('box-1')?.id ?? ''), state: 'D' });
    rows = [[1, 500, 30_000]];
    rig.endJob('box-1');
  }

  test('is killed, and the slot takes jobs again', async () => {
    await end();
    await expect.poll(() => killed).toContain(500);
    await rig.until('idle');
    expect(rig.docker.get('box-1')).toBeDefined();
  });

  fault('gpu-process-left', 'and that does not exit closes only its slot', async () => {
    hung.add(500);
    await end();
    await expect.poll(async () => (await rig.slot('1')).code).toBe('gpu.left-behind');
    await expect.poll(() => agent('box-1')).toMatchObject({ enabled: false });
    expect((await rig.slot('1')).cause).toMatch(
      /^waits: 29\.3 GiB held by killed leftovers of a job: .* \(500, state D\) since /,
    );
    rig.beginJob('box-0');
    rig.endJob('box-0');
    await rig.until('idle', ['0']);
    rows = [];
    await rig.until('idle');
  });
});

describe('memory without a process', () => {
  test('closes the slot at the second check, with the command that resets the GPU', async () => {
    await rig.start();
    await rig.until('idle');
    hidden = [0, 9_000];
    await rig.until('waiting', ['1']);
    await expect.poll(() => agent('box-1')).toMatchObject({ enabled: false });
    expect(await rig.slot('1')).toMatchObject({
      code: 'gpu.memory-held',
      cause: 'waits: 8.8 GiB held by no visible process',
      next: expect.stringContaining(`nvidia-smi --gpu-reset -i ${gpus[1]}`) as string,
    });
    expect((await rig.slot('0')).state).toBe('idle');
    hidden = [0, 0];
    await rig.until('idle');
  });

  test('is measured against the idle memory of the GPU, also after a restart of the manager', async () => {
    hidden = [450, 450];
    await rig.start();
    await rig.until('idle');
    await rig.stop();
    hidden = [450, 620];
    await rig.start();
    await rig.until('waiting', ['1']);
    await rig.until('idle', ['0']);
    hidden = [530, 530];
    await rig.until('idle');
  });
});

describe('a GPU that two slots share', () => {
  const share = { agents: { kind: 'count', count: 4 }, share: true } as const;

  test("stays open beside a sharer's job, and closes for another user's process", async () => {
    await rig.start(share);
    await rig.until('idle', ['0', '1', '2', '3']);
    rig.beginJob('box-0');
    await rig.until('busy', ['0']);
    process(500, inContainer(rig.docker.get('box-0')?.id ?? ''));
    rows = [[0, 500, 30_000]];
    const before = checks();
    await expect.poll(checks).toBeGreaterThan(before + 2);
    await rig.until('idle', ['1', '2', '3']);
    process(4121);
    rows = [...rows, [0, 4121, 800]];
    await rig.until('waiting', ['2']);
    expect((await rig.slot('0')).state).toBe('busy');
    await rig.until('idle', ['1', '3']);
  });
});

test('between the end of a run and the next launch nvidia-smi runs at most three times', async () => {
  // On this clock the next periodic check is due in 20 s.
  rig.clock.speed = 1;
  await rig.start();
  await rig.until('idle');
  rig.beginJob('box-1');
  await rig.until('busy', ['1']);
  const before = rig.hostPrograms.calls.length;
  const first = rig.docker.get('box-1')?.id;
  rig.endJob('box-1');
  await expect.poll(() => rig.docker.get('box-1')?.id ?? first).not.toBe(first);
  const calls = rig.hostPrograms.calls.slice(before).filter((call) => call.startsWith('nvidia-smi'));
  expect(calls.filter((call) => call.includes('memory.used'))).toHaveLength(1);
  expect(calls.length).toBeLessThanOrEqual(3);
});

test('the next container is created during the check, and removed if another process is found', async () => {
  await rig.start();
  await rig.until('idle');
  rig.beginJob('box-1');
  await rig.until('busy', ['1']);
  const first = rig.docker.get('box-1')?.id;
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  rig.programs.set('nvidia-smi', async (args) => {
    await answered;
    return printed(smi(args[0] ?? ''));
  });
  rig.endJob('box-1');
  const next = () => rig.docker.get('box-1');
  await expect.poll(() => next()?.id ?? first).not.toBe(first);
  expect(next()?.state).toBe('created');
  process(4121);
  rows = [[1, 4121, 800]];
  answer();
  await rig.until('waiting', ['1']);
  expect((await rig.slot('1')).code).toBe('gpu.in-use');
  await expect.poll(next).toBeUndefined();
  rows = [];
  await rig.until('idle');
});

describe('nvidia-smi that fails', () => {
  test('and hangs in the kernel is started once, and reported by the health check', async () => {
    await rig.start();
    await rig.until('idle');
    let started = 0;
    rig.programs.set('nvidia-smi', () => {
      started += 1;
      return { code: -1, output: '', timedOut: true, stillRunning: () => true };
    });
    await rig.until('quarantined');
    expect((await rig.status()).slots.map(({ code: why }) => why)).toEqual(['smi.hung', 'smi.hung']);
    expect(started).toBe(1);
  });

  test('closes no slot; after three failures slots start without a check', async () => {
    code = 3;
    await rig.start();
    await rig.until('idle');
    expect(rig.logged.map(({ message }) => message)).toContain(
      'jobs start without a check for other processes on the GPUs',
    );
  });
});
