import { defined } from '../../shared/base/objects.ts';
import { valueOf } from '../../shared/base/reading.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { drainLine, drainsOfRuns, isResumedBy, resumeText } from '../../shared/contract/drain.ts';
import { occupied, type SlotStatus } from '../../shared/contract/status.ts';
import type { Verdict } from '../../shared/health/verdict.ts';
import type { ManagerClient } from '../client/manager-client.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import { statusOf, withReport } from '../facts/unread.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import type { ApplyTools } from './apply-tools.ts';
import { Interrupted } from './outcome.ts';
import { agentsAfter, type EarlyEnd } from './resume.ts';

const pollMs = 2000;

/** A host that this run drained. No function rejects: failures are reported as notes. */
export interface Drained {
  /** Ends this run's drain; drains of users stay. */
  readonly enableAgents: () => Promise<void>;
  /** Keeps the drain with the reason; `stored`: the reason that the host stores, if it differs. */
  readonly keep: (why: string, stored?: string) => Promise<void>;
  /** Leaves the drain unchanged, because this run lost the host's lock. */
  readonly leave: (why: string) => void;
}

/** Drains the host's agents and waits until their jobs have ended. Rejects with `Interrupted` if the signal is aborted before. */
export async function drain(
  manager: ManagerClient,
  reason: string,
  host: HostSpec,
  tools: Pick<
    ApplyTools,
    'emit' | 'clock' | 'sleep' | 'signal' | 'options' | 'jobPages' | 'owner' | 'run' | 'command'
  >,
): Promise<Drained> {
  const before = await manager.status();
  const note = (text: string) => tools.emit({ kind: 'note', host: host.name, text });
  const leftBehind = drainsOfRuns(before);
  const others = leftBehind.find((left) => !isResumedBy(tools.command, left));
  const enableAgents = async () => {
    try {
      if (others === undefined) return await manager.undrainRun(tools.run);
      note(`its agents stay drained: ${resumeText(others, host.name)}`);
      const { reason, owner, run, command } = others;
      await manager.drain({ reason, ...defined({ owner, run, command }) });
    } catch (error) {
      note(`the agents could not be enabled again: ${String(error)}; run "azp-fleet undrain ${host.name}"`);
    }
  };
  const by = { owner: tools.owner.who, run: tools.run, command: tools.command };
  const leave = (why: string) => note(`its agents stay drained: ${why}`);
  const keep = async (why: string, stored = why) => {
    leave(why);
    try {
      await manager.drain({ ...by, reason: `${reason}; still drained: ${stored}` });
    } catch {
      // The agents stay drained by the earlier entry, which has a shorter reason.
    }
  };
  const wait = { since: tools.clock.monotonic(), limitMs: tools.options.drainTimeoutMs };
  const deadline = wait.since + wait.limitMs;
  try {
    // This run holds the host's lock, so any other run that drained the host has ended.
    for (const left of leftBehind)
      if (left !== others) note(`takes over from an interrupted run: ${drainLine(left)}`);
    await manager.drain({ reason, ...by });
    for (let shown = ''; ;) {
      const left = occupied(await manager.status());
      if (left.length === 0) {
        if (shown !== '') tools.emit({ kind: 'host-state', host: host.name, state: 'applying' });
        return { enableAgents, keep, leave };
      }
      const text = `draining: waiting for ${left.map(describe).join(', ')}`;
      if (text !== shown) {
        note(text);
        tools.emit({ kind: 'host-state', host: host.name, state: 'draining', text: waitingFor(left), wait });
      }
      shown = text;
      if (tools.clock.monotonic() >= deadline) {
        const pages = await pagesOf(left, tools);
        throw timedOut(host.name, left, pages, tools.options.drainTimeoutMs);
      }
      await tools.sleep(pollMs);
    }
  } catch (error) {
    // A host that an earlier run left drained is partly changed and not proven.
    await (leftBehind.length === 0 || others !== undefined ? enableAgents() : keep('it is not proven'));
    throw tools.signal.aborted ? new Interrupted({ during: 'drain' }, error) : error;
  }
}

async function pagesOf(
  left: readonly SlotStatus[],
  { jobPages }: Pick<ApplyTools, 'jobPages'>,
): Promise<ReadonlyMap<string, string>> {
  const pools = new Set(left.map(({ pool }) => pool));
  if (jobPages === undefined) return new Map();
  const pages = await Promise.all([...pools].map(jobPages));
  return new Map(pages.flatMap((each) => [...each]));
}

