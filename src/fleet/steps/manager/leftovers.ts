import { sh } from '../../../shared/base/shell.ts';
import type { Facts } from '../../facts/facts.ts';
import type { Change } from '../change.ts';
import { runChange } from '../changes.ts';

/**
 * Takes away what earlier runs have sent and never put in place: halves of uploads, and a credential that nobody wants any
 * more. `taken`: paths that the plan's own uploads go on with.
 */
export function* leftovers(facts: Facts, taken: readonly string[]): Iterable<Change> {
  const left = facts.manager.leftovers.filter((path) => !taken.some((each) => goesOn(path, each)));
  if (left.length === 0) return;
  yield runChange(
    'manager',
    'leftovers',
    {
      title: `remove what an interrupted run left: ${left.map((path) => path.split('/').at(-1)).join(', ')}`,
      why: 'it was sent and never put in place',
      disturbs: 'nothing',
      marker: 'remove',
    },
    { script: sh`rm -f ${left}`, timeoutS: 30, durable: false, writes: left },
  );
}

/** The upload to `path` finds this file and goes on with it, or throws it away. */
function goesOn(left: string, path: string): boolean {
  return left === path || left.startsWith(`${path}.`);
}
