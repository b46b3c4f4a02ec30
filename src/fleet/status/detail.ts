import { defined } from '../../shared/base/objects.ts';
import { valueOf } from '../../shared/base/reading.ts';
import type { Drain } from '../../shared/contract/drain.ts';
import { agentName, poolOfSlot, slotNames } from '../../shared/contract/slots.ts';
import type { GpuStatus, ManagerStatus, SlotStatus } from '../../shared/contract/status.ts';
import type { Checkup } from '../../shared/health/checkup.ts';
import { gpuStatus } from '../../shared/health/gpu-status.ts';
import type { Facts, UnknownFact } from '../facts/facts.ts';
import { dockerVersion, loadedDriver, reading, statusOf, toolkitVersion } from '../facts/unread.ts';
import { withPoolNames } from '../steps/pool-names.ts';
import type { AgentsIn } from '../verdict/host-view.ts';
import { isSilent } from '../verdict/manager.ts';
import type { Observation } from './row.ts';
import type { Known } from './series.ts';

/** Everything that is shown of one host, in addition to its row. */
export interface HostDetail {
  readonly slots: readonly SlotDetail[];
  readonly driver: Known<string | null>;
  /** The highest CUDA version of the driver. */
  readonly cuda?: string;
  readonly docker: Known<string | null>;
  readonly toolkit: Known<string | null>;
  readonly images: Known<ManagerStatus['images']>;
  /** Free space, one entry a file system; the folders on it. */
  readonly disk: Known<readonly Volume[]>;
  readonly drains: Known<readonly Drain[]>;
}

interface Volume {
  readonly mount: string;
  readonly freeBytes: number;
  readonly folders: readonly string[];
}

export interface SlotDetail {
  readonly slot: string;
  readonly agent: string;
  readonly pool: string;
  readonly state: Known<SlotStatus['state']>;
  readonly gpus: Known<readonly GpuDetail[]>;
  /** Of its agent; undefined: the pool was not read. */
  readonly azure?: 'online' | 'offline' | 'not registered';
  readonly disabled?: true;
  readonly job?: string;
  /** The page of the job. */
  readonly link?: string;
  /** ISO 8601: start of the job, or of the state. */
  readonly since?: string;
  readonly cause?: string;
}

/** A GPU or MIG device of a slot. */
export interface GpuDetail extends Partial<
  Omit<GpuStatus, 'uuid' | 'mig' | 'computeCapability' | 'computeMode'>
> {
  readonly uuid: string;
  /** Why values are absent; absent: all are known. */
  readonly unknown?: string;
}

/** Returns the details of a host. `now`: this machine's wall clock. Pure. */
export function hostDetail(observation: Observation, agentsIn: AgentsIn, now: number): HostDetail {
  const { host, facts, probe } = observation;
  const report = reportOf(observation, now);
  const named = facts === undefined ? host : withPoolNames(host, facts);
  const gpus = gpusSeen(report, probe);
  const from = <T>(read: (status: ManagerStatus) => T): Known<T> =>
    'unknown' in report ? report : { value: read(report.value) };
  return {
    slots:
      'value' in report
        ? report.value.slots.map((slot) => slotDetail(slot, gpus, agentsIn))
        : slotNames(named).map((slot) => ({
            slot,
            ...placeOf(agentName(named, slot), poolOfSlot(named, slot), agentsIn),
            state: report,
            gpus: report,
          })),
    driver: ofFacts(facts && loadedDriver(facts)),
    docker: ofFacts(facts && dockerVersion(facts)),
    toolkit: ofFacts(facts && toolkitVersion(facts)),
    images: from(({ images }) => images),
    disk: diskOf(facts),
    drains: from(({ drains }) => drains),
    ...defined({
      cuda: probe?.report?.cudaVersion ?? ('value' in report ? report.value.health.cudaVersion : undefined),
    }),
  };
}

const notRead = 'host not read';

function whyUnread(unread: readonly UnknownFact[]): string {
  return unread.map(({ fact, why }) => `${fact}: ${why}`).join(', ');
}

/** Returns the manager's report. What agents do changes: an old report does not show it. */
function reportOf({ facts }: Observation, now: number): Known<ManagerStatus> {
  if (facts === undefined) return { unknown: notRead };
  const read = statusOf(facts);
  if (read.kind === 'unknown') return { unknown: whyUnread(read.unread) };
  const status = read.value;
  const manager = valueOf(reading(facts, 'manager'))?.manager;
  if (status === undefined)
    return {
      unknown:
        manager !== undefined && manager.current === undefined ? 'no manager' : 'manager has not reported',
    };
  return isSilent(status, facts.time ?? now) ? { unknown: 'manager report too old' } : { value: status };
}

