import type { ParallelJobs } from '../../shared/azure/client.ts';
import { defined } from '../../shared/base/objects.ts';
import { type Problem, ExitCode } from '../../shared/base/errors.ts';
import { valueOf } from '../../shared/base/reading.ts';
import type { Support } from '../../shared/base/support-dates.ts';
import type { Drain } from '../../shared/contract/drain.ts';
import type { IdleStatus } from '../../shared/contract/idle.ts';
import { agentName, poolOfSlot, slotNames } from '../../shared/contract/slots.ts';
import type { ManagerStatus, SlotStatus } from '../../shared/contract/status.ts';
import type { Checkup } from '../../shared/health/checkup.ts';
import type { Finding, Verdict } from '../../shared/health/verdict.ts';
import { finding, type HiddenFinding } from '../../shared/health/findings.ts';
import type { GatheredFacts, UnknownFact } from '../facts/facts.ts';
import {
  dockerVersion,
  loadedDriver,
  reading,
  statusOf,
  toolkitVersion,
  unreadNext,
  unreadOf,
} from '../facts/unread.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { cannotReach } from '../ssh/failures.ts';
import { withPoolNames } from '../steps/pool-names.ts';
import { virtualFindings } from '../verdict/host.ts';
import { judge, type Judgement, switchedOff } from '../verdict/judge.ts';
import { isSilent } from '../verdict/manager.ts';
import type { Oldest } from '../verdict/sources.ts';
import type { AgentsIn } from '../verdict/host-view.ts';
import type { GpuHistory, Known } from './series.ts';

/** What was read from one host. */
export interface Observation {
  readonly host: HostSpec;
  /** Why it could not be reached or read. */
  readonly problem?: Problem;
  /** With a problem: whether the login succeeded before. */
  readonly isConnected?: boolean;
  readonly facts?: GatheredFacts;
  /** This machine's wall clock when it had read them. */
  readonly readAt?: number;
  /** A fresh probe; absent: none was requested. */
  readonly probe?: Checkup;
  /** A probe was requested, and the facts show no running Docker. */
  readonly isProbeSkipped?: boolean;
  /** Absent: it was not requested, or the host could not be read. */
  readonly history?: Known<GpuHistory>;
}

/** One line of the status table, and of `--json`. Unknown is undefined. */
export interface StatusRow {
  readonly host: string;
  /** The first of its pools; a pattern if the host could not be read. */
  readonly pool: string;
  /** The pool and image of each slot; only if they differ. */
  readonly slots?: readonly SlotPlace[];
  /** Each agent's share of the host; undefined: not reported. */
  readonly shares?: readonly AgentShare[];
  readonly verdict: Verdict;
  /** The oldest source of the verdict; undefined: the host could not be read. */
  readonly oldest?: Oldest;
  /** Worst first; `info` ones included. */
  readonly findings: readonly Finding[];
  /** Findings that another one causes, or that have not lasted long enough; undefined: none. */
  readonly hidden?: readonly HiddenFinding[];
  readonly os?: {
    readonly id: string;
    readonly version: string;
    readonly pretty: string;
    readonly arch: string;
  };
  /** `names`: by the manager or the probe; undefined: not read. */
  readonly gpus?: { readonly count: number; readonly names?: readonly string[] };
  readonly driver?: string;
  readonly docker?: string;
  readonly toolkit?: string;
  readonly manager?: { readonly version?: string; readonly state?: string };
  /** Undefined: the manager has not reported, or its report is too old. */
  readonly local?: AgentCounts;
  /** Undefined: Azure DevOps could not be read. */
  readonly azure?: AzureCounts;
  /** Null: unknown, because the manager's report was not read or is too old. */
  readonly drained: boolean | null;
  /** All drains, by priority; undefined: no manager, or unknown. */
  readonly drains?: readonly Drain[];
  /** When the idle host powers off; undefined: it does not. */
  readonly idle?: IdleStatus;
  /** ISO 8601: when the GPUs were checked. */
  readonly checkedAt?: string;
  /** Facts that could not be read; undefined: none. */
  readonly unknown?: readonly UnknownFact[];
  /** The slots that the command line names; undefined: it names none, or they are not reported. */
  readonly named?: readonly SlotStatus[];
  /** How long the vendors support driver, Docker, toolkit, agent and distribution; undefined: the host could not be read. */
  readonly support?: readonly Support[];
  /** Titles of the changes that `provision` would make; only with `--drift`. */
  readonly drift?: readonly string[];
}

interface AgentShare {
  readonly slot: string;
  /** Undefined: no limit. */
  readonly memoryMiB?: number;
  /** Relative to the other agents; an equal share is 1024. */
  readonly cpuShares: number;
}

interface SlotPlace {
  readonly slot: string;
  readonly pool: string;
  readonly image?: string;
}

export interface AgentCounts {
  readonly wanted: number;
  /** Waiting for a job or running one. */
  readonly ready: number;
  readonly busy: number;
}

