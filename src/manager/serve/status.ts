import type { FirstDownloads } from '../machine/archives.ts';
import { defined } from '../../shared/base/objects.ts';
import { foreignLine, foreignValue } from '../../shared/base/foreign-text.ts';
import type { Drain } from '../../shared/contract/drain.ts';
import type { IdleStatus } from '../../shared/contract/idle.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import { ourRelease } from '../../shared/contract/release.ts';
import type {
  HostHealth,
  ImageStatus,
  ManagerStatus,
  PoolStatus,
  SlotStatus,
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

/** What the process started with. */
export type Loaded = Required<Pick<ManagerStatus, 'configHash' | 'started'>>;

interface WatchedPool {
  readonly name: string;
  /** Undefined: not found yet. */
  readonly pool: { readonly id: number } | undefined;
  readonly problem: Cause | undefined;
}

/** Everything that the status of one slot is made of. */
export interface SlotView {
  readonly slot: Slot;
  readonly container: ObservedContainer | undefined;
  readonly transcript: Transcript | undefined;
  readonly busyWith: string | undefined;
  readonly hold: Hold | undefined;
  /** A job of an ended agent that the server still shows. */
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
  /** The containers have been listed since the start. */
  readonly looked: boolean;
  /** Which run the container is, and what one would be made from now. */
  readonly made: Pick<SlotStatus, 'run' | 'settings'>;
}

/** Pure. `now` is monotonic; `since` is the time of the last change of state, ISO 8601. */
export function slotStatus(view: SlotView, now: number, since: string): SlotStatus {
  const state = stateOf(view, now);
  const running = view.container?.phase === 'running' ? view.transcript : undefined;
  const cause =
    heldCause(view) ??
    view.waitingFor ??
    unsolved(view) ??
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
    ...view.made,
    ...defined({
      agentId: view.agentId,
      image: view.image.reference,
      container: view.container?.id.slice(0, 12),
      job: running?.job,
      jobSince: running?.beganAt,
      cause: cause?.what,
      code: cause?.code,
      next: cause?.next,
    }),
  };
}

function shareOf({ limits: { memory = '' }, cpuShares = 1024 }: Slot): NonNullable<SlotStatus['share']> {
  const size = sizeOf(memory);
  return { ...(size === undefined ? {} : { memoryMiB: Math.floor(size / 1024 ** 2) }), cpuShares };
}

export function stateOf(
  view: Omit<SlotView, 'jobsRun' | 'agentId' | 'made'>,
  now: number,
): SlotStatus['state'] {
  const { container, hold } = view;
  // Provision reboots once it reads `drained`: not before the containers are known.
  if (!view.looked) return 'starting';
  if (container?.phase === 'running') return 'busy';
  if (view.busyWith === 'retire') return 'stopping';
  if (container?.state === 'running') {
    if (hold?.kind === 'close') return 'stopping';
    if (container.phase !== 'listening') return 'starting';
    return isCut(view) ? 'waiting' : 'idle';
  }
  const changing = container !== undefined || view.busyWith !== undefined;
  if (changing && hold?.kind === 'close') return 'stopping';
  if (hold !== undefined) return hold.state;
  if (view.busyWith !== undefined) return 'starting';
  if (view.waitingFor !== undefined || view.image.id === undefined) return 'waiting';
  return view.cause !== undefined && view.notBefore > now ? 'backing-off' : 'starting';
}

/** A slot that is held launches nothing, which else would say of which job the server does not know the end. */
function heldCause({ hold, leftJob }: Pick<SlotView, 'hold' | 'leftJob'>): Cause | undefined {
  if (hold === undefined || leftJob === undefined) return hold?.cause;
  return { ...hold.cause, what: `${hold.cause.what}; ${leftJob.what}` };
}

/** Once the agent listens, what was wrong is over, also before the next pass has noted it. */
function unsolved({ container, cause }: SlotView): Cause | undefined {
  return container?.phase === 'listening' || container?.phase === 'running' ? undefined : cause;
}

/** An agent that cannot connect, or that waits for jobs and has lost its connection, says so and tries for ever. */
function remark({ container, transcript }: Pick<SlotView, 'container' | 'transcript'>): Cause | undefined {
  if (container?.phase !== 'connecting' && container?.phase !== 'listening') return undefined;
  const last = transcript === undefined ? undefined : mainRemark(transcript);
  return last === undefined ? undefined : remarkCause(last);
}