function ofFacts(read: ReturnType<typeof loadedDriver> | undefined): Known<string | null> {
  if (read === undefined) return { unknown: notRead };
  return read.kind === 'unknown' ? { unknown: whyUnread(read.unread) } : { value: read.value ?? null };
}

function diskOf(facts: Observation['facts']): HostDetail['disk'] {
  const read = facts && reading(facts, 'disk');
  if (read === undefined) return { unknown: notRead };
  if (read.kind === 'unknown') return { unknown: whyUnread(read.unread) };
  const { disk } = read.value satisfies Pick<Facts, 'disk'>;
  const volumes = Map.groupBy(Object.entries(disk), ([, { mount }]) => mount);
  if (volumes.size === 0) return { unknown: 'df shows no file system' };
  return {
    value: [...volumes].map(([mount, folders]) => ({
      mount,
      freeBytes: Math.min(...folders.map(([, { freeBytes }]) => freeBytes)),
      folders: folders.map(([folder]) => folder),
    })),
  };
}

interface GpusSeen {
  readonly gpus: readonly GpuStatus[];
  /** Why GPUs are missing in it. */
  readonly why: string;
}

function gpusSeen(report: Known<ManagerStatus>, probe: Checkup | undefined): GpusSeen {
  const health = 'value' in report ? report.value.health : undefined;
  const { findings = [] } = probe ?? health ?? {};
  const failed = findings.find(({ gpu, severity }) => gpu === undefined && severity === 'fail')?.what;
  const gpus = probe === undefined ? health?.gpus : probe.report?.gpus.map(gpuStatus);
  if (gpus !== undefined) return { gpus, why: 'nvidia-smi does not list it' };
  return { gpus: [], why: failed ?? 'no GPU check yet' };
}

function slotDetail(slot: SlotStatus, seen: GpusSeen, agentsIn: AgentsIn): SlotDetail {
  const place = placeOf(slot.agent, slot.pool, agentsIn);
  const request = agentsIn(slot.pool)?.get(slot.agent)?.assignedRequest;
  const isBusy = slot.state === 'busy';
  return {
    slot: slot.slot,
    ...place,
    state: { value: slot.state },
    gpus: { value: slot.gpus.map((uuid) => gpuDetail(uuid, seen)) },
    since: (isBusy ? slot.jobSince : undefined) ?? slot.since,
    ...defined({
      job: isBusy ? (slot.job ?? request?.jobName) : undefined,
      link: isBusy ? pageOf(request?.owner?._links?.web?.href) : undefined,
      cause: slot.cause,
    }),
  };
}

/** The server's text: only a plain web address is shown. */
function pageOf(href: string | undefined): string | undefined {
  return href !== undefined && /^https?:\/\/[\w.:[\]-]+\/[\w.~%!$&()*+,;=:@/?#-]{1,500}$/.test(href)
    ? href
    : undefined;
}

function placeOf(
  agent: string,
  pool: string,
  agentsIn: AgentsIn,
): Pick<SlotDetail, 'agent' | 'pool' | 'azure' | 'disabled'> {
  const agents = agentsIn(pool);
  if (agents === undefined) return { agent, pool };
  const seen = agents.get(agent);
  if (seen === undefined) return { agent, pool, azure: 'not registered' };
  return { agent, pool, azure: seen.status, ...(seen.enabled ? {} : { disabled: true }) };
}

const loads = ['temperatureC', 'memoryUsedMiB', 'memoryTotalMiB', 'utilizationPercent'] as const;

function gpuDetail(uuid: string, { gpus, why }: GpusSeen): GpuDetail {
  const board = gpus.find((gpu) => gpu.uuid === uuid || gpu.mig?.some((device) => device.uuid === uuid));
  if (board === undefined) return { uuid, unknown: why };
  const { mig, computeCapability: _, computeMode: __, ...ofBoard } = board;
  const device = mig?.find((each) => each.uuid === uuid);
  const detail = device === undefined ? ofBoard : migDetail(ofBoard, device);
  const absent = loads.filter((load) => detail[load] === undefined);
  if (absent.length === 0) return detail;
  const reason =
    absent.length === loads.length
      ? 'not reported by this manager; run with --probe'
      : 'nvidia-smi does not report it';
  return { ...detail, unknown: reason };
}

/** Returns a MIG device with the temperature of its board. nvidia-smi reports no utilization of such a device. */
function migDetail(
  { name, temperatureC }: Pick<GpuStatus, 'name' | 'temperatureC'>,
  { uuid, profile = 'MIG', memoryUsedMiB, memoryTotalMiB }: NonNullable<GpuStatus['mig']>[number],
): GpuDetail {
  return { uuid, name: `${name} ${profile}`, ...defined({ temperatureC, memoryUsedMiB, memoryTotalMiB }) };
}