export interface AzureCounts {
  readonly registered: number;
  readonly online: number;
  readonly disabled: number;
  readonly busy: number;
}

/** Returns a host's row with its verdict. Pure. `now`: this machine's wall clock; a host's report has the host's time. */
export function statusRow(observation: Observation, agentsIn: AgentsIn, now: number): StatusRow {
  const { host, facts, problem } = observation;
  const status = facts && valueOf(statusOf(facts));
  const named = facts === undefined ? host : withPoolNames(host, facts);
  const agents = agentsOf(named, status);
  const hostNow = facts?.time ?? now;
  // What agents do changes: an old report does not show it.
  const fresh = isSilent(status, hostNow) ? undefined : status;
  const noManager = hasNoManager(facts);
  const judgement: Pick<Judgement, 'verdict' | 'findings' | 'oldest'> & Partial<Pick<Judgement, 'hidden'>> =
    facts === undefined
      ? { verdict: notReached(host, problem, agentsOf(host, undefined), agentsIn), findings: [] }
      : judge({
          host: host.name,
          facts,
          agentsIn,
          now: hostNow,
          hidesYoung: true,
          ...defined({ probe: observation.probe, factsReadAt: observation.readAt }),
        });
  return {
    host: host.name,
    pool: agents[0]?.pool ?? named.pool,
    verdict: judgement.verdict,
    findings: [
      ...judgement.findings,
      ...(facts === undefined ? [] : virtualFindings(facts)),
      ...notProbed(observation),
    ],
    drained: fresh?.drained ?? (noManager ? false : null),
    ...(facts === undefined ? {} : software(facts, observation.probe)),
    ...defined({
      oldest: judgement.oldest,
      hidden: judgement.hidden?.length === 0 ? undefined : judgement.hidden,
      drains: fresh?.drains,
      idle: fresh?.idle,
      slots: status === undefined ? undefined : placesOf(status),
      shares: status === undefined ? undefined : sharesOf(status),
      local: fresh !== undefined || noManager ? localCounts(fresh, agents.length) : undefined,
      azure: azureCounts(agents, agentsIn),
      checkedAt: observation.probe === undefined ? status?.health.checkedAt : new Date(now).toISOString(),
    }),
  };
}

/** Returns the note on a requested probe that did not run. That Docker is stopped is a finding already. */
function notProbed({ facts, isProbeSkipped = false }: Observation): readonly Finding[] {
  const unread = facts === undefined || !isProbeSkipped ? [] : unreadOf(facts, 'docker', 'gpus');
  if (unread.length === 0) return [];
  const names = unread.map(({ fact }) => fact).join(', ');
  const what = `not probed: ${names} ${unread.length === 1 ? 'was' : 'were'} not read`;
  return [finding('probe.skipped', what, { next: unreadNext(unread) })];
}

/** Tells whether the facts say that the host has no manager: nothing runs and nothing is drained there. */
export function hasNoManager(facts: GatheredFacts | undefined): boolean {
  const read = facts && valueOf(reading(facts, 'manager'));
  return read !== undefined && read.manager.current === undefined;
}

interface AgentPlace {
  readonly agent: string;
  readonly pool: string;
}

/** Returns the agents that the manager reports; without a report, those of the inventory. */
function agentsOf(host: HostSpec, status: ManagerStatus | undefined): readonly AgentPlace[] {
  return (
    status?.slots.map(({ agent, pool }) => ({ agent, pool })) ??
    slotNames(host).map((slot) => ({ agent: agentName(host, slot), pool: poolOfSlot(host, slot) }))
  );
}

/** Returns the names of a row's agents that are, or will be, in this pool. Pure. */
export function agentNamesOf({ host, facts }: Observation, pool: string): readonly string[] {
  const named = facts === undefined ? host : withPoolNames(host, facts);
  const status = facts && valueOf(statusOf(facts));
  return agentsOf(named, status).flatMap((each) => (each.pool === pool ? [each.agent] : []));
}

/** Returns the slots' places; undefined: all are in one pool and run one image. */
function placesOf({ slots }: ManagerStatus): readonly SlotPlace[] | undefined {
  const places = slots.map(({ slot, pool, image }) => ({ slot, pool, ...defined({ image }) }));
  const kinds = new Set(places.map(({ pool, image }) => JSON.stringify([pool, image])));
  return kinds.size > 1 ? places : undefined;
}

function sharesOf({ slots }: ManagerStatus): readonly AgentShare[] | undefined {
  const known = slots.flatMap(({ slot, share }) => (share === undefined ? [] : [{ slot, ...share }]));
  return known.length === 0 ? undefined : known;
}

