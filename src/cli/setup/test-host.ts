import type { HostState } from '../../fleet/apply/events.ts';
import type { Facts, GatheredFacts } from '../../fleet/facts/facts.ts';
import { unreadProblem, withoutUnread } from '../../fleet/facts/unread.ts';
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

/** The result of a test. `gpus` and `summary` are set if the facts could be read. */
export interface HostReport extends Partial<HostDetails> {
  readonly name: string;
  readonly gpus?: number;
  /** `Debian 13, 8 GPUs, labadmin, 212 GiB free` */
  readonly summary?: string;
  /** The machine's identity. */
  readonly machine?: Pick<Facts, 'machineId' | 'bootId'>;
  readonly problem?: Problem;
}

type Stage = (state: HostState, text?: string) => void;

/** Logs in, becomes root, reads the facts and checks them. Changes nothing. Rejects only when stopped. */
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
      const checked = checkFacts(name, await gatherFacts(session, host, root, signal));
      const report = { ...checked, ...(await readDetails(session, signal)) };
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
const freeNeeded = 15 * gib;

/** Checks whether a host with these facts can be provisioned. */
export function checkFacts(name: string, gathered: GatheredFacts): HostReport {
  const { unknown, machineId, bootId } = gathered;
  const machine = { machineId, bootId };
  if (unknown.length > 0) return { name, machine, problem: unreadProblem(name, unknown) };
  const facts = withoutUnread(gathered);
  const gpus = facts.gpus.length;
  const space = dockerSpace(facts);
  const free = space === undefined ? '' : `, ${Math.floor(space.free / gib)} GiB free`;
  const summary = `${systemName(facts)}, ${gpuCount(gpus)}, ${facts.login.user}${free}`;
  const report = { name, gpus, summary, machine };
  if (platformOf(facts) === undefined)
    return { ...report, problem: { code: 'setup.unsupported', host: name, ...unsupported(facts) } };
  if (facts.systemd === undefined)
    return {
      ...report,
      problem: {
        code: 'setup.no-systemd',
        host: name,
        what: 'systemd is missing; the manager needs it',
        next: 'use a physical or virtual machine that boots with systemd, not a container',
      },
    };
  if (space !== undefined && space.free < freeNeeded)
    return {
      ...report,
      problem: {
        code: 'setup.no-room',
        host: name,
        step: 'disk',
        what: `not enough disk space for the agents' image in ${space.path}`,
        expected: `${freeNeeded / gib} GiB free`,
        seen: `${(space.free / gib).toFixed(1)} GiB`,
        next: `free disk space: sudo du -xh -d 2 ${space.path} | sort -h | tail; then try again`,
      },
    };
  return report;
}

/** Returns the folder of Docker's images and its free space. */
function dockerSpace({
  disk,
  docker,
  containerdRoot,
}: Facts): { readonly path: string; readonly free: number } | undefined {
  const images = docker.byContainerd ? containerdRoot : docker.rootDir;
  for (const path of [images, docker.rootDir, '/var/lib/docker', '/var', '/']) {
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

/** Details that setup reads in addition to the facts. */
interface HostDetails {
  /** The machine's hostname without domain; undefined if it is empty or localhost. */
  readonly hostname: string | undefined;
  /** Mounts of network file systems, which often contain datasets. */
  readonly mounts: readonly string[];
}

/** Most mounts that are offered. */
const mostMounts = 20;

/** Prints the hostname, then one line a mount: type and path from /proc/mounts. */
export const detailsScript = sh`uname -n
while read -r _ path type _; do
  printf '%s %s\n' "$type" "$path"
done </proc/mounts`;

/** Network file systems. */
const shared =
  /^(nfs4?|cifs|smb3|lustre|beegfs|ceph|fuse\.(ceph-fuse|glusterfs|sshfs|juicefs|mfs)|glusterfs|gpfs|wekafs|panfs|orangefs)$/;

export function parseDetails(stdout: string): HostDetails {
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

/** Decodes the octal escapes of /proc/mounts, such as spaces. */
function unescaped(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

/** Reads the details; a failure is ignored. */
async function readDetails(session: Session, signal: AbortSignal): Promise<HostDetails> {
  const result = await session.script(detailsScript, {
    as: 'login',
    totalTimeoutMs: 20_000,
    outputLimit: 1024 * 1024,
    signal,
  });
  return parseDetails(result.code === 0 ? result.stdout : '');
}

/** Returns the host's spec for this choice, with the defaults of an existing inventory. */
type Describe = (host: HostChoice) => HostSpec;

/** The inventory that hosts are added to. */
export interface Among {
  readonly describe: Describe;
  /** Returns the host with the settings that the inventory's defaults lack. */
  readonly entry: (host: HostChoice) => HostChoice;
  /** The hosts in the inventory, which may include jump hosts. */
  readonly inventory: readonly HostSpec[];
}

/**
 * Describes hosts as part of this inventory, with its defaults, so that the test uses the final settings. The host gets
 * the named ssh_config as its own if the inventory uses another one.
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
    if (described === undefined) throw new TypeError(`${host.name} was added and is missing`);
    return described;
  };
  const entry = (host: HostChoice): HostChoice =>
    sshConfig === undefined || asWritten(host).ssh.sshConfig === sshConfig ? host : { ...host, sshConfig };
  return { describe: (host) => asWritten(entry(host)), entry, inventory };
}
