import { FleetError } from '../../shared/base/errors.ts';
import type { Facts } from '../facts/facts.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import type { HostPlan } from '../plan/fleet-plan.ts';
import { firstStage } from '../plan/plan.ts';
import type { Simulation } from '../steps/packages/refine.ts';
import type { ApplyTools } from './apply-tools.ts';
import { readOnly, type HostConnection } from './connection.ts';
import type { HostState } from './events.ts';

/** Milliseconds. What is asked has limits of its own; the host is given up on long after them. */
const deadlineMs = 300_000;

/** One host, as it was read last. */
interface Read {
  readonly host: HostSpec;
  readonly facts: Facts;
  readonly connection: HostConnection;
}

type Answers = NonNullable<HostPlan['packages']>;

/** The host's plan before it is announced, with what its package manager says of the package changes in it. */
export function planAsked(read: Read, tools: ApplyTools): Promise<HostPlan> {
  return plan(read, tools, {}, 'planned');
}

/**
 * The same under the lock, where `announced` holds: its answers stand. What nobody could say then is asked again; what
 * still cannot be said, and has nothing before it, runs under the most that was announced of it.
 */
export async function planUnderLock(read: Read, tools: ApplyTools, announced: HostPlan): Promise<HostPlan> {
  const now = await plan(read, tools, announced.packages ?? {}, 'applying');
  if (now.stages.length === 0 || firstStage(now).length > 0) return now;
  return tools.plan(read.facts, read.host, { answers: now.packages ?? {}, final: true });
}

/** One exec asks what is pending and not `known`; none where there is no such thing. */
async function plan(
  { host, facts, connection }: Read,
  tools: ApplyTools,
  known: Answers,
  state: HostState,
): Promise<HostPlan> {
  const question = tools.question?.(facts, host, known);
  if (question === undefined) return tools.plan(facts, host, { answers: known, final: false });
  const text = 'asking what the package changes would do';
  tools.emit({ kind: 'host-state', host: host.name, state: 'asking', text });
  const answers = { ...known, ...(await ask(question, connection, tools)) };
  tools.emit({ kind: 'host-state', host: host.name, state });
  return tools.plan(facts, host, { answers, final: false });
}

async function ask(
  { script, read }: Simulation,
  connection: HostConnection,
  { signal }: ApplyTools,
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
