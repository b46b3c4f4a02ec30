import fc from 'fast-check';
import { expect, it } from 'vitest';

import { failure } from '../../../../../src/fleet/apply/outcome.ts';
import { FleetError } from '../../../../../src/shared/base/errors.ts';
import { silentLogger } from '../../../../../src/shared/base/log.ts';
import { defaultWaves } from '../../../../../src/fleet/inventory/schema/defaults.ts';
import { mayBeDown } from '../../../../../src/fleet/plan/waves/limits.ts';
import { fleetOf, machines } from '../../plan/waves/fleet.ts';
import { broken, healthy, run, share, type End } from './made-up-run.ts';

it('whatever becomes of the hosts of any fleet: each ends once, and no pool is without more hosts than may be', async () => {
  const ends = fc.array(fc.constantFrom('well', 'well', 'well', 'broken', 'gone'), { minLength: 40 });
  await fc.assert(
    fc.asyncProperty(machines, ends, async (all, fates) => {
      const fleet = all.map(({ builder: _builder, ...machine }) => machine);
      const fateOf = (host: string) => fates[fleet.findIndex((each) => each.host === host)] ?? 'well';
      const gone = new FleetError({ code: 'ssh.refused', what: 'nobody listens' });
      const end: End = (host) => {
        if (fateOf(host) === 'gone') return { ...failure(host, gone, silentLogger) };
        return { verdict: fateOf(host) === 'well' ? healthy : broken };
      };
      const limits = { maxUnavailable: share('50%'), maxFailures: share('100%') };
      const { outcomes, together } = await run(fleet, end, limits);
      expect(outcomes.map(({ host }) => host)).toEqual(fleet.map(({ host }) => host));
      expect(new Set(together.flat()).size).toBe(together.flat().length);

      const { pools, down, pending } = fleetOf(fleet);
      const isPending = new Set(pending.map(({ host }) => host));
      const out = new Set(down);
      for (const batch of together) {
        const wave = batch.filter((host) => isPending.has(host));
        for (const members of pools.values()) {
          const lost = members.filter((host) => wave.includes(host) && !out.has(host));
          const without = members.filter((host) => out.has(host)).length + lost.length;
          const most = mayBeDown(members.length, { ...defaultWaves, ...limits });
          if (lost.length > 0) expect(without).toBeLessThanOrEqual(most);
        }
        for (const host of batch)
          if (fateOf(host) === 'well') out.delete(host);
          else if (isPending.has(host)) out.add(host);
      }
    }),
    { numRuns: 60 },
  );
});
