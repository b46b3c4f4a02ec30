import { failFunction, Raw, sh } from '../../../shared/base/shell.ts';
import { drainLine } from '../../../shared/contract/drain.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import type { Facts } from '../../facts/facts.ts';
import type { Change } from '../change.ts';
import { runChange } from '../changes.ts';

/**
 * Takes back the marks of runs that did not live to do it themselves. Changes are made under the host's lock: whoever set
 * them is gone then. What people have drained stays drained.
 */
export function* givenBack({ manager: { status } }: Facts): Iterable<Change> {
  for (const mark of status?.drains ?? []) {
    if (mark.run === undefined) continue;
    yield runChange(
      'manager',
      'undrain',
      {
        title: 'give the agents back to work',
        why: `an interrupted run left them so: ${drainLine(mark)}`,
        disturbs: 'nothing',
        marker: 'change',
      },
      { script: undrainScript(mark.run), timeoutS: 60, durable: false },
    );
  }
}

/** The status file follows what the manager is told within a moment. */
function undrainScript(run: string): string {
  const [node, program] = [`${HostPaths.current}/node`, `${HostPaths.current}/manager.mjs`];
  return sh`${new Raw(failFunction)}
${node} ${program} undrain --run ${run} >/dev/null
for pause in 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1; do
  grep -qF ${`"run":"${run}"`} ${HostPaths.status} || exit 0
  sleep "$pause"
done
fail 'the manager does not take back the mark of a run' 'a status without it within 20 s' ${run} \
  'azp-fleet undrain   # takes back all marks'`;
}
