import { usageError, type FleetError } from '../base/errors.ts';
import { foreignLine } from '../base/foreign-text.ts';

/** The build that a person names, and the job of it if the address is that of a job's page. */
export interface BuildAddress {
  readonly build: number;
  /** Name or id of the project; undefined: only the number was given. */
  readonly project?: string;
  /** Id of the job's record in the timeline: `j=`. */
  readonly job?: string;
}

/** An organization and what follows it in an address. */
interface Place {
  /** Equal for all addresses of one organization. */
  readonly organization: string;
  readonly rest: readonly string[];
}

const guid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/**
 * Parses the number of a build, `vstfs:///Build/Build/ID`, or the address of one of its pages: `_build/results?buildId=ID`
 * with any other parameters, and `_apis/build/builds/ID`, on dev.azure.com, ORG.visualstudio.com and Azure DevOps Server.
 * `organization`: what `organizationUrl` returns. Throws a usage error for anything else, and for a build elsewhere. Pure.
 */
export function buildAddress(text: string, organization: string): BuildAddress {
  const given = text.trim();
  const [, number] = /^(?:#|vstfs:\/\/\/build\/build\/)?([1-9]\d{0,9})$/i.exec(given) ?? [];
  if (number !== undefined) return { build: Number(number) };
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') throw notABuild(given);
  const own = placeOf(new URL(organization), 0);
  const place = placeOf(url, new URL(organization).pathname.split('/').filter(Boolean).length);
  const build = buildIn(url, place.rest);
  if (build === undefined) throw notABuild(given);
  if (place.organization !== own.organization) throw elsewhere(url, organization);
  const [project = ''] = place.rest;
  const job = parameter(url, 'j');
  return {
    build,
    ...(project === '' || project.startsWith('_') ? {} : { project: foreignLine(project, 256) }),
    ...(job !== undefined && guid.test(job) ? { job: job.toLowerCase() } : {}),
  };
}

/** `depth`: how many segments an Azure DevOps Server has before the project; 0: all. */
function placeOf(url: URL, depth: number): Place {
  const segments = url.pathname.split('/').filter(Boolean).map(decoded);
  const host = url.hostname.toLowerCase();
  if (host === 'dev.azure.com') {
    const [name = '', ...rest] = segments;
    return { organization: name.toLowerCase(), rest };
  }
  if (host.endsWith('.visualstudio.com')) {
    const rest = segments[0]?.toLowerCase() === 'defaultcollection' ? segments.slice(1) : segments;
    return { organization: host.slice(0, -'.visualstudio.com'.length), rest };
  }
  const own = depth === 0 ? segments : segments.slice(0, depth);
  // People open a server by its short name, too.
  const server = /^[\d.]+$|:/.test(host) ? url.host : (host.split('.')[0] ?? host);
  return {
    organization: [`//${server}`, ...own].join('/').toLowerCase(),
    rest: segments.slice(own.length),
  };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function buildIn(url: URL, rest: readonly string[]): number | undefined {
  const path = rest.join('/');
  const [, inPath] = /(?:^|\/)_apis\/build\/builds\/(\d{1,10})(?:\/|$)/i.exec(path) ?? [];
  const onPage = /(?:^|\/)_build(?:\/|$)/i.test(path) ? parameter(url, 'buildid') : undefined;
  const text = inPath ?? onPage ?? '';
  return /^[1-9]\d{0,9}$/.test(text) ? Number(text) : undefined;
}

/** Azure DevOps ignores the case of names. */
function parameter({ searchParams }: URL, name: string): string | undefined {
  return [...searchParams].find(([key]) => key.toLowerCase() === name)?.[1];
}

const form = 'https://dev.azure.com/ORGANIZATION/PROJECT/_build/results?buildId=4711';

function notABuild(given: string): FleetError {
  const isPipeline = /[?&](?:definitionId|pipelineId)=/i.test(given);
  return usageError({
    code: 'usage.job',
    what: isPipeline ? '--job names a pipeline, not one of its runs' : '--job names no run of a pipeline',
    expected: `the number of a build, or the address of its page: ${form}`,
    seen: given,
    next: 'open the run in the browser and copy its address',
  });
}

function elsewhere(url: URL, organization: string): FleetError {
  return usageError({
    code: 'usage.job',
    what: 'the run of --job is in another organization',
    expected: `a run in ${organization}`,
    seen: `${url.origin}${url.pathname}`,
    next: 'use the inventory of that organization: -i FILE',
  });
}
