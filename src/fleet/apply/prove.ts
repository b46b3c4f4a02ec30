import { FleetError, type Problem } from '../../shared/base/errors.ts';
import { valueOf } from '../../shared/base/reading.ts';
import { HostPaths } from '../../shared/contract/paths.ts';
import { releaseOf } from '../../shared/contract/release.ts';
import { agentsOf, imageOverall, poolsInUse } from '../../shared/contract/status.ts';
import { createEngine } from '../../shared/engine/docker.ts';
import type { Checkup } from '../../shared/health/checkup.ts';
import { probeHost } from '../../shared/health/probe.ts';
import type { Verdict } from '../../shared/health/verdict.ts';
import { createManagerClient, type ManagerClient } from '../client/manager-client.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import { seenForProbe, statusOf, unreadProblem, withReport } from '../facts/unread.ts';
import { foldNames } from '../inventory/fold-names.ts';
import { probeOptions } from '../steps/probe.ts';
import type { Waiting } from '../verdict/agents.ts';
import { kindOf, startMs } from '../verdict/causes.ts';
import { judge } from '../verdict/judge.ts';
import type { PoolAgents, HostView } from '../verdict/host-view.ts';
import type { ApplyTools } from './apply-tools.ts';
import { failedBeforeMs, statusWithImages } from './await-manager.ts';
import { readFacts } from './connection.ts';
import { works, type Proof } from './drain.ts';
import { Interrupted } from './outcome.ts';
import type { PoolLists } from './pool-lists.ts';
import type { Survey } from './survey.ts';

/**
 * Proves that a host works: nvidia-smi runs in a container, and its agents are online in the pool with the current configuration. The
 * verdict is that of `status`; the proof waits for it and reports what it waits for. `pools` undefined: no Azure DevOps.
 * `enableAgents` is called once the probe succeeds, before the agents are checked; not if it fails.
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
    const isOk = works(probed.probe.verdict);
    if (isOk) await enableAgents?.();
    doing('its agents, on the host and in the pool');
    const { facts } = probed;
    const verdict = await watch(() => checkAgents(name, probed, pools), { facts, isOk }, name, tools);
    if (verdict.note !== undefined) tools.emit({ kind: 'note', host: name, text: verdict.note });
    return pools === undefined ? { ...verdict, azureAsked: false } : verdict;
  });
}

/** Returns both proofs of a host, for the time after its changes. */
export function proofOf(survey: Survey, pools: PoolLists | undefined, tools: ApplyTools): Proof {
  return {
    probe: () => probeVerdict(survey, tools),
    prove: (enableAgents) => proveHost(survey, pools, tools, enableAgents),
  };
}

/** Reads the manager's current view of its slots, then the server's. */
async function checkAgents(
  host: string,
  { manager, facts, probe }: Probed,
  pools: PoolLists | undefined,
): Promise<Check> {
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
    view: {
      host,
      facts: withReport(facts, { status, release: releaseOf(status) }),
      probe,
      agentsIn: (pool) => agents.get(pool),
      // The manager answered just now, so its report has no age, whatever the clocks show.
      now: Date.parse(status.at),
    },
    problems,
  };
}

const dockerSocket = '/var/run/docker.sock';

/** A host whose GPUs a container has just checked. */
interface Probed {
  readonly manager: ManagerClient;
  readonly facts: GatheredFacts;
  readonly probe: Checkup;
}

/** Runs the first half of the proof: nvidia-smi in a container. Errors are verdicts, too. */
export async function probeVerdict(survey: Survey, tools: ApplyTools): Promise<Verdict> {
  return orVerdict(tools, async () => (await probeNow(survey, tools)).probe.verdict);
}

/** Reads the facts again, which a verdict needs as they are now, and runs the probe container. */
async function probeNow({ host, connection }: Survey, tools: ApplyTools): Promise<Probed> {
  const session = await connection.session();
  const manager = createManagerClient(session.socketAgent(HostPaths.socket), host.name);
  const facts = await readFacts(connection, host, tools);
  const seen = seenForProbe(facts);
  // Without GPUs that it expects, a probe finds none missing.
  if (seen.kind === 'unknown') throw new FleetError(unreadProblem(host.name, seen.unread));
  const status = await statusWithImages(manager, tools);
  const engine = createEngine({ agent: session.socketAgent(dockerSocket) });
  return {
    manager,
    facts,
    probe: await probeHost(engine, probeOptions(host, seen.value, status, Date.parse(status.at))),
  };
}

