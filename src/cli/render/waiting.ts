import { foldNames } from '../../fleet/inventory/fold-names.ts';
import { ageText } from '../../fleet/verdict/sources.ts';
import { demandedVersion } from '../../fleet/waiting/demands.ts';
import type {
  AgentReport,
  Cause,
  JobReport,
  JobState,
  QueuedJob,
  WaitingReport,
} from '../../fleet/waiting/report.ts';
import { minuteOf } from '../../shared/contract/drain.ts';
import type { Paint, Style } from './color.ts';
import { count, wrap, wrapNext } from './lines.ts';
import { columns } from './table.ts';

interface Page {
  readonly width: number;
  readonly paint: Paint;
  /** Milliseconds. */
  readonly now: number;
}

/** Agents of one cause that are shown, and jobs of a queue. */
const mostAgents = 5;
const mostQueued = 20;
/** Columns before the text of a labelled line. */
const indent = 12;

/** Returns why a build waits: each job with its causes and their next actions, then what is not known. */
export function waitingText(report: WaitingReport, page: Page): string {
  const { jobs, causes, queue, unknown } = report;
  const groups = Map.groupBy(jobs, ({ pool, state, agent, demands, causes: each }) =>
    JSON.stringify([pool, state, agent, demands, each]),
  );
  const lines = [
    ...heading(report, page),
    ...causes.flatMap((cause) => causeLines(cause, page)),
    ...[...groups.values()].flatMap((group) => jobLines(group, page)),
    ...queueLines(queue, page),
    ...unknown.flatMap(({ what, why }) => marked(['dim', '–'], `${what}: ${why}`, page)),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function heading({ build }: WaitingReport, page: Page): string[] {
  const { id, name, pipeline, project, status, result } = build;
  const number = name === undefined || name === String(id) ? `build ${id}` : `build ${name} (${id})`;
  const of = pipeline === undefined ? '' : ` of ${pipeline}`;
  const where = project === undefined ? '' : ` in project ${project}`;
  const said = result ?? status;
  const state = said === undefined ? '' : `: ${words.get(said) ?? said}`;
  return wrap(`${number}${of}${where}${state}`, page.width - 1, 0, 2).map((line, at) =>
    at === 0 ? page.paint('bold', line) : line,
  );
}

/** The service's names of states, in words. */
const words: ReadonlyMap<string, string> = new Map([
  ['notStarted', 'not started'],
  ['inProgress', 'in progress'],
  ['partiallySucceeded', 'succeeded with issues'],
]);

function jobLines(group: readonly JobReport[], page: Page): string[] {
  const [first, ...others] = group;
  if (first === undefined) return [];
  const { pool, demands, causes, agent } = first;
  const names = foldNames(group.map(({ name }) => name));
  const who = others.length === 0 ? `job ${names}` : `${count(group.length, 'job')} ${names}`;
  const onAgent = agent === undefined ? '' : ` on agent ${agent}`;
  const text = `${who} in pool ${pool}: ${stateText(first, others.length === 0, page.now)}${onAgent}`;
  return [
    ...marked(markOf(first), text, page),
    ...(causes.length === 0 ? [] : labelled('demands', demands.filter(isOwn).join(', '), page)),
    ...causes.flatMap((cause) => causeLines(cause, page)),
  ];
}

/** Azure DevOps demands a version for every job; where that matters, the cause names it. */
function isOwn(demand: string): boolean {
  return demandedVersion(demand) === undefined;
}

function stateText({ state, queuedAt, ahead, causes }: JobReport, isOne: boolean, now: number): string {
  const age = ageOf(queuedAt, now);
  const longer = ahead === undefined ? '' : `; ${count(ahead, 'job')} before it`;
  if (state === 'waiting') {
    const unclear = causes.length === 0 ? ', for a reason that could not be read' : '';
    return `${isOne ? 'waits' : 'wait'}${age === undefined ? '' : ` for ${age}`}${longer}${unclear}`;
  }
  if (state === 'sent') return 'sent';
  return age === undefined || state !== 'running' ? state : `running, queued ${age} ago`;
}

function ageOf(at: string | undefined, now: number): string | undefined {
  const ms = now - Date.parse(at ?? '');
  return Number.isNaN(ms) ? undefined : ageText(Math.max(0, ms) / 1000);
}

/** Causes that end without a fix. */
const passing: ReadonlySet<string> = new Set([
  'waiting.busy',
  'waiting.starting',
  'waiting.not-queued',
  'waiting.unexplained',
]);

type Mark = readonly [Style, string];

const fine: ReadonlySet<JobState> = new Set(['running', 'succeeded']);

function markOf({ state, causes }: JobReport): Mark {
  if (fine.has(state)) return ['green', '✔'];
  if (state === 'failed at once' || causes.some(({ code }) => !passing.has(code))) return ['red', '✗'];
  return state === 'waiting' ? ['yellow', '!'] : ['dim', '·'];
}

function causeLines({ code, what, next, agents = [], isPossible }: Cause, page: Page): string[] {
  const passes: Mark = passing.has(code) ? ['yellow', '!'] : ['red', '✗'];
  const mark: Mark = isPossible === true ? ['yellow', '?'] : passes;
  const text = `${isPossible === true ? 'possible: ' : ''}${what} [${code}]`;
  const more = agents.length - mostAgents;
  return [
    ...marked(mark, text, page),
    ...agents.slice(0, mostAgents).flatMap((agent) => agentLines(agent, page)),
    ...(more > 0 ? [`    … ${count(more, 'more agent')}`] : []),
    ...labelled('next', next, page),
  ];
}

function agentLines(agent: AgentReport, { width }: Page): string[] {
  return wrap(`${agent.agent}: ${agentText(agent)}`, width - 1, 4, 6).map((line, at) =>
    at === 0 ? `    ${line}` : line,
  );
}

/** Returns what an agent does, or which demands it does not meet. */
function agentText({ state, since, job, build, why, lacks }: AgentReport): string {
  if (lacks !== undefined) {
    const missing = lacks.map(({ demand, has }) =>
      has === undefined ? demand : `${demand} (it has ${has})`,
    );
    return `lacks ${missing.join(', ')}; ${state}`;
  }
  const at = minuteOf(since ?? '');
  const from = at === undefined ? '' : ` since ${at}`;
  if (job !== undefined) return `runs ${job}${build === undefined ? '' : ` (build ${build})`}${from}`;
  // The note of a drain says both.
  if (why?.includes(state) === true) return why;
  return `${state}${from}${why === undefined ? '' : `: ${why}`}`;
}

function queueLines(queue: readonly QueuedJob[], page: Page): string[] {
  if (queue.length === 0) return [];
  const rows = queue.slice(0, mostQueued).map(({ pool, build, pipeline, job, state, queuedAt }) => {
    const age = ageOf(queuedAt, page.now);
    return [String(build), pool, pipeline ?? '-', job, state, age === undefined ? '-' : `${age} ago`];
  });
  const more = queue.length - mostQueued;
  return [
    'queued:',
    ...columns([['BUILD', 'POOL', 'PIPELINE', 'JOB', 'STATE', 'QUEUED'], ...rows], page.width),
    ...(more > 0 ? [`… ${count(more, 'more job')}`] : []),
  ];
}

function marked([style, mark]: Mark, text: string, { width, paint }: Page): string[] {
  return wrap(text, width - 1, 2, 2).map((line, at) => (at === 0 ? `${paint(style, mark)} ${line}` : line));
}

function labelled(label: string, text: string, { width, paint }: Page): string[] {
  if (text === '') return [];
  const broken = label === 'next' ? wrapNext(text, width - 1, indent) : wrap(text, width - 1, indent, indent);
  return broken.map((line, at) => (at === 0 ? `  ${paint('dim', label.padEnd(indent - 2))}${line}` : line));
}
