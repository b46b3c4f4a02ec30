import type { FleetEvent } from '../../../../src/fleet/apply/events.ts';
import type { HostOutcome } from '../../../../src/fleet/apply/outcome.ts';
import { runWaves, type WaveTask } from '../../../../src/fleet/apply/waves.ts';
import type { WaveLimits } from '../../../../src/fleet/inventory/fleet.ts';
import { defaultWaves } from '../../../../src/fleet/inventory/schema/defaults.ts';
import { parseShare } from '../../../../src/shared/base/quantities.ts';
import type { Problem } from '../../../../src/shared/base/errors.ts';
import type { Verdict } from '../../../../src/shared/health/verdict.ts';
import { fleetOf, type Machine } from '../plan/wave-fleet-host.ts';

export const healthy: Verdict = { state: 'healthy', cause: '', next: '' };
export const broken: Verdict = { state: 'failed', cause: 'nvidia-smi shows no GPU', next: 'look' };

export type End = (host: string) => Partial<HostOutcome>;
export const well: End = () => ({ verdict: healthy });

/** Runs a made-up fleet; hosts that are changed at the same time end together. */
export async function run(
  machines: readonly Machine[],
  end: End = well,
  {
    parallel = 200,
    stop = new AbortController(),
    before,
    canariesPassed,
    ...limits
  }: Partial<WaveLimits> & {
    parallel?: number;
    stop?: AbortController;
    before?: Verdict;
    canariesPassed?: (begun: readonly string[]) => Problem | undefined;
  } = {},
) {
  const events: FleetEvent[] = [];
  const begun: string[] = [];
  const together: string[][] = [];
  let open: string[] | undefined;
  const tasks = machines.map(({ host, builder }): WaveTask => ({
    host,
    builder,
    before,
    work: async () => {
      begun.push(host);
      if (open === undefined) together.push((open = []));
      open.push(host);
      // By then all other hosts that may begin have begun.
      await new Promise((resolve) => setImmediate(resolve));
      open = undefined;
      return { host, state: 'changed', changes: 1, ...end(host) };
    },
  }));
  const outcomes = await runWaves(
    tasks,
    {
      fleet: fleetOf(machines),
      limits: { ...defaultWaves, ...limits },
      ...(canariesPassed && { canariesPassed: () => canariesPassed([...begun]) }),
    },
    {
      emit: (event) => events.push(event),
      signal: stop.signal,
      options: { parallel, drainTimeoutMs: 0, breakLock: false },
    },
  );
  return { outcomes, begun, together, events };
}

export const share = (text: string) => parseShare(text) ?? defaultWaves.maxFailures;
