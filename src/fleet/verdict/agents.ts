import type { AgentsIn } from './host-view.ts';
import { judgeSlot, type SlotVerdict } from './slot.ts';
import type { ManagerStatus } from '../../shared/contract/status.ts';
import { quote } from '../../shared/base/shell.ts';
import { finding } from '../../shared/health/findings.ts';
import type { Finding } from '../../shared/health/verdict.ts';

/** A problem that may end without a fix. */
export interface Waiting {
  /** An agent, or `the manager`. */
  readonly who: string;
  readonly why: string;
  /** It is a finding already. */
  readonly reported: boolean;
}

interface AgentsVerdict {
  readonly findings: readonly Finding[];
  readonly waiting: readonly Waiting[];
  /** One line: agents with jobs that began before the last change, and these jobs. */
  readonly note?: string;
}

interface Judged {
  readonly agent: string;
  readonly job: string | undefined;
  readonly verdict: SlotVerdict;
  readonly isDrained: boolean;
}

/** Returns the findings about a host's agents; agents with the same cause share one. Pure. */
export function agentsVerdict(
  status: ManagerStatus,
  context: { readonly agentsIn: AgentsIn; readonly waited: boolean; readonly hostHasProblem: boolean },
): AgentsVerdict {
  const judged = status.slots.map((slot): Judged => {
    const agents = context.agentsIn(slot.pool ?? status.pool.name);
    const verdict = judgeSlot(slot, { ...context, status, agents });
    return { agent: slot.agent, job: slot.job, verdict, isDrained: slot.state === 'drained' };
  });
  const jobs = judged.filter(({ verdict }) => verdict.kind === 'older-job');
  const note =
    jobs.length === 0
      ? undefined
      : `running a job from before the last change: ${jobs.map(({ agent, job }) => (job === undefined ? agent : `${agent} (${job})`)).join(', ')}`;
  return {
    findings: [
      ...troubles(judged),
      ...unreported(judged, status.version),
      ...(note === undefined ? [] : [finding('agents.older-job', note)]),
    ],
    waiting: judged.flatMap(({ agent, verdict }) =>
      verdict.kind === 'trouble' && verdict.temporary
        ? [{ who: agent, why: verdict.what, reported: verdict.reported }]
        : [],
    ),
    ...(note === undefined ? {} : { note }),
  };
}

function troubles(judged: readonly Judged[]): readonly Finding[] {
  const reported = judged.flatMap(({ agent, verdict }) =>
    verdict.kind === 'trouble' && verdict.reported ? [{ agent, ...verdict }] : [],
  );
  const broken = reported.filter(({ mayWork }) => mayWork !== true);
  const all = broken.length === judged.filter(({ isDrained }) => !isDrained).length;
  const groups = Map.groupBy(reported, ({ code, what }) => `${code} ${what}`);
  return [...groups.values()].flatMap((group): Finding[] => {
    const [first] = group;
    if (first === undefined) return [];
    const { code, what, next } = first;
    const agents = group.map(({ agent }) => agent);
    const severity = all && code !== 'agents.disabled' ? 'fail' : 'warn';
    const named = next.replaceAll(/\bAGENT\b/g, () => agents.map(quote).join(' '));
    return [{ code, agents, severity, what: withAgentNames(agents, what), next: named }];
  });
}

function unreported(judged: readonly Judged[], version: string): readonly Finding[] {
  const names = judged.filter(({ verdict }) => verdict.kind === 'unreported').map(({ agent }) => agent);
  if (names.length === 0) return [];
  const what = `${names.join(', ')}: unknown whether the current configuration is in effect: the manager (${version}) does not report the configuration of its agents`;
  return [finding('agents.untold', what, { agents: names })];
}

/** Returns the text with the agents' names before it, unless it has the name of the only agent. Pure. */
export function withAgentNames(agents: readonly string[], what: string): string {
  const words = what.split(/[\s,:;]/u);
  const isNamed = agents.length === 1 && agents.every((agent) => words.includes(agent));
  return isNamed ? what : `${agents.join(', ')}: ${what}`;
}
