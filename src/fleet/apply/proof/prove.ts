import { FleetError, type Problem } from '../../../shared/base/errors.ts';
import { releaseOf } from '../../../shared/contract/release.ts';
import { agentsOf, poolsInUse } from '../../../shared/contract/status.ts';
import type { Verdict } from '../../../shared/health/verdict.ts';
import type { PoolAgents } from '../../verdict/sight.ts';
import type { ApplyTools } from '../apply-tools.ts';
import type { Survey } from '../survey.ts';
import type { PoolLists } from './pool-lists.ts';
import { works, type Proof } from './end-drain.ts';
import { orVerdict, probeNow, probeVerdict, type Probed } from './probe.ts';
import { watch, type Look } from './watch.ts';

/**
 * The proof that a host works: nvidia-smi in a container, and its agents, made from the present configuration, online in
 * the pool. What is well is decided where `status` has it from; here it is waited for, and what for is told.
 * `pools` undefined: Azure DevOps is not asked. `giveBack` is called once the probe is well, before the agents are looked
 * at, and not at all where it is not.
 */
export async function proveHost(
  survey: Survey,
  pools: PoolLists | undefined,
  tools: ApplyTools,
  giveBack?: () => Promise<void>,
): Promise<Verdict> {
  const { name } = survey.host;
  tools.emit({ kind: 'host-state', host: name, state: 'proving' });
  const doing = (line: string) => tools.emit({ kind: 'change-output', host: name, id: 'proof', line });
  return orVerdict(tools, async () => {
    doing('nvidia-smi in a container');
    const probed = await probeNow(survey, tools);
    const isWell = works(probed.probe.verdict);
    if (isWell) await giveBack?.();
    doing('its agents, on the host and in the pool');
    const verdict = await watch(() => lookAgain(probed, pools), isWell, name, tools);
    if (verdict.note !== undefined) tools.emit({ kind: 'note', host: name, text: verdict.note });
    return pools === undefined ? { ...verdict, azureAsked: false } : verdict;
  });
}

/** Both ways to prove a host, for when its changes are made. */
export function proofOf(survey: Survey, pools: PoolLists | undefined, tools: ApplyTools): Proof {
  return {
    probe: () => probeVerdict(survey, tools),
    prove: (giveBack) => proveHost(survey, pools, tools, giveBack),
  };
}

/** The manager's view of its slots as of now, then the server's. */
async function lookAgain({ manager, facts, probe }: Probed, pools: PoolLists | undefined): Promise<Look> {
  const status = await manager.status();
  const agents = new Map<string, PoolAgents>();
  const problems: Problem[] = [];
  for (const name of poolsInUse(status)) {
    try {
      agents.set(name, await pools?.of(name, agentsOf(status, name)));
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      problems.push(error.problem);
    }
  }
  return {
    sight: {
      facts: { ...facts, manager: { ...facts.manager, status, release: releaseOf(status) } },
      probe,
      agentsIn: (pool) => agents.get(pool),
      // It has answered just now: its report has no age, whatever the clocks say.
      now: Date.parse(status.at),
    },
    problems,
  };
}
