import type { Held } from '../../plan/waves-plan.ts';
import { heldBack, heldByBuilder } from '../../plan/waves/held.ts';
import type { WaveLimits } from '../../inventory/fleet.ts';
import { foldNames } from '../../inventory/fold-names.ts';
import type { Standing } from '../../plan/waves/wave.ts';
import type { WaveFleet } from '../../plan/waves/waves.ts';
import type { HostOutcome } from '../outcome.ts';

/** Why no more hosts are begun. */
export interface Stop {
  /** What follows "because": `the canary h200-1 failed: nvidia-smi …`. */
  readonly because: string;
  readonly next: string;
}

/** What stops the waves. `again`: how to go on when the hosts are cured. Pure. */
export const stopped = {
  unproven: (host: string, cause: string, again: string): Stop => ({
    because: `${host}, which an earlier run has changed, is not healthy: ${cause}`,
    next: `cure ${host}, then ${again}`,
  }),
  canary: (host: string, cause: string, again: string): Stop => ({
    because: `the canary ${host} failed: ${cause}`,
    next: `cure ${host}, then ${again}`,
  }),
  failures: (hosts: readonly string[], most: number, again: string): Stop => ({
    because: `${hosts.length === 1 ? '1 host' : `${hosts.length} hosts`} failed (${foldNames(hosts)}), and at most ${most} may`,
    next: `cure ${hosts.length === 1 ? hosts.join('') : 'them'}, then ${again}`,
  }),
} as const;

/** The end of a host that its turn never came for, and whose fault it is. Pure. */
export function endOfRest(
  host: string,
  rest: {
    readonly stop: Stop | undefined;
    readonly builder: string | undefined;
    readonly fleet: WaveFleet;
    readonly standing: Standing;
    readonly limits: WaveLimits;
  },
): HostOutcome {
  const { stop, builder, fleet, standing, limits } = rest;
  const barred = fleet.barred.find((each) => each.host === host);
  if (barred !== undefined) return held(barred);
  if (stop !== undefined) {
    const { because, next } = stop;
    const what = `not begun because ${because}`;
    return { host, state: 'skipped', changes: 0, problem: { code: 'wave.stopped', host, what, next } };
  }
  const full = heldBack(standing, limits).find((each) => each.host === host);
  return held(full ?? heldByBuilder(host, builder));
}

function held({ host, what, next }: Held): HostOutcome {
  return {
    host,
    state: 'skipped',
    changes: 0,
    problem: { code: 'wave.held', host, what: `not begun: ${what}`, next },
  };
}
