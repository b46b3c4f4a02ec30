import type { FirstDownloads } from '../machine/archives.ts';
import { defined } from '../../shared/base/objects.ts';
import { foreignLine, foreignValue } from '../../shared/base/foreign-text.ts';
import type { Drain } from '../../shared/contract/drain.ts';
import type { IdleStatus } from '../../shared/contract/idle.ts';
import { gpuStatus } from '../../shared/health/gpu-status.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import { ourRelease } from '../../shared/contract/release.ts';
import type {
  ConnectionStatus,
  HostHealth,
  ImageStatus,
  ManagerStatus,
  PoolStatus,
  SlotStatus,
  TokenStatus,
} from '../../shared/contract/status.ts';
import { sizeOf } from '../../shared/contract/slots.ts';
import type { HostCheck } from '../gpus/observe.ts';
import type { RequestedWork, ImageState } from '../image/images.ts';
import type { Cause, Hold, ObservedContainer, Slot } from '../model.ts';
import { outdated, remarkCause } from '../runs/outcome.ts';
import { mainRemark, type Transcript } from '../runs/transcript.ts';
import { sha256 } from '../../shared/base/digest.ts';
import { Labels } from '../../shared/contract/paths.ts';
import type { OwnContainer } from '../../shared/engine/engine.ts';
import { agentIdOf } from '../pool/agents.ts';

/** The configuration and start of the process. */
export type Loaded = Required<Pick<ManagerStatus, 'configHash' | 'started'>>;

interface WatchedPool {
  readonly name: string;
  /** Undefined: not found yet. */
  readonly pool: { readonly id: number } | undefined;
  readonly problem: Cause | undefined;
  /** ISO 8601: when its agents were last read. */
  readonly readAt?: string | undefined;
}

/** The input of the status of one slot. */
export interface SlotView {
  readonly slot: Slot;
  readonly container: ObservedContainer | undefined;
  readonly transcript: Transcript | undefined;
  readonly busyWith: string | undefined;
  readonly hold: Hold | undefined;
  /** Set if the server still shows a job of an ended agent. */
  readonly leftJob: Cause | undefined;
  /** Monotonic. */
  readonly notBefore: number;
  readonly cause: Cause | undefined;
  readonly waitingFor: Cause | undefined;
  readonly agentId: number | undefined;
  readonly jobsRun: number;
  readonly image: ImageState;
  /** The server has asked the agent to update itself. */
  readonly needsUpdate: boolean;
  /** The containers have been listed since the start of the manager. */
  readonly areContainersKnown: boolean;
  /** The container's run, and the settings that a new run would get. */
  readonly current: Pick<SlotStatus, 'run' | 'settings'>;
}

/** Returns the status of a slot. `now`: monotonic; `since`: the last change of state, ISO 8601. Pure. */
export function slotStatus(view: SlotView, now: number, since: string): SlotStatus {
  const state = stateOf(view, now);
  const running = hasJob(view) ? view.transcript : undefined;
  const cause =
    holdCause(view) ??
    hangingCause(view) ??
    view.waitingFor ??
    openCause(view) ??
    remark(view) ??
    imageCause(view) ??
    (view.needsUpdate ? outdated : undefined);
  return {
    slot: view.slot.name,
    agent: view.slot.agent,
    pool: view.slot.pool,
    state,
    gpus: view.slot.gpus,
    share: shareOf(view.slot),
    since,
    jobsRun: view.jobsRun,
    ...view.current,
    ...defined({
      agentId: view.agentId,
      image: view.image.isPrevious === true ? undefined : view.image.reference,
      container: view.container?.id.slice(0, 12),
      job: running?.job,
      jobSince: running?.beganAt,
      cause: cause?.what,
      code: cause?.code,
      next: cause?.next,
    }),
  };
}

/** Returns whether a job runs, or its end has not been read yet. */
function hasJob({ container }: Pick<SlotView, 'container'>): boolean {
  return container?.phase === 'running' && container.state !== 'removing';
}

function shareOf({ limits: { memory = '' }, cpuShares = 1024 }: Slot): NonNullable<SlotStatus['share']> {
  const size = sizeOf(memory);
  return { ...(size === undefined ? {} : { memoryMiB: Math.floor(size / 1024 ** 2) }), cpuShares };
}

