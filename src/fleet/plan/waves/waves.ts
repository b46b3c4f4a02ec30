import { defined } from '../../../shared/base/objects.ts';
import { shareText } from '../../../shared/base/quantities.ts';
import type { Held, Wave, WavesPlan } from '../waves-plan.ts';
import { heldBack } from './held.ts';
import type { WaveLimits } from '../../inventory/fleet.ts';
import { nextWave, type Standing } from './wave.ts';

/** What waves are made of: the fleet before a run. */
export interface WaveFleet extends Omit<Standing, 'proven'> {
  /** Down, and about to be mended by this run beside the waves. */
  readonly mending: ReadonlySet<string>;
  /** Drained by a run that was cut off before it had proven them, and nothing is left that disturbs their agents. */
  readonly unproven: readonly string[];
  /** Would be pending, but cannot be proven afterwards. */
  readonly barred: readonly Held[];
}

/**
 * The waves of a run in which all goes well. Undefined: nothing takes agents away. `removes`: the hosts leave the fleet.
 * Pure.
 */
export function planWaves(fleet: WaveFleet, limits: WaveLimits, removes?: true): WavesPlan | undefined {
  if (fleet.pending.length === 0 && fleet.barred.length === 0) return undefined;
  const waves: Wave[] = [];
  const unproven = new Set(fleet.unproven);
  let standing: Standing = { ...fleet, down: without(fleet.down, unproven), proven: new Set() };
  let mended = false;
  const emptied = new Set<string>();
  for (;;) {
    const wave = nextWave(standing, limits);
    if (wave !== undefined) {
      waves.push(wave);
      for (const pool of emptiedBy(wave, standing)) emptied.add(pool);
      standing = afterWave(standing, wave.hosts);
    } else if (!mended) {
      mended = true;
      standing = { ...standing, down: without(standing.down, fleet.mending) };
    } else break;
  }
  const gone = waves.flatMap(({ hosts }) => hosts);
  return {
    maxUnavailable: shareText(limits.maxUnavailable),
    maxFailures: shareText(limits.maxFailures),
    proveFirst: fleet.unproven,
    waves,
    emptied: removes === true ? emptiedBy({ hosts: gone }, fleet) : [...emptied],
    held: [...fleet.barred, ...heldBack(standing, limits)],
    ...defined({ removes }),
  };
}

function emptiedBy(
  { hosts }: Pick<Wave, 'hosts'>,
  { pools, down }: Pick<Standing, 'pools' | 'down'>,
): readonly string[] {
  const taken = new Set(hosts);
  const lost = ([, all]: readonly [string, readonly string[]]) =>
    all.some((host) => taken.has(host) && !down.has(host)) &&
    all.every((host) => taken.has(host) || down.has(host));
  return [...pools].filter(lost).map(([pool]) => pool);
}

/** When these hosts are changed and healthy. Pure. */
export function afterWave(standing: Standing, healthy: readonly string[]): Standing {
  const done = new Set(healthy);
  const kinds = standing.pending.filter(({ host }) => done.has(host)).map(({ kind }) => kind);
  return {
    pools: standing.pools,
    down: without(standing.down, done),
    pending: standing.pending.filter(({ host }) => !done.has(host)),
    proven: new Set([...standing.proven, ...kinds]),
  };
}

function without(names: ReadonlySet<string>, others: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...names].filter((name) => !others.has(name)));
}
