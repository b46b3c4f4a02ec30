import { FleetError } from '../../shared/base/errors.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import type { HostPlan } from '../plan/fleet-plan.ts';
import { firstStage } from '../plan/plan.ts';
import type { Simulation } from '../steps/packages/refine.ts';
import type { ApplyTools, HostTools } from './apply-tools.ts';
import { readOnly, type HostConnection } from './connection.ts';
import type { HostState } from './events.ts';

/** Milliseconds; far above the separate limits of the commands in the script. */
const deadlineMs = 300_000;

/** One host with its last facts. */
interface Read {
  readonly host: HostSpec;
  readonly facts: GatheredFacts;
  readonly connection: HostConnection;
}

type Answers = NonNullable<HostPlan['packages']>;

/** Plans a host before the plan is announced. `answers`: of its package manager, if it has been asked. */
export async function planToAnnounce(
  read: Read & { readonly answers?: Answers },
  tools: ApplyTools,
): Promise<HostPlan> {
  const answers = read.answers ?? (await askPackages(read, tools, {}, 'planned'));
  return tools.plan(read.facts, read.host, { answers, final: false });
}

/**
 * Plans a host under the lock, with the answers of the `announced` plan. Unknown answers are requested again; a first change whose
 * answer is still unknown runs within the announced bound.
 */
export async function planUnderLock(read: Read, tools: ApplyTools, announced: HostPlan): Promise<HostPlan> {
  const answers = await askPackages(read, tools, announced.packages ?? {}, 'applying');
  const now = tools.plan(read.facts, read.host, { answers, final: false });
  if (now.stages.length === 0 || firstStage(now).length > 0) return now;
  return tools.plan(read.facts, read.host, { answers: now.packages ?? {}, final: true });
}

/** Adds to the `known` answers those of a simulation of the other package changes, with one exec, if any. */
export async function askPackages(
  { host, facts, connection }: Read,
  tools: HostTools,
  known: Answers,
  state: HostState,
): Promise<Answers> {
  const question = tools.question?.(facts, host, known);
  if (question === undefined) return known;
  const text = 'simulating the package changes';
  tools.emit({ kind: 'host-state', host: host.name, state: 'asking', text });
  const answers = { ...known, ...(await ask(question, connection, tools)) };
  tools.emit({ kind: 'host-state', host: host.name, state });
  return answers;
}

async function ask(
  { script, read }: Simulation,
  connection: HostConnection,
  { signal }: HostTools,
): Promise<Answers> {
  const session = readOnly(await connection.session());
  try {
    const { stdout } = await session.script(`set -eu\n${script}`, { totalTimeoutMs: deadlineMs, signal });
    return read(stdout);
  } catch (error) {
    if (error instanceof FleetError && error.problem.code === 'ssh.script-timeout') return read('');
    throw error;
  }
}