export function stateOf(
  view: Omit<SlotView, 'jobsRun' | 'agentId' | 'current'>,
  now: number,
): SlotStatus['state'] {
  const { container, hold } = view;
  // `provision` reboots the host when it reads `drained`, so not before the containers are known.
  if (!view.areContainersKnown) return 'starting';
  if (hasJob(view)) return 'busy';
  if (view.busyWith === 'retire') return 'stopping';
  if (container?.state === 'running') {
    if (hold?.kind === 'close') return 'stopping';
    if (container.phase !== 'listening') return 'starting';
    return isDisconnected(view) ? 'waiting' : 'idle';
  }
  const changing = container !== undefined || view.busyWith !== undefined;
  if (changing && hold?.kind === 'close') return 'stopping';
  if (hold !== undefined) return hold.state;
  if (hangingCause(view) !== undefined) return 'waiting';
  if (view.busyWith !== undefined) return 'starting';
  if (view.waitingFor !== undefined || view.image.id === undefined) return 'waiting';
  return view.cause !== undefined && view.notBefore > now ? 'backing-off' : 'starting';
}

/**
 * Returns the cause of a hold, with what else keeps the slot: the job that the server still shows, which without a hold the
 * next launch would report, or a container that hangs.
 */
function holdCause(view: Pick<SlotView, 'hold' | 'leftJob' | 'container'>): Cause | undefined {
  const { hold } = view;
  const also = view.leftJob ?? hangingCause(view);
  if (hold === undefined || also === undefined) return hold?.cause;
  return { ...hold.cause, what: `${hold.cause.what}; ${also.what}` };
}

/** Returns why the container hangs in a state of Docker; other faults are shown once they have been acted on. */
function hangingCause({ container }: Pick<SlotView, 'container'>): Cause | undefined {
  return container?.stuck?.code === 'container.stuck' ? container.stuck : undefined;
}

/** Returns the latest fault. It is over when the agent listens, also before the next pass notes that. */
function openCause({ container, cause }: SlotView): Cause | undefined {
  return container?.phase === 'listening' || container?.phase === 'running' ? undefined : cause;
}

/** Returns the last remark of an agent that cannot connect or has lost its connection; it tries forever. */
function remark({ container, transcript }: Pick<SlotView, 'container' | 'transcript'>): Cause | undefined {
  if (container?.phase !== 'connecting' && container?.phase !== 'listening') return undefined;
  const last = transcript === undefined ? undefined : mainRemark(transcript);
  return last === undefined ? undefined : remarkCause(last);
}

/** Returns whether a listening agent has lost its connection: it takes no job until it reports a new one. */
function isDisconnected({ transcript }: Pick<SlotView, 'transcript'>): boolean {
  return transcript?.remarks.some(({ kind }) => kind !== 'updating') ?? false;
}

function imageCause({ image }: SlotView): Cause | undefined {
  if (image.id !== undefined) return undefined;
  return (
    image.cause ?? {
      code: 'image.not-ready',
      what: `the agent image is not ready yet (${image.state})`,
      next: 'wait: it is pulled or built; the status shows the progress',
    }
  );
}

function healthStatus(check: HostCheck | undefined, shortfalls: readonly Finding[]): HostHealth {
  if (check === undefined) return { state: 'unknown', findings: shortfalls };
  const { verdict, findings, report } = check.checkup;
  return {
    state: verdict.state === 'unreachable' || verdict.state === 'off' ? 'unknown' : verdict.state,
    checkedAt: check.at,
    ...defined({
      driverVersion: report?.driverVersion || undefined,
      cudaVersion: report?.cudaVersion,
      gpus: report?.gpus.map(gpuStatus),
    }),
    findings: [...findings, ...shortfalls],
  };
}

function askedStatus({
  at,
  state,
  cause,
  output,
}: RequestedWork): NonNullable<ManagerStatus['image']['asked']> {
  return { at, state, ...defined({ cause: cause?.what, output }) };
}

function poolStatus({ name, pool, problem, readAt }: WatchedPool): PoolStatus {
  return { name, ...defined({ id: pool?.id, at: readAt }), up: problem === undefined };
}

function imageStatus(image: ImageState): ImageStatus {
  const { state, id, cause, isPrevious: _, ...rest } = image;
  return { state, ...defined({ ...rest, digest: id, cause: cause?.what }) };
}

