import { FleetError, type Problem } from '../../shared/base/errors.ts';
import { HostPaths } from '../../shared/contract/paths.ts';
import { releaseOf } from '../../shared/contract/release.ts';
import { agentsOf, poolsInUse } from '../../shared/contract/status.ts';
import { createEngine } from '../../shared/engine/docker.ts';
import type { Checkup } from '../../shared/health/checkup.ts';
import { probeHost } from '../../shared/health/probe.ts';
import type { Verdict } from '../../shared/health/verdict.ts';
import { createManagerClient, type ManagerClient } from '../client/manager-client.ts';
import type { Facts } from '../facts/facts.ts';
import { foldNames } from '../inventory/fold-names.ts';
import { probeOptions } from '../steps/probe.ts';
import type { Waiting } from '../verdict/agents.ts';
import { kindOf, startMs } from '../verdict/causes.ts';
import { judge } from '../verdict/judge.ts';
import type { PoolAgents, HostView } from '../verdict/host-view.ts';
import type { ApplyTools } from './apply-tools.ts';
import { readFacts } from './connection.ts';
import { works, type Proof } from './drain.ts';
import { Interrupted } from './outcome.ts';
import type { PoolLists } from './pool-lists.ts';
import type { Survey } from './survey.ts';

/**
 * The proof that a host works: nvidia-smi in a container, and its agents, made from the present configuration, online in
 * the pool. What is well is decided where `status` has it from; here it is waited for, and what for is told.
 * `pools` undefined: Azure DevOps is not asked. `enableAgents` is called once the probe is well, before the agents are looked
 * at, and not at all where it is not.
 */
export async function proveHost(
  survey: Survey,
  pools: PoolLists | undefined,
  tools: ApplyTools,
  enableAgents?: () => Promise<void>,
): Promise<Verdict> {
  const { name } = survey.host;
  tools.emit({ kind: 'host-state', host: name, state: 'proving' });
  const doing = (line: string) => tools.emit({ kind: 'change-output', host: name, id: 'proof', line });
  return orVerdict(tools, async () => {
    doing('nvidia-smi in a container');
    const probed = await probeNow(survey, tools);
    const isWell = works(probed.probe.verdict);
    if (isWell) await enableAgents?.();
    doing('its agents, on the host and in the pool');
    const verdict = await watch(() => checkAgain(probed, pools), isWell, name, tools);
    if (verdict.note !== undefined) tools.emit({ kind: 'note', host: name, text: verdict.note });
    return pools === undefined ? { ...verdict, azureAsked: false } : verdict;
  });
}

/** Both ways to prove a host, for when its changes are made. */
export function proofOf(survey: Survey, pools: PoolLists | undefined, tools: ApplyTools): Proof {
  return {
    probe: () => probeVerdict(survey, tools),
    prove: (enableAgents) => proveHost(survey, pools, tools, enableAgents),
  };
}

/** The manager's view of its slots as of now, then the server's. */
async function checkAgain({ manager, facts, probe }: Probed, pools: PoolLists | undefined): Promise<Look> {
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

const dockerSocket = '/var/run/docker.sock';

/** A host whose GPUs a container has just checked. */
interface Probed {
  readonly manager: ManagerClient;
  readonly facts: Facts;
  readonly probe: Checkup;
}

/** The first half of the proof: nvidia-smi in a container. Errors are verdicts, too. */
export async function probeVerdict(survey: Survey, tools: ApplyTools): Promise<Verdict> {
  return orVerdict(tools, async () => (await probeNow(survey, tools)).probe.verdict);
}

/** Reads the facts again where something was changed, and runs the probe container. */
async function probeNow({ host, connection, plan, facts }: Survey, tools: ApplyTools): Promise<Probed> {
  const session = await connection.session();
  const manager = createManagerClient(session.socketAgent(HostPaths.socket), host.name);
  const now = plan.stages.length === 0 ? facts : await readFacts(connection, host, tools);
  const { image } = await manager.status();
  const engine = createEngine({ agent: session.socketAgent(dockerSocket) });
  return {
    manager,
    facts: now,
    probe: await probeHost(engine, probeOptions(host, now, image.digest ?? image.reference)),
  };
}

/** What keeps a host from being looked at is the verdict on it; `Interrupted` where somebody does. */
async function orVerdict(
  { signal }: Pick<ApplyTools, 'signal'>,
  work: () => Promise<Verdict>,
): Promise<Verdict> {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) throw new Interrupted({ during: 'proof' }, error);
    if (!(error instanceof FleetError)) throw error;
    return verdictOn(error.problem);
  }
}