/** Returns the verdict on a host that could not be read, by what the pool shows of it. */
function notReached(
  { idle }: HostSpec,
  problem: Problem | undefined,
  agents: readonly AgentPlace[],
  agentsIn: AgentsIn,
): Verdict {
  const isSilent = problem !== undefined && cannotReach(problem);
  const off = isSilent
    ? switchedOff(agents.flatMap(({ agent, pool }) => agentsIn(pool)?.get(agent) ?? []))
    : undefined;
  if (off !== undefined) return off;
  const verdict = unreachable(problem);
  if (idle === undefined || !isSilent) return verdict;
  return {
    ...verdict,
    next: `${verdict.next}; it has idle: and may have powered itself off: check its provider`,
  };
}

function unreachable(problem: Problem | undefined): Verdict {
  const { code, what, seen, next = '' } = problem ?? { what: 'not checked' };
  const cause = seen === undefined ? what : `${what}: ${seen}`;
  return { state: 'unreachable', cause, next, ...defined({ code }) };
}

function software(facts: GatheredFacts, probe: Checkup | undefined): Partial<StatusRow> {
  const { os, arch, unknown } = facts;
  const gpus = valueOf(reading(facts, 'gpus'))?.gpus;
  const manager = valueOf(reading(facts, 'manager'))?.manager;
  const names =
    probe?.report?.gpus.map(({ name }) => name) ??
    valueOf(statusOf(facts))?.health.gpus?.map(({ name }) => name) ??
    (gpus?.length === 0 ? [] : undefined);
  return {
    os: { id: os.id, version: os.versionId, pretty: os.pretty, arch },
    ...(gpus === undefined ? {} : { gpus: { count: gpus.length, ...defined({ names }) } }),
    ...defined({
      driver: valueOf(loadedDriver(facts)),
      docker: valueOf(dockerVersion(facts)),
      toolkit: valueOf(toolkitVersion(facts)),
    }),
    ...(manager === undefined
      ? {}
      : {
          manager: defined({
            version: manager.release?.version ?? manager.status?.version,
            state: manager.unitActive,
          }),
        }),
    ...(unknown.length === 0 ? {} : { unknown }),
  };
}

function localCounts(status: ManagerStatus | undefined, wanted: number): AgentCounts {
  const count = (...states: readonly string[]): number =>
    status?.slots.filter(({ state }) => states.includes(state)).length ?? 0;
  return { wanted, ready: count('idle', 'busy'), busy: count('busy') };
}

/** Counts the agents in Azure DevOps; undefined: one of the pools could not be listed. */
function azureCounts(places: readonly AgentPlace[], agentsIn: AgentsIn): AzureCounts | undefined {
  if (places.some(({ pool }) => agentsIn(pool) === undefined)) return undefined;
  const agents = places.flatMap(({ agent, pool }) => agentsIn(pool)?.get(agent) ?? []);
  return {
    registered: agents.length,
    online: agents.filter(({ status }) => status === 'online').length,
    disabled: agents.filter(({ enabled }) => !enabled).length,
    busy: agents.filter(({ assignedRequest }) => assignedRequest !== undefined).length,
  };
}

/**
 * Returns the exit code. A host that is unknown, and a host or pool that could not be read, count first, then with `drift` pending
 * changes, then health. A host that powered itself off is fine, but its drift is unknown, as is that of a host with unknown facts.
 * Degraded counts only with `strict`.
 */
export function statusExitCode(
  rows: readonly StatusRow[],
  asked: {
    readonly strict: boolean;
    readonly drift: boolean;
    readonly fleetDrift: boolean;
    readonly problems: number;
  },
): ExitCode {
  const states = new Set(rows.map(({ verdict }) => verdict.state));
  const noDrift = states.has('off') || rows.some(({ unknown }) => unknown !== undefined);
  const unread = states.has('unreachable') || states.has('unknown') || (asked.drift && noDrift);
  if (unread || asked.problems > 0) return ExitCode.hostFailed;
  const pending = asked.fleetDrift || rows.some(({ drift = [] }) => drift.length > 0);
  if (asked.drift && pending) return ExitCode.changesPending;
  if (states.has('failed') || states.has('hung')) return ExitCode.hostFailed;
  return asked.strict && states.has('degraded') ? ExitCode.hostFailed : ExitCode.ok;
}

/** The number of agents, and how many jobs the organization may run at once. */
export interface JobsView {
  /** Of the hosts that were checked. */
  readonly agents: number;
  /** Of the organization's private projects. */
  readonly permitted: number;
  /** Jobs that run now, in the whole organization; absent: unknown. */
  readonly used?: number;
}

/** Returns undefined if there is no limit or it is unknown. Pure. */
export function jobsView(rows: readonly StatusRow[], jobs: ParallelJobs | undefined): JobsView | undefined {
  if (jobs?.permitted === undefined) return undefined;
  const agents = rows.reduce((sum, { local, azure }) => sum + (local?.wanted ?? azure?.registered ?? 0), 0);
  return { agents, permitted: jobs.permitted, ...(jobs.used === undefined ? {} : { used: jobs.used }) };
}
