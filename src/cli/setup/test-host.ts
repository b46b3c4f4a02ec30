import type { HostState } from '../../fleet/apply/events.ts';
import type { Facts } from '../../fleet/facts/facts.ts';
import { gatherFacts } from '../../fleet/facts/gather.ts';
import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import { parseFleet } from '../../fleet/inventory/load.ts';
import { platformOf, unsupported } from '../../fleet/packages/distribution.ts';
import { cannotReach } from '../../fleet/ssh/failures.ts';
import type { Session, Transport } from '../../fleet/ssh/transport.ts';
import type { Context } from '../../shared/base/context.ts';
import type { Problem } from '../../shared/base/errors.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import { hostProblem } from '../../shared/base/host-trouble.ts';
import { sh } from '../../shared/base/shell.ts';
import { withHosts } from './inventory-file.ts';
import type { HostChoice, Wizard } from './wizard-context.ts';

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
    const problem = hostProblem(name, error, log);
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

/** What setup asks a host beside its facts. */
interface Surroundings {
  /** As the machine calls itself, without its domain; undefined where that says nothing. */
  readonly hostname: string | undefined;
  /** Mounts of other machines' file systems, where data of a lab often lies. */
  readonly mounts: readonly string[];
}

/** A host can have as many mounts as it likes; more are not offered. */
const mostMounts = 20;

/** Prints the name, then one line a mount: type and path, as /proc/mounts has them. */
export const lookScript = sh`uname -n
while read -r _ path type _; do
  printf '%s %s\n' "$type" "$path"
done </proc/mounts`;

/** File systems that come over a network. */
const shared =
  /^(nfs4?|cifs|smb3|lustre|beegfs|ceph|fuse\.(ceph-fuse|glusterfs|sshfs|juicefs|mfs)|glusterfs|gpfs|wekafs|panfs|orangefs)$/;

export function parseLook(stdout: string): Surroundings {
  const [first = '', ...lines] = stdout.split('\n');
  const [hostname = ''] = foreignLine(first).trim().split('.');
  const mounts = lines.flatMap((line) => {
    const [type = '', path = ''] = line.split(' ');
    return shared.test(type) ? [unescaped(path)] : [];
  });
  return {
    hostname: hostname === '' || hostname === 'localhost' ? undefined : hostname,
    mounts: [...new Set(mounts)].filter((path) => /^\/[\w./@+-]*$/.test(path)).slice(0, mostMounts),
  };
}

/** Blanks stand there in octal. */
function unescaped(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

/** Never a reason for a host not to be ready. */
async function lookAround(session: Session, signal: AbortSignal): Promise<Surroundings> {
  const result = await session.script(lookScript, {
    as: 'login',
    totalTimeoutMs: 20_000,
    outputLimit: 1024 * 1024,
    signal,
  });
  return parseLook(result.code === 0 ? result.stdout : '');
}

/** How a host would be reached with this choice; differs when it joins an inventory that has defaults. */
type Describe = (host: HostChoice) => HostSpec;

/** Where hosts are to stand. */
export interface Among {
  readonly describe: Describe;
  /** With what a host has to say for itself, because the inventory does not say it for all. */
  readonly entry: (host: HostChoice) => HostChoice;
  /** The hosts that stand there already; jump hosts may be among them. */
  readonly inventory: readonly HostSpec[];
}

/**
 * The host as it will be once it stands in this inventory: with its defaults, so that the test is the real one. The
 * ssh_config that was named here is its own where the inventory reads another one.
 */
export function describeIn(
  source: string,
  file: string,
  { context, sshConfig }: Pick<Wizard, 'context' | 'sshConfig'>,
  inventory: readonly HostSpec[],
): Among {
  const asWritten = (host: HostChoice): HostSpec => {
    const fleet = parseFleet(withHosts(source, [host]), file, context);
    const described = fleet.hosts.find(({ name }) => name === host.name);
    if (described === undefined) throw new TypeError(`${host.name} was added and is not there`);
    return described;
  };
  const entry = (host: HostChoice): HostChoice =>
    sshConfig === undefined || asWritten(host).ssh.sshConfig === sshConfig ? host : { ...host, sshConfig };
  return { describe: (host) => asWritten(entry(host)), entry, inventory };
}
