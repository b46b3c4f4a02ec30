import type { Verdict } from '../../../shared/health/verdict.ts';
import type { Drained } from '../drain.ts';
import { aftermath, type EarlyEnd } from '../going-on/left-at-work.ts';

/** How a host is proven. */
export interface Proof {
  /** nvidia-smi in a container, and nothing else. */
  readonly probe: () => Promise<Verdict>;
  /** The whole of it. `giveBack` has the agents take jobs again; it is called once the container works. */
  readonly prove: (giveBack: () => Promise<void>) => Promise<Verdict>;
}

/** A verdict with which agents may take jobs. */
export function works({ state }: Verdict): boolean {
  return state === 'healthy' || state === 'degraded';
}

/** Where agents cannot be expected to come online: nvidia-smi decides by itself. */
export function probeOnly({ probe }: Proof): Proof {
  const prove: Proof['prove'] = async (giveBack) => {
    const verdict = await probe();
    if (works(verdict)) await giveBack();
    return verdict;
  };
  return { probe, prove };
}

/** All changes are made: proves the host. Where its probe fails no job comes to it, and the verdict says so. */
export async function proveDrained(host: string, drained: Drained, proof: Proof): Promise<Verdict> {
  let given = false;
  const giveBack = async () => {
    given = true;
    await drained.giveBack();
  };
  try {
    const verdict = await proof.prove(giveBack);
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
    await drained.giveBack();
  }
  return undefined;
}
