import { agentsVerdict, type Waiting } from './agents.ts';
import { hostFindings, leftDrain } from './host.ts';
import { isSilent, managerFindings, managerWaits } from './manager.ts';
import type { Sight } from './sight.ts';
import type { AzureAgent } from '../../shared/azure/client.ts';
import { defined } from '../../shared/base/objects.ts';
import { offSince } from '../../shared/contract/idle.ts';
import { Capabilities } from '../../shared/contract/paths.ts';
import { imageOverall } from '../../shared/contract/status.ts';
import { conclude } from '../../shared/health/checkup.ts';
import type { Finding, Trouble, Verdict } from '../../shared/health/verdict.ts';

export interface Judgement {
  readonly verdict: Verdict;
  /** Worst first; `info` ones included. */
  readonly findings: readonly Finding[];
  /** What may become well by itself, whether it counts as wrong already or not. None: waiting changes nothing. */
  readonly waiting: readonly Waiting[];
}

/**
 * The one verdict on a host: the proof of `provision`, `status` and all that shows how a host is ask here. Facts come
 * first: while something is missing on the host, the manager's word adds nothing. Pure.
 */
export function judge({ facts, probe, agentsIn, now, waited = false }: Sight): Judgement {
  const missing = hostFindings(facts);
  const probed = probe?.findings ?? [];
  if (missing.length > 0) return concluded([...missing, ...probed]);
  const { status } = facts.manager;
  const isHostHeld =
    status !== undefined && (status.problems.length > 0 || imageOverall(status).state !== 'ready');
  const agents = status === undefined ? undefined : agentsVerdict(status, { agentsIn, waited, isHostHeld });
  const found = [...managerFindings(facts, probe, now), ...(agents?.findings ?? []), ...leftDrain(facts)];
  const waiting = [...managerWaits(facts), ...(agents?.waiting ?? [])];
  const judgement = concluded(found, waiting, agents?.note);
  if (!isSilent(status, now)) return judgement;
  return { ...judgement, verdict: { ...judgement.verdict, state: 'unknown' } };
}

function concluded(found: readonly Finding[], waiting: readonly Waiting[] = [], note?: string): Judgement {
  const { verdict, findings } = conclude(found, undefined);
  const troubles = verdict.state === 'degraded' ? findings.flatMap(troublesOf) : undefined;
  return { verdict: { ...verdict, ...defined({ note, troubles }) }, findings, waiting };
}

function troublesOf({ code, gpu, agents, severity }: Finding): readonly Trouble[] {
  if (severity === 'info') return [];
  return agents?.map((on) => ({ code, on })) ?? [{ code, ...defined({ on: gpu }) }];
}

/**
 * That a host which does not answer has ended itself: its manager has disabled its agents in the pool and said why, and none
 * of them is online. Undefined: the pool does not say so. Pure.
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
