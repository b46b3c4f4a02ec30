import type { Context } from '../../../shared/base/context.ts';
import type { Problem } from '../../../shared/base/errors.ts';
import { troubleOf } from '../../../shared/base/host-trouble.ts';
import type { Facts } from '../../../fleet/facts/facts.ts';
import { gatherFacts } from '../../../fleet/facts/gather.ts';
import type { HostSpec } from '../../../fleet/inventory/fleet.ts';
import type { HostState } from '../../../fleet/apply/events.ts';
import { cannotReach } from '../../../fleet/ssh/failures.ts';
import type { Transport } from '../../../fleet/ssh/transport.ts';
import { platformOf, unsupported } from '../../../fleet/packages/distribution.ts';
import { lookAround, type Surroundings } from './look-around.ts';

/** What a live test found. `gpus` and `summary` are there once the facts could be read. */
export interface HostReport extends Partial<Surroundings> {
  readonly name: string;
  readonly gpus?: number;
  /** `Debian 13, 8 GPUs, labadmin, 212 GiB free` */
  readonly summary?: string;
  /** What tells the machine from others. */
  readonly machine?: Pick<Facts, 'machineId' | 'bootId'>;
  readonly problem?: Problem;
}

type Stage = (state: HostState, text?: string) => void;

/** Logs in, becomes root, reads the facts and judges them. Changes nothing. Rejects only when stopped. */
export async function testHost(
  transport: Transport,
  describe: () => Pick<HostSpec, 'name' | 'ssh'>,
  name: string,
  { root, signal, log }: Pick<Context, 'root' | 'signal' | 'log'>,
  stage: Stage,
): Promise<HostReport> {
  try {
    const host = describe();
    stage('connecting');
    const session = await transport.connect(host, { signal });
    try {
      stage('reading');
      const judged = judge(name, await gatherFacts(session, host, root, signal));
      const report = { ...judged, ...(await lookAround(session, signal)) };
      stage(report.problem ? 'failed' : 'ok', report.problem?.what ?? report.summary);
      return report;
    } finally {
      await session.close();
    }
  } catch (error) {
    if (signal.aborted) throw error;
    const problem = troubleOf(name, error, log);
    stage(cannotReach(problem) ? 'unreachable' : 'failed', problem.what);
    return { name, problem };
  }
}

const gib = 1024 ** 3;
/** The manager starts nothing below 10 GiB (docs/manager-problems.md); the driver's packages, Docker and the image need the rest. */
const roomNeeded = 15 * gib;

/** Whether a host with these facts can be provisioned. */
export function judge(name: string, facts: Facts): HostReport {
  const gpus = facts.gpus.length;
  const room = roomFor(facts);
  const free = room === undefined ? '' : `, ${Math.floor(room.free / gib)} GiB free`;
  const { machineId, bootId } = facts;
  const summary = `${systemName(facts)}, ${gpuCount(gpus)}, ${facts.login.user}${free}`;
  const report = { name, gpus, summary, machine: { machineId, bootId } };
  if (platformOf(facts) === undefined)
    return { ...report, problem: { code: 'setup.unsupported', host: name, ...unsupported(facts) } };
  if (facts.systemd === undefined)
    return {
      ...report,
      problem: {
        code: 'setup.no-systemd',
        host: name,
        what: 'there is no systemd to run the manager',
        next: 'use a machine or virtual machine that boots with systemd, not a plain container',
      },
    };
  if (room !== undefined && room.free < roomNeeded)
    return {
      ...report,
      problem: {
        code: 'setup.no-room',
        host: name,
        step: 'disk',
        what: `there is no room for the agents' image below ${room.path}`,
        expected: `${roomNeeded / gib} GiB free`,
        seen: `${(room.free / gib).toFixed(1)} GiB`,
        next: `free some: sudo du -xh -d 2 ${room.path} | sort -h | tail; then try again`,
      },
    };
  return report;
}

/** Where Docker will keep images, and what is free there. */
function roomFor({ disk, docker }: Facts): { readonly path: string; readonly free: number } | undefined {
  for (const path of [docker.rootDir, '/var/lib/docker', '/var', '/']) {
    const free = disk[path]?.freeBytes;
    if (free !== undefined) return { path, free };
  }
  return undefined;
}

function systemName({ os }: Facts): string {
  const name = os.id.charAt(0).toUpperCase() + os.id.slice(1);
  return os.versionId === '' ? os.pretty : `${name} ${os.versionId}`;
}

function gpuCount(count: number): string {
  return count === 0 ? 'no GPU' : `${count} GPU${count === 1 ? '' : 's'}`;
}
