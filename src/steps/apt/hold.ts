import type { Facts } from '../../facts/facts.ts';
import type { Change, StepName } from '../change.ts';
import { runChange } from '../changes.ts';
import { aptPrelude } from './prelude.ts';

/** Keeps packages that are there at their version, where they are not held already. `what` finishes "hold the …". */
export function* holdPackages(
  step: StepName,
  what: string,
  facts: Facts,
  packages: readonly string[],
  risk = 'may be upgraded at any time',
): Generator<Change> {
  const loose = packages.filter((name) => facts.packages[name] !== undefined && !facts.held.includes(name));
  if (loose.length === 0) return;
  yield runChange(
    step,
    'hold',
    { title: `hold the ${what}`, why: `${loose.join(', ')} ${risk}`, disturbs: 'nothing' },
    { script: `${aptPrelude}\nhold ${loose.join(' ')}`, timeoutS: 120 },
  );
}
