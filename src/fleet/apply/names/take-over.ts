import type { AzureClient } from '../../../shared/azure/client.ts';
import type { Problem } from '../../../shared/base/errors.ts';
import { createManagerClient } from '../../client/manager-client.ts';
import { refusedNames, takeNames } from '../../client/take-names.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import { heldProblem, mayBeTaken, type HeldNames } from '../../plan/held-names.ts';
import type { ApplyTools } from '../apply-tools.ts';
import { readFacts } from '../connection.ts';
import type { Survey } from '../survey.ts';
import { lookAgain } from './look.ts';

export interface TakeOver {
  readonly client: AzureClient;
  /** What the plan saw, of all hosts. */
  readonly held: readonly HeldNames[];
  /** Ids of the changes that were shown and agreed to. */
  readonly agreed: ReadonlySet<string>;
}

/** What became of the names that the plan saw held. */
export interface TakenOver {
  /** How many changes were made. */
  readonly changes: number;
  /** Why names stay held. */
  readonly problem?: Problem;
}

/**
 * Takes the names of a host over that were agreed to, once its manager runs. Each owner is looked at again just before, and
 * by the manager in the moment itself: one that has come back, or is another one by now, keeps its names, and the problem
 * says so. So it does of what was not agreed to.
 */
export async function takeOverNames(
  { host, connection }: Pick<Survey, 'host' | 'connection'>,
  { client, held, agreed }: TakeOver,
  tools: ApplyTools,
): Promise<TakenOver> {
  const ours = held.filter((each) => each.host === host.name);
  if (ours.length === 0) return { changes: 0 };
  const facts = await readFacts(connection, host, tools);
  const looks = await Promise.all(ours.map((each) => lookAgain(client, each, facts, tools.clock)));
  const problems: Problem[] = [];
  let changes = 0;
  for (const each of looks.flat()) {
    if (!mayBeTaken(each, agreed)) {
      problems.push(heldProblem(each));
      continue;
    }
    const session = await connection.session();
    const manager = createManagerClient(session.socketAgent(HostPaths.socket), host.name);
    const slots = each.names.map(({ slot }) => slot);
    const { taken, refused, later } = await takeNames(manager, slots, tools);
    if (taken.length > 0) changes += 1;
    if (refused.length > 0) problems.push(refusedNames(host.name, refused).problem);
    const note = (text: string) => tools.emit({ kind: 'note', host: host.name, text });
    for (const { agent } of taken) note(`took over agent ${agent}`);
    for (const { agent } of later) note(`takes over agent ${agent} when its slot starts one`);
  }
  const [problem] = problems;
  return problem === undefined ? { changes } : { changes, problem };
}
