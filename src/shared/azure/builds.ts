import { isObject } from '../base/objects.ts';
import { calls, readRequest } from './calls.ts';
import type { JobRequest } from './client.ts';
import { AzureError, hasCode } from './http/errors.ts';
import { createRest, type RestOptions } from './http/rest.ts';

/** One run of a pipeline. */
export interface Build {
  readonly id: number;
  /** Its number on the page: `20261121.3`. */
  readonly name?: string;
  /** `notStarted`, `inProgress`, `cancelling`, `completed`, … */
  readonly status?: string;
  /** `succeeded`, `partiallySucceeded`, `failed`, `canceled`; undefined before its end. */
  readonly result?: string;
  readonly pipeline?: { readonly id: number; readonly name: string };
  readonly project?: string;
  /** Errors in the pipeline that stopped it before its first job. */
  readonly errors: readonly string[];
}

/** A stage, phase, job, step or checkpoint of a build. */
export interface TimelineRecord {
  readonly id: string;
  readonly parentId?: string;
  /** `Stage`, `Phase`, `Job`, `Task`, `Checkpoint`, `Checkpoint.Approval`, … */
  readonly type?: string;
  readonly name?: string;
  /** `pending`, `inProgress`, `completed`. */
  readonly state?: string;
  readonly result?: string;
  /** ISO 8601. */
  readonly startTime?: string;
  readonly errors: readonly string[];
}

/** Which pipelines of a project may use a queue. */
export interface Permitted {
  readonly every: boolean;
  readonly pipelines: readonly number[];
}

/** Reads what explains why a job does not run. Builds and timelines need the scope Build (Read). Changes nothing. */
export interface Builds {
  /** Returns all unfinished requests of a pool, and the latest finished ones. */
  requests(poolId: number): Promise<readonly JobRequest[]>;
  /** Undefined: the project has no such build, or the token's user may not see it. */
  find(project: string, build: number): Promise<Build | undefined>;
  /** Undefined: see `find`. */
  timeline(project: string, build: number): Promise<readonly TimelineRecord[] | undefined>;
  permitted(project: string, queueId: number): Promise<Permitted>;
}

/** Requests that finished: those of some hours, and about half a megabyte. */
const finished = 250;

export function createBuilds(options: RestOptions): Builds {
  const rest = createRest(options);
  const unlessMissing = async <T>(work: Promise<unknown>, read: (answer: unknown) => T) => {
    try {
      return read(await work);
    } catch (error) {
      if (hasCode(error, 'azure.not-found')) return undefined;
      throw error;
    }
  };
  return {
    requests: async (poolId) => {
      const call = calls.recentRequests(poolId, finished);
      const items = listIn(await rest.send(call), 'value', call.what).map(readRequest);
      if (!items.every((item) => item !== undefined)) throw unexpected(call.what);
      return items;
    },
    find: (project, build) => {
      const call = calls.readBuild(project, build);
      return unlessMissing(rest.send(call), (answer) => readBuild(answer, call.what));
    },
    timeline: (project, build) => {
      const call = calls.readTimeline(project, build);
      return unlessMissing(rest.send(call), (answer) =>
        // A build that has not begun has no timeline: 204 without a body.
        answer === undefined ? [] : listIn(answer, 'records', call.what).flatMap(readRecord),
      );
    },
    permitted: async (project, queueId) => {
      const call = calls.readPermission(project, queueId);
      const answer = await rest.send(call);
      if (!isObject(answer)) throw unexpected(call.what);
      const { allPipelines, pipelines } = answer;
      return {
        every: isAuthorized(allPipelines),
        pipelines: (Array.isArray(pipelines) ? pipelines : [])
          .filter(isAuthorized)
          .flatMap((each: unknown) => numberIn(each, 'id') ?? []),
      };
    },
  };
}

function isAuthorized(value: unknown): boolean {
  return isObject(value) && value['authorized'] === true;
}

function readBuild(answer: unknown, what: string): Build {
  const id = numberIn(answer, 'id');
  if (!isObject(answer) || id === undefined) throw unexpected(what);
  const { definition, project, validationResults } = answer;
  const pipeline = { id: numberIn(definition, 'id'), name: textIn(definition, 'name') };
  return {
    id,
    errors: (Array.isArray(validationResults) ? validationResults : []).flatMap((each: unknown) =>
      textIn(each, 'result') === 'error' ? (textIn(each, 'message') ?? []) : [],
    ),
    ...texts(answer, { name: 'buildNumber', status: 'status', result: 'result' }),
    ...(pipeline.id === undefined || pipeline.name === undefined
      ? {}
      : { pipeline: { id: pipeline.id, name: pipeline.name } }),
    ...texts(project, { project: 'name' }),
  };
}

function readRecord(item: unknown): readonly TimelineRecord[] {
  const id = textIn(item, 'id');
  if (!isObject(item) || id === undefined) return [];
  const issues = Array.isArray(item['issues']) ? item['issues'] : [];
  const errors = issues.flatMap((each: unknown) =>
    textIn(each, 'type') === 'error' ? (textIn(each, 'message') ?? []) : [],
  );
  const names = ['parentId', 'type', 'name', 'state', 'result', 'startTime'];
  return [{ id, errors, ...texts(item, Object.fromEntries(names.map((name) => [name, name]))) }];
}

/** Returns the members that are texts, by their names here. */
function texts(value: unknown, names: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(names).flatMap(([name, theirs]) => {
      const text = textIn(value, theirs);
      return text === undefined ? [] : [[name, text]];
    }),
  );
}

function textIn(value: unknown, name: string): string | undefined {
  const member = isObject(value) ? value[name] : undefined;
  return typeof member === 'string' ? member : undefined;
}

function numberIn(value: unknown, name: string): number | undefined {
  const member = isObject(value) ? value[name] : undefined;
  return typeof member === 'number' ? member : undefined;
}

/** Throws without the list: as an empty one it would read as "nothing waits". */
function listIn(answer: unknown, name: string, what: string): readonly unknown[] {
  const list = isObject(answer) ? answer[name] : undefined;
  if (!Array.isArray(list)) throw unexpected(what);
  return list;
}

function unexpected(what: string): AzureError {
  return new AzureError({
    code: 'azure.unexpected',
    what: `cannot ${what}: the answer has another form`,
    expected: 'what Azure DevOps answers',
    next: 'check the organization URL, and check for a proxy that answers for it',
  });
}