/** Returns an error of the check as the verdict; throws `Interrupted` if the user stopped the run. */
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
/** Milliseconds for a start, after the end of the agent before. */
const patienceMs = startMs + 20_000;

interface Check {
  readonly view: HostView;
  /** Why pools could not be listed. */
  readonly problems: readonly Problem[];
}

/**
 * Checks until waiting does not help any more, at most two minutes, and reports what it waits for. `facts`: from before the checks. `isOk`
 * is false if the host fails whatever its agents do.
 */
async function watch(
  check: () => Promise<Check>,
  { facts, isOk }: { readonly facts: GatheredFacts; readonly isOk: boolean },
  host: string,
  { clock, sleep, emit }: Pick<ApplyTools, 'clock' | 'sleep' | 'emit'>,
): Promise<Verdict> {
  const wait = { since: clock.monotonic(), limitMs: patienceMs };
  const deadline = wait.since + wait.limitMs;
  const seenReady = new Set<string>();
  let hadFailed = imageHasFailed(facts);
  let alone: number | undefined;
  for (let shown = ''; ;) {
    const { view, problems } = await check();
    const { verdict, waiting } = judge(view);
    hadFailed &&= imageHasFailed(view.facts);
    const others = [...problems.flatMap(poolWaits), ...toWaitFor(waiting, view, seenReady)];
    if (others.length === 0) alone ??= clock.monotonic();
    const looksAgain = hadFailed && clock.monotonic() - (alone ?? clock.monotonic()) < failedBeforeMs;
    const left = [...others, ...(looksAgain ? [imageLook] : [])];
    if (!isOk || left.length === 0) return provenBy(verdict, problems);
    if (clock.monotonic() >= deadline) return provenBy(judge({ ...view, waited: true }).verdict, problems);
    const text = waitingLine(left);
    if (text !== shown) emit({ kind: 'host-state', host, state: 'proving', text, wait });
    shown = text;
    await sleep(pollMs);
  }
}

/** The image failed before the proof, and what made it fail may be repaired. */
const imageLook: Waiting = {
  who: 'the manager',
  why: 'its agent image had failed, and it looks for it again',
  reported: true,
};

function imageHasFailed(facts: GatheredFacts): boolean {
  const status = valueOf(statusOf(facts));
  return status !== undefined && imageOverall(status).state === 'failed';
}

/** Waits for a pool that may be readable later; a problem that only a user can fix is not waited for. */
function poolWaits({ code, what }: Problem): readonly Waiting[] {
  return kindOf(code) === 'permanent' ? [] : [{ who: 'Azure DevOps', why: what, reported: true }];
}

/** Returns the verdict, or the problem of the server: without its view the host is not proven. */
function provenBy(verdict: Verdict, [problem]: readonly Problem[]): Verdict {
  const isWorse = verdict.state !== 'healthy' && verdict.state !== 'degraded';
  return problem === undefined || isWorse ? verdict : verdictOn(problem);
}

/** The most causes that fit beside a host's name. */
const mostCauses = 2;

/**
 * Returns what the proof still has to wait for. An agent that was ready once may be between two jobs now, so only a reported problem
 * undoes its proof. Adds ready agents to `seenReady`, otherwise pure.
 */
function toWaitFor(
  waiting: readonly Waiting[],
  { facts }: Pick<HostView, 'facts'>,
  seenReady: Set<string>,
): readonly Waiting[] {
  const late = new Set(waiting.map(({ who }) => who));
  for (const { agent } of valueOf(statusOf(facts))?.slots ?? []) if (!late.has(agent)) seenReady.add(agent);
  return waiting.filter(({ who, reported }) => reported || !seenReady.has(who));
}

/** Formats `waiting for h1-0, h1-1: is still starting; h1-2: its name is held …`. Pure. */
export function waitingLine(waiting: readonly Waiting[]): string {
  const causes = [...Map.groupBy(waiting, ({ why }) => why)].map(
    ([why, all]) => `${foldNames(all.map(({ who }) => who))}: ${why}`,
  );
  const more = causes.length > mostCauses ? `; and ${causes.length - mostCauses} more` : '';
  return `waiting for ${causes.slice(0, mostCauses).join('; ')}${more}`;
}
