import { agentsVerdict, type Waiting } from './agents.ts';
import { reading } from '../facts/unread.ts';
import { clockFindings, hostFindings, leftDrain, unreadFindings } from './host.ts';
import { managerFindings, managerWaits } from './manager.ts';
import {
  disagreement,
  isTooOld,
  type Oldest,
  oldestOf,
  oldSource,
  type Source,
  sourceAges,
} from './sources.ts';
import type { HostView } from './host-view.ts';
import type { AzureAgent } from '../../shared/azure/client.ts';
import { defined } from '../../shared/base/objects.ts';
import { drainNote } from '../../shared/contract/drain.ts';
import { offSince } from '../../shared/contract/idle.ts';
import { Capabilities } from '../../shared/contract/paths.ts';
import { imageOverall, type ManagerStatus } from '../../shared/contract/status.ts';
import { conclude } from '../../shared/health/checkup.ts';
import type { Finding, Trouble, Verdict } from '../../shared/health/verdict.ts';
import { divide, type HiddenFinding, withHost } from '../../shared/health/findings.ts';

export interface Judgement {
  readonly verdict: Verdict;
  /** Worst first; `info` ones included. */
  readonly findings: readonly Finding[];
  /** Those that another one causes, or that have not lasted long enough. */
  readonly hidden: readonly HiddenFinding[];
  /** Problems that may end without a fix, whether they are findings already or not. None: waiting changes nothing. */
  readonly waiting: readonly Waiting[];
  /** The oldest source; absent: none has a valid time. */
  readonly oldest?: Oldest;
}

/**
 * Returns the verdict on a host, for the proof of `provision`, for `status` and for everything else that shows a host's state; next
 * actions name the host. Pure.
 */
export function judge(view: HostView): Judgement {
  const { verdict, findings, hidden, ...rest } = judged(view);
  const named = <T extends { readonly next: string }>(each: T): T => withHost(each, view.host);
  return { ...rest, verdict: named(verdict), findings: findings.map(named), hidden: hidden.map(named) };
}

/** Facts come first: what is missing on the host hides what follows from it. */
function judged(view: HostView): Judgement {
  const { host, facts, probe, agentsIn, now, factsReadAt, waited = false, hidesYoung = false } = view;
  const missing = hostFindings(facts);
  const probed = probe?.findings ?? [];
  const ages = sourceAges(view);
  const unread = unreadFindings(facts);
  const disagree = disagreement(view, ages);
  const oldestIn = (...used: readonly Source[]) =>
    defined({ oldest: oldestOf(ages.filter(({ source }) => used.includes(source))) });
  const manager = reading(facts, 'manager');
  if (manager.kind === 'unknown') {
    const judgement = concluded([...missing, ...unread, ...probed, ...disagree]);
    return { ...(missing.length > 0 ? judgement : unknownBy(judgement)), ...oldestIn('facts') };
  }
  const { status } = manager.value.manager;
  const hostHasProblem =
    status !== undefined && (status.problems.length > 0 || imageOverall(status).state !== 'ready');
  const agents =
    status === undefined ? undefined : agentsVerdict(status, { agentsIn, waited, hostHasProblem });
  const old = ages.filter(isTooOld);
  const silent = old.some(({ source }) => source === 'report');
  const oldFindings = silent ? [] : old.flatMap(oldSource);
  const found = [
    ...missing,
    ...oldFindings,
    ...managerFindings(facts, probe, now),
    ...disagree,
    ...(agents?.findings ?? []),
    ...leftDrain(facts, host),
    ...clockFindings(facts, factsReadAt),
    ...unread,
  ];
  const waiting = [...managerWaits(facts, oldFindings), ...(agents?.waiting ?? [])];
  const notes = [...personDrains(status), ...(agents?.note === undefined ? [] : [agents.note])];
  const note = notes.length === 0 ? undefined : notes.join('; ');
  const youngAt = hidesYoung ? now : undefined;
  // What the host lacks is certain, and waiting does not add it.
  if (missing.length > 0)
    return {
      ...concluded(found, [], note, youngAt),
      ...oldestIn('facts', ...(disagree.length > 0 ? ['gpus' as const] : [])),
    };
  const judgement = concluded(found, waiting, note, youngAt);
  const shown = old.length > 0 || isUnread(judgement) ? unknownBy(judgement) : judgement;
  return { ...shown, ...defined({ oldest: oldestOf(ages) }) };
}

/** Tells whether nothing is worse than facts that could not be read. */
function isUnread({ findings }: Judgement): boolean {
  return findings[0]?.code === 'facts.incomplete';
}

function unknownBy(judgement: Judgement): Judgement {
  return { ...judgement, verdict: { ...judgement.verdict, state: 'unknown' } };
}

/** Returns the drains by users, which are no problem. */
function personDrains(status: ManagerStatus | undefined): readonly string[] {
  return status?.drains.filter(({ run }) => run === undefined).map(drainNote) ?? [];
}

function concluded(
  found: readonly Finding[],
  waiting: readonly Waiting[] = [],
  note?: string,
  youngAt?: number,
): Judgement {
  const { shown, hidden } = divide(found, youngAt);
  const { verdict, findings } = conclude(shown, undefined);
  const troubles = verdict.state === 'degraded' ? findings.flatMap(troublesOf) : undefined;
  return { verdict: { ...verdict, ...defined({ note, troubles }) }, findings, hidden, waiting };
}

function troublesOf({ code, gpu, agents, severity }: Finding): readonly Trouble[] {
  if (severity === 'info') return [];
  return agents?.map((on) => ({ code, on })) ?? [{ code, ...defined({ on: gpu }) }];
}

/**
 * Returns the verdict on an unreachable host that powered itself off: its manager disabled its agents in the pool with that reason, and
 * none of them is online. Undefined: the pool does not show this. Pure.
 */
export function switchedOff(agents: readonly AzureAgent[]): Verdict | undefined {
  if (agents.some(({ status }) => status === 'online')) return undefined;
  const [since] = agents.flatMap(({ enabled, userCapabilities }) =>
    enabled ? [] : (offSince(userCapabilities?.[Capabilities.drainReason]) ?? []),
  );
  if (since === undefined) return undefined;
  return {
    state: 'off',
    cause: `${since}, and powered itself off (idle:)`,
    next: 'start it at its provider when needed; its agents then come online by themselves',
  };
}
