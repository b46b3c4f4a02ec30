import type { AzureAgent } from '../azure/client.ts';
import { defined } from '../base/defined.ts';
import type { Problem } from '../base/errors.ts';
import { agentName, slotNames } from '../contract/slots.ts';
import type { Drain } from '../contract/drain.ts';
import type { ManagerStatus } from '../contract/status.ts';
import type { Facts } from '../facts/facts.ts';
import { conclude, type Checkup } from '../health/checkup.ts';
import type { Finding, Verdict } from '../health/verdict.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { agentFindings } from './agents.ts';
import { hostFindings, managerFindings } from './findings.ts';

/** One host as it was found. */
export interface Look {
  readonly host: HostSpec;
  /** Why it could not be reached or read. */
  readonly problem?: Problem;
  readonly facts?: Facts;
  /** A fresh probe, where one was asked for. */
  readonly probe?: Checkup;
}

/** One line of the status table, and of `--json`. Unknown is undefined. */
export interface StatusRow {
  readonly host: string;
  readonly pool: string;
  readonly verdict: Verdict;
  /** Worst first; `info` ones included. */
  readonly findings: readonly Finding[];
  readonly os?: {
    readonly id: string;
    readonly version: string;
    readonly pretty: string;
    readonly arch: string;
  };
  readonly gpus?: { readonly count: number; readonly names: readonly string[] };
  readonly driver?: string;
  readonly docker?: string;
  readonly toolkit?: string;
  readonly manager?: { readonly version?: string; readonly state?: string };
  readonly local?: AgentCounts;
  /** Undefined when Azure DevOps could not be asked. */
  readonly azure?: AzureCounts;
  readonly drained: boolean;
  /** Who keeps jobs away, the weightiest first; undefined when the manager does not tell. */
  readonly drains?: readonly Drain[];
  /** ISO 8601: when the GPUs were looked at. */
  readonly checkedAt?: string;
  /** Titles of the changes that `provision` would make; only with `--drift`. */
  readonly drift?: readonly string[];
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

/** The pool's agents by name, or undefined when they could not be listed. */
export type PoolAgents = ReadonlyMap<string, AzureAgent> | undefined;

/** What is known about a host, as one row with its verdict. Pure. `now` is our wall clock: a host dates by its own. */
export function statusRow(look: Look, pool: PoolAgents, now: number): StatusRow {
  const { host, facts, problem } = look;
  const status = facts?.manager.status;
  const names =
    status?.slots.map(({ agent }) => agent) ?? slotNames(host).map((slot) => agentName(host, slot));
  const { verdict, findings } = judge(look, pool, now);
  return {
    host: host.name,
    pool: host.pool,
    verdict: problem === undefined ? verdict : unreachable(problem),
    findings,
    drained: status?.drained ?? false,
    ...(facts === undefined ? {} : software(facts, look.probe)),
    ...defined({
      drains: status?.drains,
      local: facts === undefined ? undefined : localCounts(status, names.length),
      azure: pool === undefined ? undefined : azureCounts(pool, names),
      checkedAt: look.probe === undefined ? status?.health.checkedAt : new Date(now).toISOString(),
    }),
  };
}

function judge({ facts, probe }: Look, pool: PoolAgents, now: number): Checkup {
  if (facts === undefined) return conclude([], undefined);
  const before = hostFindings(facts);
  if (before.length > 0) return conclude([...before, ...(probe?.findings ?? [])], undefined);
  const { status } = facts.manager;
  const findings = [
    ...managerFindings(status, probe, now),
    ...(status === undefined ? [] : agentFindings(status, pool, now)),
  ];
  const checkup = conclude(findings, undefined);
  const silent = findings.some(({ code }) => code === 'manager.silent');
  return silent ? { ...checkup, verdict: { ...checkup.verdict, state: 'unknown' } } : checkup;
}

function unreachable({ what, seen, next }: Problem): Verdict {
  return { state: 'unreachable', cause: seen === undefined ? what : `${what}: ${seen}`, next: next ?? '' };
}

function software(facts: Facts, probe: Checkup | undefined): Partial<StatusRow> {
  const { os, arch, gpus, driver, docker, toolkit, manager } = facts;
  const names =
    probe?.report?.gpus.map(({ name }) => name) ?? manager.status?.health.gpus?.map(({ name }) => name);
  return {
    os: { id: os.id, version: os.versionId, pretty: os.pretty, arch },
    gpus: { count: gpus.length, names: names ?? [] },
    ...defined({ driver: driver.loaded, docker: docker.serverVersion, toolkit: toolkit.version }),
    manager: defined({ version: manager.status?.version, state: manager.unitActive }),
  };
}

function localCounts(status: ManagerStatus | undefined, wanted: number): AgentCounts {
  const count = (...states: readonly string[]): number =>
    status?.slots.filter(({ state }) => states.includes(state)).length ?? 0;
  return { wanted, ready: count('idle', 'busy'), busy: count('busy') };
}

function azureCounts(pool: NonNullable<PoolAgents>, names: readonly string[]): AzureCounts {
  const agents = names.flatMap((name) => pool.get(name) ?? []);
  return {
    registered: agents.length,
    online: agents.filter(({ status }) => status === 'online').length,
    disabled: agents.filter(({ enabled }) => !enabled).length,
    busy: agents.filter(({ assignedRequest }) => assignedRequest !== undefined).length,
  };
}
