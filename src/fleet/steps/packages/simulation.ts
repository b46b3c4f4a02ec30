import { defined } from '../../../shared/base/defined.ts';
import type { Facts } from '../../facts/facts.ts';
import { vendorsOf, type Answers, type Asked } from '../../packages/simulation.ts';
import { lacksSiteCa } from '../site-ca.ts';
import type { Desired, Planned, Refusal } from '../step.ts';
import { isPackageChange } from './refine.ts';
import { sourceIsThere } from './upkeep.ts';

/** One question to the package manager of one host. */
export interface Simulation {
  /** POSIX sh, as root. It changes nothing of the host's own. */
  readonly script: string;
  /** Total. */
  readonly read: (output: string) => Answers;
}

/** What has to be asked about these changes, beyond what is known already; undefined: nothing. Pure. */
export function simulationOf(
  found: readonly (Planned | Refusal)[],
  facts: Facts,
  desired: Desired,
  known: Answers,
): Simulation | undefined {
  const pending = found
    .filter(isPackageChange)
    .filter(({ id }) => known[id] === undefined || known[id].kind === 'unknown');
  const [first] = pending;
  if (first === undefined) return undefined;
  const { platform } = first.pending;
  const asked: readonly Asked[] = pending.map(({ id, pending: { transaction } }) => ({
    key: id,
    transaction,
  }));
  const { mirrors, proxy } = desired;
  const { caPem, ...rest } = proxy;
  const { simulator } = platform.packages;
  const script = simulator.script({
    asked,
    missing: vendorsOf(asked).filter((vendor) => !sourceIsThere(vendor, { platform, facts, desired })),
    system: platform,
    site: {
      mirrors,
      proxy: rest,
      ...defined({ caPem: lacksSiteCa(facts, desired) ? caPem : undefined }),
    },
  });
  return { script, read: (output) => simulator.parse(output, asked) };
}