export function managerStatus(parts: {
  /** ISO 8601 */
  readonly at: string;
  readonly host: string;
  /** At least one. */
  readonly pools: readonly WatchedPool[];
  readonly loaded: Loaded;
  readonly owner: string;
  /** At least one. */
  readonly images: readonly {
    readonly image: ImageState;
    /** Id of the image on which agents have listened last. */
    readonly proven?: string | undefined;
    readonly slots: readonly string[];
  }[];
  readonly asked: RequestedWork | undefined;
  readonly archives: FirstDownloads;
  readonly drains: readonly Drain[];
  readonly idle: IdleStatus | undefined;
  /** Undefined: the test is off. */
  readonly connection: ConnectionStatus | undefined;
  readonly token: TokenStatus;
  readonly slots: readonly SlotStatus[];
  readonly check: HostCheck | undefined;
  /** Configured features that this host does not support, and containers without a slot that cannot be removed. */
  readonly shortfalls: readonly Finding[];
  readonly problems: readonly Cause[];
}): ManagerStatus {
  const pools = parts.pools.map(poolStatus);
  const images = parts.images.map(({ image, proven, slots }) => ({
    ...imageStatus(image),
    ...defined({ previous: proven === image.id ? undefined : proven }),
    slots,
  }));
  const [{ up: _, at: __, ...pool } = { name: '', up: false }] = pools;
  const [{ slots: ___, ...image } = { state: 'missing' as const, slots: [] }] = images;
  const status: ManagerStatus = {
    schema: 1,
    ...ourRelease,
    node: process.versions.node,
    at: parts.at,
    host: parts.host,
    pool,
    pools,
    ...parts.loaded,
    image: {
      ...image,
      ...defined({ asked: parts.asked === undefined ? undefined : askedStatus(parts.asked) }),
    },
    images,
    archives: Object.entries(parts.archives).map(([archive, { sha256, at }]) => ({ archive, sha256, at })),
    owner: parts.owner,
    drained: parts.drains.some(({ slot }) => slot === undefined),
    drains: parts.drains,
    ...defined({ idle: parts.idle, connection: parts.connection }),
    token: parts.token,
    slots: parts.slots,
    health: healthStatus(parts.check, parts.shortfalls),
    problems: parts.problems.map(({ code, what, next }) => ({ code, what, next })),
  };
  return foreignValue(status, (said) => foreignLine(said));
}

/** Since when each finding and problem has been in the status without a break. A restart of the manager starts again. */
export class FirstSeen {
  #times: ReadonlyMap<string, string> = new Map();

  /** Returns the status with these times. */
  date(status: ManagerStatus): ManagerStatus {
    const times = new Map<string, string>();
    const dated = <Found extends { readonly code: string; readonly gpu?: string }>(found: Found) => {
      const key = `${found.code} ${found.gpu ?? ''}`;
      const since = this.#times.get(key) ?? status.at;
      times.set(key, since);
      return { ...found, since };
    };
    const { health, problems } = status;
    const findings = health.findings.map(dated);
    const dates = { health: { ...health, findings }, problems: problems.map(dated) };
    this.#times = times;
    return { ...status, ...dates };
  }
}

/** The image and settings of a run. */
export interface RunInput {
  /** Id; undefined: no image is ready. */
  readonly image: string | undefined;
  /** See settingsOf. */
  readonly settings: string;
}

/** Returns the container's run, and the settings that a new run would get, if known. Pure. */
export function runView(
  current: { readonly container: OwnContainer; readonly seen: ObservedContainer } | undefined,
  desired: RunInput | undefined,
): Pick<SlotStatus, 'run' | 'settings'> {
  const settings = desired && digest({ ...desired, image: desired.image ?? current?.seen.image });
  if (current === undefined) return defined({ settings });
  const { labels, created } = current.container;
  const run = {
    id: labels[Labels.run] ?? '',
    startedAt: new Date(created * 1000).toISOString(),
    settings: digest(current.seen),
    ...defined({ agentId: agentIdOf(current.container) }),
  };
  return { run, ...defined({ settings }) };
}

function digest({ image = '', settings }: RunInput): string {
  return sha256(`${image}\n${settings}`).slice(0, 12);
}

/**
 * Returns since when no up-to-date agent has been able to take a job, ISO 8601. Undefined while one listens or runs a job,
 * and while the slot is drained or quarantined. Failed starts do not reset it. Pure.
 */
export function awaySince(
  { state, run, settings }: Pick<SlotStatus, 'state' | 'run' | 'settings'>,
  before: string | undefined,
  now: string,
): string | undefined {
  const isAvailable = state === 'busy' || (state === 'idle' && run?.settings === settings);
  const isClosed = state === 'drained' || state === 'quarantined';
  return isAvailable || isClosed ? undefined : (before ?? now);
}
