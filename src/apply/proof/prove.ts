import { FleetError } from '../../base/errors.ts';
import { HostPaths } from '../../contract/paths.ts';
import { drainEnd, drainLine } from '../../contract/drain.ts';
import type { ManagerStatus, SlotStatus } from '../../contract/status.ts';
import { createEngine } from '../../engine/docker.ts';
import { probeHost } from '../../health/probe.ts';
import type { Verdict } from '../../health/verdict.ts';
import { probeOptions } from '../../steps/probe.ts';
import type { AgentsOnline } from './agents-online.ts';
import { createManagerClient } from '../../client/manager-client.ts';
import { drainsOfRuns } from '../drain.ts';
import { readFacts, type Survey } from '../survey.ts';
import type { ApplyTools } from '../apply-tools.ts';

const dockerSocket = '/var/run/docker.sock';
/** An agent needs about ten seconds from its container's start until it listens; several start at once. */
const onlineTimeoutMs = 90_000;
const pollMs = 1000;

/** The proof that a host works: nvidia-smi in a container, then its agents online in the pool. */
export async function proveHost(
  survey: Survey,
  online: AgentsOnline | undefined,
  tools: ApplyTools,
): Promise<Verdict> {
  const { host, connection, plan } = survey;
  tools.emit({ kind: 'host-state', host: host.name, state: 'proving' });
  try {
    const session = await connection.session();
    const manager = createManagerClient(session.socketAgent(HostPaths.socket), host.name);
    const facts = plan.stages.length === 0 ? survey.facts : await readFacts(connection, host, tools);
    const status = await manager.status();
    const engine = createEngine({ agent: session.socketAgent(dockerSocket) });
    const { verdict } = await probeHost(engine, probeOptions(host, facts, status.image.reference));
    const working = verdict.state === 'healthy' || verdict.state === 'degraded';
    if (!working) return verdict;
    const drained = judgeDrains(status);
    if (drained !== undefined || online === undefined) return drained ?? verdict;
    return (await agentsVerdict(() => manager.status(), online, tools)) ?? verdict;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const { code, what, seen, next = 'run "azp-fleet status" for more' } = error.problem;
    const state = code.startsWith('ssh.') ? 'unreachable' : 'failed';
    return { state, cause: seen === undefined ? what : `${what}: ${seen}`, next };
  }
}

/** Waits for the agents that the manager keeps. Undefined when all are there. */
async function agentsVerdict(
  status: () => Promise<ManagerStatus>,
  online: AgentsOnline,
  tools: Pick<ApplyTools, 'clock' | 'sleep'>,
): Promise<Verdict | undefined> {
  const deadline = tools.clock.monotonic() + onlineTimeoutMs;
  for (;;) {
    const seen = await status();
    const pools = [...new Set(seen.slots.map((slot) => poolOf(slot, seen)))];
    const shown = await Promise.all(pools.map(async (pool) => [pool, await online.of(pool)] as const));
    const verdict = judgeAgents(seen, new Map(shown));
    if (verdict === undefined || tools.clock.monotonic() >= deadline) return verdict;
    await tools.sleep(pollMs);
  }
}

/** Agents that a run of `provision` keeps from working once ours is over. Undefined: there are none. Pure. */
export function judgeDrains(status: ManagerStatus): Verdict | undefined {
  const [left] = drainsOfRuns(status);
  return left && { state: 'degraded', cause: drainLine(left), next: drainEnd(left) };
}

/** The pool of a slot's agent; a manager that tells of one only has all there. */
function poolOf({ pool }: SlotStatus, status: ManagerStatus): string {
  return pool ?? status.pool.name;
}

/** Compares what the manager keeps with who is online in each pool. Undefined when all is well. Pure. */
export function judgeAgents(
  status: ManagerStatus,
  online: ReadonlyMap<string, ReadonlySet<string>>,
): Verdict | undefined {
  const [problem] = status.problems;
  if (problem !== undefined) return { state: 'failed', cause: problem.what, next: problem.next };
  if (status.drained) return undefined;
  const missing = status.slots.filter((slot) => online.get(poolOf(slot, status))?.has(slot.agent) !== true);
  const [first] = missing;
  if (first === undefined) return undefined;
  const pools = Map.groupBy(missing, (slot) => poolOf(slot, status));
  const cause = [...pools]
    .map(([pool, slots]) => `not online in pool ${pool}: ${slots.map(({ agent }) => agent).join(', ')}`)
    .join('; ');
  const reason = first.cause === undefined ? '' : ` (${first.cause})`;
  return {
    state: missing.length === status.slots.length ? 'failed' : 'degraded',
    cause: `${cause}${reason}`,
    next: first.next ?? 'look at `journalctl -u azp-fleet-manager` on the host',
  };
}
