import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

import { HostPaths, managerUnit } from '../../src/shared/contract/paths.ts';
import { startAzure } from '../../practice/lab/azure.ts';
import type { LabHost } from '../../practice/lab/host.ts';
import { writeInventory } from '../../practice/lab/inventory.ts';
import { startLab } from '../../practice/lab/lab.ts';
import { until } from '../../practice/lab/run.ts';
import { stopService } from '../../practice/lab/services.ts';
import { release } from '../../test/lab/support/release.ts';
import { recordResults } from '../results.ts';
import { percentile } from '../statistics.ts';
import { slotsBack, statusOf } from '../soak/hosts.ts';
import { type Figures, measured, missed, table } from './goals.ts';
import { jobsOf, type Recorded, refills, runs } from './own-time.ts';

const slots = 16;
/** Jobs of 30 s, after those of 1 s. */
const longJobs = 3;
const pool = 'gpu-bench';
const idleS = 60;
const recorder = `${HostPaths.state}/recorder.mjs`;
const recording = `${HostPaths.state}/recording.jsonl`;

/** `npm run bench -- manager [JOBS]`: a provisioned machine of the lab with sixteen slots. Exit 1: a goal was missed. */
export async function run(args: readonly string[]): Promise<void> {
  const jobs = Number(args[0] ?? 40);
  const lab = await startLab({
    prefix: 'soak-bench',
    hosts: [{ name: 'm', release: 'bookworm', login: 'root', gpus: ['h200'] }],
  });
  try {
    const azure = await startAzure(lab.prefix, lab.folder);
    const inventory = await writeInventory(lab, azure, { pool, defaults: { agents: slots, share: true } });
    await release(lab.folder, 'bench')(['provision', inventory, '--yes', '--no-probe']);
    const host = lab.host('m');
    await allIdle(host);
    const idle = await idleCost(host);
    await loadRecorder(host);
    await allIdle(host);
    for (let job = 0; job < jobs + longJobs; job += 1) {
      // One at a time: every call between two jobs then belongs to the one slot that is filled again.
      await azure.control.queue({ pool, script: job < jobs ? 'sleep 1' : 'sleep 30' });
      await azure.control.until((all) => all.every(({ state }) => state === 'done'), { timeoutMs: 120_000 });
      await allIdle(host);
    }
    const busyMB = await memory(host);
    const { stdout } = await host.exec(`cat ${recording}`);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Recorded);
    conclude(jobs, {
      refills: refills(lines),
      runs: runs(lines),
      idleMB: idle.residentMB,
      busyMB,
      idlePercent: idle.percent,
      idleProgramsPercent: idle.programsPercent,
    });
  } finally {
    await lab.remove();
    await stopService(`azure-${lab.prefix}`);
  }
}

/** Saves the figures; prints missed goals, which make the command fail. */
function conclude(jobs: number, figures: Figures): void {
  const rows = measured(figures);
  const title = `one manager with ${slots} slots, ${jobs} jobs of 1 s and ${longJobs} of 30 s one after the other`;
  const p95 = (values: readonly (number | undefined)[]): readonly number[] => {
    const seen = values.filter((value) => value !== undefined);
    return seen.length === 0 ? [] : [percentile(seen, 0.95)];
  };
  recordResults('manager', title, table(figures.refills.length, rows), {
    rows: {
      'manager.own-ms': p95(figures.refills.map(({ ownMs }) => ownMs)),
      'manager.listening-ms': p95(figures.runs.map(({ agentStartMs }) => agentStartMs)),
      'manager.job-ms': p95(jobsOf(figures.runs, 1000)),
      'manager.long-job-ms': p95(jobsOf(figures.runs, 30_000)),
    },
  });
  for (const line of missed(rows)) process.stdout.write(`goal missed: ${line}\n`);
  if (missed(rows).length > 0) process.exitCode = 1;
}

async function allIdle(host: LabHost): Promise<void> {
  const isIdle = async (): Promise<boolean> => {
    const status = await statusOf(host);
    return status?.slots.length === slots && status.slots.every(({ state }) => state === 'idle');
  };
  await slotsBack([host], 0, 180_000);
  await until('all slots to be idle', isIdle, { timeoutMs: 180_000, everyMs: 300 });
}

interface Idle {
  /** 10^6 bytes. */
  readonly residentMB: number;
  readonly percent: number;
  readonly programsPercent: number;
}

/** Measures the idle manager: only its own checks run. */
async function idleCost(host: LabHost): Promise<Idle> {
  // The startup is not idle.
  await delay(20_000);
  const before = await processorTicks(host);
  const from = Date.now();
  await delay(idleS * 1000);
  const after = await processorTicks(host);
  const ticksPerSecond = 100;
  const share = (part: 'own' | 'programs') =>
    ((after[part] - before[part]) / ticksPerSecond / ((Date.now() - from) / 1000)) * 100;
  return { residentMB: await memory(host), percent: share('own'), programsPercent: share('programs') };
}

async function processorTicks(host: LabHost): Promise<{ readonly own: number; readonly programs: number }> {
  const fields = (await ofManager(host, 'stat')).replace(/^.*\) /su, '').split(' ');
  // utime and stime, and those of children it has waited for.
  const sum = (...at: readonly number[]) => at.reduce((all, index) => all + Number(fields[index] ?? 0), 0);
  return { own: sum(11, 12), programs: sum(13, 14) };
}

async function memory(host: LabHost): Promise<number> {
  const [, kib = ''] = /^VmRSS:\s+(\d+) kB$/mu.exec(await ofManager(host, 'status')) ?? [];
  return (Number(kib) * 1024) / 1e6;
}

async function ofManager(host: LabHost, file: 'stat' | 'status'): Promise<string> {
  const { stdout } = await host.exec(`cat /proc/$(systemctl show -p MainPID --value ${managerUnit})/${file}`);
  return stdout;
}

async function loadRecorder(host: LabHost): Promise<void> {
  const dropIn = [
    '[Service]',
    `Environment=AZP_FLEET_RECORD=${recording} NODE_OPTIONS=--import=${recorder}`,
    '',
  ].join('\n');
  const folder = `/run/systemd/system/${managerUnit}.d`;
  await host.exec(`cat >${recorder}`, { input: readFileSync(new URL('recorder.mjs', import.meta.url)) });
  await host.exec(`mkdir -p ${folder} && cat >${folder}/recorder.conf`, { input: dropIn });
  await host.exec(`systemctl daemon-reload && systemctl restart ${managerUnit}`);
}