/** It listens, but its connection is lost: it takes no job until it says that it has a new one. */
function isCut({ transcript }: Pick<SlotView, 'transcript'>): boolean {
  return transcript?.remarks.some(({ kind }) => kind !== 'updating') ?? false;
}

function imageCause({ image }: SlotView): Cause | undefined {
  if (image.id !== undefined) return undefined;
  return (
    image.cause ?? {
      code: 'image.not-ready',
      what: `the agent image is not ready yet (${image.state})`,
      next: 'wait: it is fetched or built, and the status shows how far it is',
    }
  );
}

function healthStatus(look: HostCheck | undefined, shortfalls: readonly Finding[]): HostHealth {
  if (look === undefined) return { state: 'unknown', findings: shortfalls };
  const { verdict, findings, report } = look.checkup;
  return {
    state: verdict.state === 'unreachable' || verdict.state === 'off' ? 'unknown' : verdict.state,
    checkedAt: look.at,
    ...defined({
      cudaVersion: report?.cudaVersion,
      gpus: report?.gpus.map(({ uuid, name, computeCapability }) => ({
        uuid,
        name,
        ...defined({ computeCapability }),
      })),
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

function poolStatus({ name, pool, problem }: WatchedPool): PoolStatus {
  return { name, ...defined({ id: pool?.id }), up: problem === undefined };
}

function imageStatus({ state, id, cause, ...rest }: ImageState): ImageStatus {
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
  readonly images: readonly { readonly image: ImageState; readonly slots: readonly string[] }[];
  readonly asked: RequestedWork | undefined;
  readonly archives: FirstDownloads;
  readonly drains: readonly Drain[];
  readonly idle: IdleStatus | undefined;
  readonly slots: readonly SlotStatus[];
  readonly look: HostCheck | undefined;
  /** What the configuration asks for and this host cannot do. */
  readonly shortfalls: readonly Finding[];
  readonly problems: readonly Cause[];
}): ManagerStatus {
  const pools = parts.pools.map(poolStatus);
  const images = parts.images.map(({ image, slots }) => ({ ...imageStatus(image), slots }));
  const [{ up: _, ...pool } = { name: '', up: false }] = pools;
  const [{ slots: __, ...image } = { state: 'missing' as const, slots: [] }] = images;
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
    ...defined({ idle: parts.idle }),
    slots: parts.slots,
    health: healthStatus(parts.look, parts.shortfalls),
    problems: parts.problems.map(({ code, what, next }) => ({ code, what, next })),
  };
  return foreignValue(status, (said) => foreignLine(said));
}

/** What a run of a slot is made from. */
export interface Making {
  /** Id; undefined: none is ready, so that none can be missing. */
  readonly image: string | undefined;
  /** See settingsOf. */
  readonly settings: string;
}

/** The run that a container is, and what one would be made from now, where that is known. Pure. */
export function runView(
  made: { readonly container: OwnContainer; readonly seen: ObservedContainer } | undefined,
  wanted: Making | undefined,
): Pick<SlotStatus, 'run' | 'settings'> {
  const settings = wanted && digest({ ...wanted, image: wanted.image ?? made?.seen.image });
  if (made === undefined) return defined({ settings });
  const { labels, created } = made.container;
  const run = {
    id: labels[Labels.run] ?? '',
    startedAt: new Date(created * 1000).toISOString(),
    settings: digest(made.seen),
    ...defined({ agentId: agentIdOf(made.container) }),
  };
  return { run, ...defined({ settings }) };
}

function digest({ image = '', settings }: Making): string {
  return sha256(`${image}\n${settings}`).slice(0, 12);
}

/**
 * Since when nobody has been there to take a job, ISO 8601: no agent that is made from what is wanted now has listened or
 * run one. Undefined while one does, and while the slot is kept from it. It does not begin anew with each try. Pure.
 */
export function awaySince(
  { state, run, settings }: Pick<SlotStatus, 'state' | 'run' | 'settings'>,
  before: string | undefined,
  now: string,
): string | undefined {
  const isThere = state === 'busy' || (state === 'idle' && run?.settings === settings);
  const isKept = state === 'drained' || state === 'quarantined';
  return isThere || isKept ? undefined : (before ?? now);
}
