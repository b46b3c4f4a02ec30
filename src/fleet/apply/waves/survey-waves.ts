import type { Problem } from '../../../shared/base/errors.ts';
import type { HostSpec } from '../../inventory/fleet.ts';
import { waveFleet } from '../../plan/waves/wave-fleet.ts';
import type { WaveFleet } from '../../plan/waves/waves.ts';
import { knownPools } from '../../steps/pool-names.ts';
import type { AnySurvey } from '../fleet-survey.ts';
import type { Survey } from '../survey.ts';

/**
 * The fleet as waves mind it. `hosts`: of the whole inventory. `proven`: hosts are proven afterwards, so that those whose
 * pool cannot be used now do not lose their agents.
 */
export function wavesOf(hosts: readonly HostSpec[], survey: AnySurvey, proven: boolean): WaveFleet {
  const blocked = survey.pools?.blocked ?? new Map<string, Problem>();
  return waveFleet({
    hosts,
    seen: survey.hosts,
    unread: survey.failures.map(({ host }) => host),
    unprovable: (host) => (proven ? blockedOf(host, blocked) : undefined),
  });
}

/** Why the host's manager cannot be had now, if so. */
export function blockedOf(
  { host, facts }: Pick<Survey, 'host' | 'facts'>,
  blocked: ReadonlyMap<string, Problem>,
): Problem | undefined {
  return knownPools(host, facts)
    .map((pool) => blocked.get(pool))
    .find((problem) => problem !== undefined);
}
