import { FleetError } from '../../shared/base/errors.ts';
import { drainLine, drainsOfRuns } from '../../shared/contract/drain.ts';
import type { ManagerStatus, SlotStatus } from '../../shared/contract/status.ts';
import type { Verdict } from '../../shared/health/verdict.ts';
import type { ManagerClient } from '../client/manager-client.ts';
import type { Facts } from '../facts/facts.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import type { ApplyTools } from './apply-tools.ts';
import { Interrupted } from './outcome.ts';
import { aftermath, type EarlyEnd } from './resume.ts';

const pollMs = 2000;

/** Slots that may hold a job, or could still be given one. */
export function occupied(status: ManagerStatus): readonly SlotStatus[] {
  return status.slots.filter(({ state }) => ['starting', 'idle', 'busy', 'stopping'].includes(state));
}

/** A host whose agents this run has asked to take no jobs. Neither rejects: what does not work is told. */
export interface Drained {
  /** Takes this run's mark back; what people have drained stays drained. */
  readonly enableAgents: () => Promise<void>;
  /** Keeps the drain with the reason; `mark`: the reason that the host stores, where it differs from the shown one. */
  readonly keep: (why: string, mark?: string) => Promise<void>;
  /** Leaves the drain unchanged: this run has lost the host. */
  readonly leave: (why: string) => void;
}

/**
 * Makes the host's agents stop taking jobs and waits until the running ones have ended. Rejects with `Interrupted` where
 * the signal is aborted before.
 */
export async function drain(
  manager: () => Promise<ManagerClient>,
  reason: string,
  host: HostSpec,
  tools: Pick<ApplyTools, 'emit' | 'clock' | 'sleep' | 'signal' | 'options' | 'jobPages' | 'owner' | 'run'>,
): Promise<Drained> {
  const before = await (await manager()).status();
  const note = (text: string) => tools.emit({ kind: 'note', host: host.name, text });
  const enableAgents = async () => {
    try {
      await (await manager()).undrainRun(tools.run);
    } catch (error) {
      note(`the agents could not be enabled again: ${String(error)}; run "azp-fleet undrain ${host.name}"`);
    }
  };
  const mark = { owner: tools.owner.who, run: tools.run };
  const leave = (why: string) => note(`its agents stay drained: ${why}`);
  const keep = async (why: string, lasting = why) => {
    leave(why);
    const said = { ...mark, reason: `${reason}; still drained: ${lasting}` };
    try {
      await (await manager()).drain(said);
    } catch {
      // The mark that it has keeps jobs away, too; it only says less.
    }
  };
  const leftBehind = drainsOfRuns(before);
  const wait = { since: tools.clock.monotonic(), limitMs: tools.options.drainTimeoutMs };
  const deadline = wait.since + wait.limitMs;
  try {
    // We hold the host's lock: whichever run has left a mark, it is over.
    for (const left of leftBehind) note(`takes over from an interrupted run: ${drainLine(left)}`);
    await (await manager()).drain({ reason, ...mark });
    for (let said = ''; ;) {
      const left = occupied(await (await manager()).status());
      if (left.length === 0) {
        if (said !== '') tools.emit({ kind: 'host-state', host: host.name, state: 'applying' });
        return { enableAgents, keep, leave };
      }
      const text = `draining: waiting for ${left.map(describe).join(', ')}`;
      if (text !== said) {
        note(text);
        tools.emit({ kind: 'host-state', host: host.name, state: 'draining', text: waitingFor(left), wait });
      }
      said = text;
      if (tools.clock.monotonic() >= deadline) {
        const pages = await pagesOf(left, tools);
        throw timedOut(host.name, left, pages, tools.options.drainTimeoutMs);
      }
      await tools.sleep(pollMs);
    }
  } catch (error) {
    // A host that an earlier run left drained was being changed and has not been proven.
    await (leftBehind.length === 0 ? enableAgents() : keep('it is not proven'));
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

/** The facts as they are without what this run itself has drained, and will give back. Pure. */
export function withoutDrainsOf(run: string, facts: Facts): Facts {
  const { status } = facts.manager;
  if (status === undefined) return facts;
  const drains = status.drains.filter((mark) => mark.run !== run);
  return { ...facts, manager: { ...facts.manager, status: { ...status, drains } } };
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

/** How a host is proven. */
export interface Proof {
  /** nvidia-smi in a container, and nothing else. */
  readonly probe: () => Promise<Verdict>;
  /** The whole of it. `enableAgents` has the agents take jobs again; it is called once the container works. */
  readonly prove: (enableAgents: () => Promise<void>) => Promise<Verdict>;
}

/** A verdict with which agents may take jobs. */
export function works({ state }: Verdict): boolean {
  return state === 'healthy' || state === 'degraded';
}

/** Where agents cannot be expected to come online: nvidia-smi decides by itself. */
export function probeOnly({ probe }: Proof): Proof {
  const prove: Proof['prove'] = async (enableAgents) => {
    const verdict = await probe();
    if (works(verdict)) await enableAgents();
    return verdict;
  };
  return { probe, prove };
}

/** All changes are made: proves the host. Where its probe fails no job comes to it, and the verdict says so. */
export async function proveDrained(host: string, drained: Drained, proof: Proof): Promise<Verdict> {
  let given = false;
  const enableAgents = async () => {
    given = true;
    await drained.enableAgents();
  };
  try {
    const verdict = await proof.prove(enableAgents);
    return given ? verdict : await kept(host, drained, verdict);
  } catch (error) {
    if (!given) await drained.keep('it is not proven');
    throw error;
  }
}

/** What the host is like, and that no job comes to it. */
async function kept(host: string, drained: Drained, verdict: Verdict): Promise<Verdict> {
  await drained.keep(verdict.cause);
  return {
    ...verdict,
    cause: `${verdict.cause}; its agents stay drained`,
    next: `${verdict.next}; then run "azp-fleet provision ${host}": it proves the host and gives its agents back`,
  };
}

/**
 * The work has ended early: agents take jobs again where `aftermath` says so. Resolves with the verdict where they stay
 * drained for it.
 */
export async function endEarly(
  host: string,
  drained: Drained,
  end: EarlyEnd,
  proof: Proof | undefined,
): Promise<Verdict | undefined> {
  const now = aftermath(end);
  if (now.agents === 'leave') drained.leave(now.why);
  else if (now.agents === 'kept') await drained.keep(now.why, now.mark);
  else {
    const verdict = now.agents === 'back-if-well' ? await proof?.probe() : undefined;
    if (verdict !== undefined && !works(verdict)) return kept(host, drained, verdict);
    await drained.enableAgents();
  }
  return undefined;
}