function verdictOn({ code, what, seen, next = 'run "azp-fleet status" for more' }: Problem): Verdict {
  const state = code.startsWith('ssh.') ? 'unreachable' : 'failed';
  return { state, cause: seen === undefined ? what : `${what}: ${seen}`, next };
}

const pollMs = 1000;
/** What a start may take, after the end of the agent that was there before. */
const patienceMs = startMs + 20_000;

interface Look {
  readonly sight: HostView;
  /** Why pools could not be listed. */
  readonly problems: readonly Problem[];
}

/**
 * Looks until nothing may become well by waiting, within two minutes, and tells what is waited for. `patient`: false where
 * the host fails whatever its agents do.
 */
async function watch(
  look: () => Promise<Look>,
  patient: boolean,
  host: string,
  { clock, sleep, emit }: Pick<ApplyTools, 'clock' | 'sleep' | 'emit'>,
): Promise<Verdict> {
  const wait = { since: clock.monotonic(), limitMs: patienceMs };
  const deadline = wait.since + wait.limitMs;
  const seenWell = new Set<string>();
  for (let said = ''; ;) {
    const { sight, problems } = await look();
    const { verdict, waiting } = judge(sight);
    const left = [...problems.flatMap(poolWaits), ...toWaitFor(waiting, sight, seenWell)];
    if (!patient || left.length === 0) return provenBy(verdict, problems);
    if (clock.monotonic() >= deadline) return provenBy(judge({ ...sight, waited: true }).verdict, problems);
    const text = waitingLine(left);
    if (text !== said) emit({ kind: 'host-state', host, state: 'proving', text, wait });
    said = text;
    await sleep(pollMs);
  }
}

/** A pool that cannot be asked may answer later, but for what a person has to mend. */
function poolWaits({ code, what }: Problem): readonly Waiting[] {
  return kindOf(code) === 'permanent' ? [] : [{ who: 'Azure DevOps', why: what, reported: true }];
}

/** Without the server's word nothing is proven. */
function provenBy(verdict: Verdict, [problem]: readonly Problem[]): Verdict {
  const isWorse = verdict.state !== 'healthy' && verdict.state !== 'degraded';
  return problem === undefined || isWorse ? verdict : verdictOn(problem);
}

/** So many causes fit beside a host's name. */
const shown = 2;

/**
 * What the proof still has to wait for. An agent that has been well once may be between two jobs now: what has not been
 * wrong for long enough to be told does not undo its proof. Notes in `seenWell` who is. Pure but for that.
 */
function toWaitFor(
  waiting: readonly Waiting[],
  { facts: { manager } }: Pick<HostView, 'facts'>,
  seenWell: Set<string>,
): readonly Waiting[] {
  const late = new Set(waiting.map(({ who }) => who));
  for (const { agent } of manager.status?.slots ?? []) if (!late.has(agent)) seenWell.add(agent);
  return waiting.filter(({ who, reported }) => reported || !seenWell.has(who));
}

/** `waiting for h1-0, h1-1: is still starting; h1-2: its name is held …`. Pure. */
export function waitingLine(waiting: readonly Waiting[]): string {
  const causes = [...Map.groupBy(waiting, ({ why }) => why)].map(
    ([why, all]) => `${foldNames(all.map(({ who }) => who))}: ${why}`,
  );
  const more = causes.length > shown ? `; and ${causes.length - shown} more` : '';
  return `waiting for ${causes.slice(0, shown).join('; ')}${more}`;
}
