import type { AgentsIn } from './sight.ts';
import { judgeSlot, type SlotVerdict } from './slot.ts';
import type { ManagerStatus } from '../../shared/contract/status.ts';
import type { Finding } from '../../shared/health/verdict.ts';

/** Something that may become well by itself. */
export interface Waiting {
  /** An agent, or `the manager`. */
  readonly who: string;
  readonly why: string;
  /** It counts as wrong already. */
  readonly told: boolean;
}

interface AgentsVerdict {
  readonly findings: readonly Finding[];
  readonly waiting: readonly Waiting[];
  /** Agents whose jobs began before the last change, with the jobs; one line. */
  readonly note?: string;
}

interface Judged {
  readonly agent: string;
  readonly job: string | undefined;
  readonly verdict: SlotVerdict;
  /** Nobody wants it to work now. */
  readonly isKept: boolean;
}

/** What is wrong with a host's agents, equal causes told once. Pure. */
export function agentsVerdict(
  status: ManagerStatus,
  scene: { readonly agentsIn: AgentsIn; readonly waited: boolean; readonly isHostHeld: boolean },
): AgentsVerdict {
  const judged = status.slots.map((slot): Judged => {
    const agents = scene.agentsIn(slot.pool ?? status.pool.name);
    const verdict = judgeSlot(slot, { ...scene, status, agents });
    return { agent: slot.agent, job: slot.job, verdict, isKept: slot.state === 'drained' };
  });
  const jobs = judged.filter(({ verdict }) => verdict.kind === 'older-job');
  const note =
    jobs.length === 0
      ? undefined
      : `running a job from before the last change: ${jobs.map(({ agent, job }) => (job === undefined ? agent : `${agent} (${job})`)).join(', ')}`;
  return {
    findings: [
      ...troubles(judged),
      ...untold(judged, status.version),
      ...(note === undefined ? [] : [olderJobs(note)]),
    ],
    waiting: judged.flatMap(({ agent, verdict }) =>
      verdict.kind === 'trouble' && verdict.passing
        ? [{ who: agent, why: verdict.what, told: verdict.told }]
        : [],
    ),
    ...(note === undefined ? {} : { note }),
  };
}

function troubles(judged: readonly Judged[]): readonly Finding[] {
  const told = judged.flatMap(({ agent, verdict }) =>
    verdict.kind === 'trouble' && verdict.told ? [{ agent, ...verdict }] : [],
  );
  const all = told.length === judged.filter(({ isKept }) => !isKept).length;
  const groups = Map.groupBy(told, ({ code, what }) => `${code} ${what}`);
  return [...groups.values()].flatMap((group): Finding[] => {
    const [first] = group;
    if (first === undefined) return [];
    const { code, what, next } = first;
    const agents = group.map(({ agent }) => agent);
    const severity = all && code !== 'agents.disabled' ? 'fail' : 'warn';
    return [{ code, agents, severity, what: saidOf(agents, what), next }];
  });
}

function untold(judged: readonly Judged[], version: string): readonly Finding[] {
  const names = judged.filter(({ verdict }) => verdict.kind === 'untold').map(({ agent }) => agent);
  if (names.length === 0) return [];
  return [
    {
      code: 'agents.untold',
      agents: names,
      severity: 'warn',
      what: `${names.join(', ')}: cannot tell whether the present configuration is in effect: the manager (${version}) does not say what its agents were made from`,
      next: 'run `azp-fleet provision`, which brings the manager to the version of this program',
    },
  ];
}

function olderJobs(what: string): Finding {
  return {
    code: 'agents.older-job',
    severity: 'info',
    what,
    next: 'no action needed: their next agents use the present configuration',
  };
}

/** What is wrong with these agents, named where the text does not do it. Pure. */
export function saidOf(agents: readonly string[], what: string): string {
  const words = what.split(/[\s,:;]/u);
  const isNamed = agents.length === 1 && agents.every((agent) => words.includes(agent));
  return isNamed ? what : `${agents.join(', ')}: ${what}`;
}
