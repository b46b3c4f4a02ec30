import { FleetError } from '../base/errors.ts';
import { HostPaths } from '../contract/paths.ts';
import { drainEnd, drainLine } from '../contract/drain.ts';
import type { ManagerStatus } from '../contract/status.ts';
import { createEngine } from '../engine/docker.ts';
import { probeHost } from '../health/probe.ts';
import type { Verdict } from '../health/verdict.ts';
import { probeOptions } from '../steps/probe.ts';
import type { AgentsOnline } from './agents-online.ts';
import { createManagerClient } from '../client/manager-client.ts';
import { drainsOfRuns } from './drain.ts';
import { readFacts, type Survey } from './survey.ts';
import type { ApplyTools } from './apply-tools.ts';

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
    return (await agentsVerdict(host.pool, () => manager.status(), online, tools)) ?? verdict;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const { code, what, seen, next = 'run "azp-fleet status" for more' } = error.problem;
    const state = code.startsWith('ssh.') ? 'unreachable' : 'failed';
    return { state, cause: seen === undefined ? what : `${what}: ${seen}`, next };
  }
}

/** Waits for the agents that the manager keeps. Undefined when all are there. */
async function agentsVerdict(
  pool: string,
  status: () => Promise<ManagerStatus>,
  online: AgentsOnline,
  tools: Pick<ApplyTools, 'clock' | 'sleep'>,
): Promise<Verdict | undefined> {
  const deadline = tools.clock.monotonic() + onlineTimeoutMs;
  for (;;) {
    const seen = await status();
    const verdict = judgeAgents(pool, seen, await online.of(pool));
    if (verdict === undefined || tools.clock.monotonic() >= deadline) return verdict;
    await tools.sleep(pollMs);
  }
}

/** Agents that a run of `provision` keeps from working once ours is over. Undefined: there are none. Pure. */
export function judgeDrains(status: ManagerStatus): Verdict | undefined {
  const [left] = drainsOfRuns(status);
  return left && { state: 'degraded', cause: drainLine(left), next: drainEnd(left) };
}

/** Compares what the manager keeps with what the pool shows. Undefined when all is well. Pure. */
export function judgeAgents(
  pool: string,
  status: ManagerStatus,
  online: ReadonlySet<string>,
): Verdict | undefined {
  const [problem] = status.problems;
  if (problem !== undefined) return { state: 'failed', cause: problem.what, next: problem.next };
  if (status.drained) return undefined;
  const missing = status.slots.filter(({ agent }) => !online.has(agent));
  const [first] = missing;
  if (first === undefined) return undefined;
  const names = missing.map(({ agent }) => agent).join(', ');
  const reason = first.cause === undefined ? '' : ` (${first.cause})`;
  return {
    state: missing.length === status.slots.length ? 'failed' : 'degraded',
    cause: `not online in pool ${pool}: ${names}${reason}`,
    next: first.next ?? 'look at `journalctl -u azp-fleet-manager` on the host',
  };
}