/** Returns the facts without the drains of this run, which it will end. Pure. */
export function withoutDrainsOf(run: string, facts: GatheredFacts): GatheredFacts {
  const status = valueOf(statusOf(facts));
  if (status === undefined) return facts;
  const drains = status.drains.filter((drain) => drain.run !== run);
  return withReport(facts, { status: { ...status, drains } });
}

/** `waiting for job train-1 and 2 more`. */
function waitingFor(left: readonly SlotStatus[]): string {
  const [first, ...others] = left.toSorted(
    (a, b) => Number(a.job === undefined) - Number(b.job === undefined),
  );
  const who = first?.job === undefined ? `slot ${first?.slot} (${first?.state})` : `job ${first.job}`;
  return `waiting for ${who}${others.length === 0 ? '' : ` and ${others.length} more`}`;
}

function describe({ slot, job, state }: SlotStatus): string {
  return job === undefined ? `slot ${slot} (${state})` : `slot ${slot} (${job})`;
}

function timedOut(
  host: string,
  left: readonly SlotStatus[],
  pages: ReadonlyMap<string, string>,
  timeoutMs: number,
): FleetError {
  return new FleetError({
    code: 'plan.drain-timeout',
    host,
    step: 'manager',
    what: `jobs still run after ${Math.round(timeoutMs / 60_000)} minutes of draining; nothing was changed, agents take jobs again`,
    seen: left.map((slot) => [describe(slot), pages.get(slot.agent) ?? []].flat().join(' ')).join('\n'),
    next: 'run again when they have ended, or give them longer with --drain-timeout',
  });
}

/** The proof of a host. */
export interface Proof {
  /** Runs only nvidia-smi in a container. */
  readonly probe: () => Promise<Verdict>;
  /** Runs the whole proof; calls `enableAgents` once nvidia-smi works. */
  readonly prove: (enableAgents: () => Promise<void>) => Promise<Verdict>;
}

/** Tells whether agents may take jobs with this verdict. */
export function works({ state }: Verdict): boolean {
  return state === 'healthy' || state === 'degraded';
}

/** Returns a proof by nvidia-smi alone, for a host whose agents cannot come online. */
export function probeOnly({ probe }: Proof): Proof {
  const prove: Proof['prove'] = async (enableAgents) => {
    const verdict = await probe();
    if (works(verdict)) await enableAgents();
    return verdict;
  };
  return { probe, prove };
}

/**
 * Proves a host after its changes. If the probe fails, the agents stay drained, and the verdict says so. `staysDrained`: also if the
 * host fails after its agents were enabled.
 */
export async function proveDrained(
  host: string,
  drained: Drained,
  proof: Proof,
  staysDrained = false,
): Promise<Verdict> {
  let enabled = false;
  const enableAgents = async () => {
    enabled = true;
    await drained.enableAgents();
  };
  try {
    const verdict = await proof.prove(enableAgents);
    const isLeft = enabled && (works(verdict) || !staysDrained);
    return isLeft ? verdict : await keepDrained(host, drained, verdict);
  } catch (error) {
    if (!enabled) await drained.keep('it is not proven');
    throw error;
  }
}

/** Keeps the drain, and returns the verdict with that. */
async function keepDrained(host: string, drained: Drained, verdict: Verdict): Promise<Verdict> {
  await drained.keep(verdict.cause);
  return {
    ...verdict,
    cause: `${verdict.cause}; its agents stay drained`,
    next: `${verdict.next}; then run "azp-fleet provision ${host}": it proves the host and enables its agents again`,
  };
}

/** Enables or keeps the agents of a host whose run ended early. Resolves with the verdict if it is why they stay drained. */
export async function endEarly(
  host: string,
  drained: Drained,
  end: EarlyEnd,
  proof: Proof | undefined,
): Promise<Verdict | undefined> {
  const decision = agentsAfter(end);
  if (decision.agents === 'leave') drained.leave(decision.why);
  else if (decision.agents === 'keep-drained') await drained.keep(decision.why, decision.stored);
  else {
    const verdict = decision.agents === 'enable-if-healthy' ? await proof?.probe() : undefined;
    if (verdict !== undefined && !works(verdict)) return keepDrained(host, drained, verdict);
    await drained.enableAgents();
  }
  return undefined;
}
