import { foldNames } from '../../fleet/inventory/fold-names.ts';
import type { JobsView } from '../../fleet/status/row.ts';
import { shortGpu } from '../../shared/health/checkup.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import { alike, hostLabel } from './alike.ts';
import type { Paint, Style } from './color.ts';
import { count, wrap } from './lines.ts';

/** A problem with its fix, on one or more hosts. */
export interface Trouble {
  /** Host or file names. */
  readonly places: readonly string[];
  readonly severity: Finding['severity'];
  readonly what: string;
  readonly next: string;
  /** The argument of `azp-fleet explain`. */
  readonly code?: string;
}

export function hostProblem(place: string, { code, gpu, severity, what, next }: Finding): Trouble {
  const about = gpu === undefined ? what : `${shortGpu(gpu)}: ${what}`;
  return { places: [place], severity, what: about, next, code };
}

/** Merges equal problems of several places. */
export function merged(troubles: readonly Trouble[]): readonly Trouble[] {
  const values = troubles.flatMap(({ places, ...value }) => places.map((host) => ({ host, value })));
  return alike(values).map(({ hosts, value }) => ({
    ...value,
    next: forHosts(value.next, hosts),
    places: hosts,
  }));
}

/** Returns the next action with the names of all its hosts in its command. */
export function forHosts(next: string, hosts: readonly string[]): string {
  const names = foldNames(hosts).replaceAll(', ', ' ');
  return next.replaceAll(
    /(azp-fleet (?:[a-z-]+ )+)\{host\}(?![\w.-])/g,
    (_, command: string) => command + names,
  );
}

const marks: Readonly<Record<Finding['severity'], readonly [Style, string]>> = {
  info: ['dim', '·'],
  warn: ['yellow', '!'],
  fail: ['red', '✗'],
};

export function troubleLines(
  { places, severity, what, next, code }: Trouble,
  { width, paint }: { readonly width: number; readonly paint: Paint },
): string[] {
  const [style, mark] = marks[severity];
  const { label: place, names } = hostLabel(places);
  const [first = '', ...more] = wrap(
    `${place}: ${what}${code === undefined ? '' : ` [${code}]`}`,
    width - 1,
    2,
    2,
  );
  const head = first.startsWith(place) ? paint('bold', place) + first.slice(place.length) : first;
  const labelled = (label: string, text: string) =>
    wrap(text, width - 1, label.length + 4, label.length + 4).map((line, index) =>
      index === 0 ? `  ${paint('dim', label)}  ${line}` : line,
    );
  return [
    `${paint(style, mark)} ${head}`,
    ...more,
    ...(names === undefined ? [] : labelled('hosts', names)),
    ...(next === '' ? [] : labelled('next', next)),
  ];
}

/** Returns `8 agents, 1 permitted parallel job`, the consequence, and where to change it. */
export function jobsTrouble({ agents, permitted, used }: JobsView, organization: string): Trouble {
  const inUse = used === undefined ? '' : `, ${used} in use`;
  const what = `${count(agents, 'agent')}, ${count(permitted, 'permitted parallel job')} of private projects${inUse}`;
  const places = ['Azure DevOps'];
  if (agents <= permitted) return { places, severity: 'info', what, next: '' };
  const works = permitted === 0 ? 'no agent gets a job' : `only ${permitted} of them can run jobs at a time`;
  return {
    places,
    severity: 'warn',
    what: `${what}: ${works}, other jobs wait`,
    next: `buy self-hosted parallel jobs, or check what uses them: Organization settings > Parallel jobs (${organization}/_settings/buildqueue)`,
  };
}
