import { calls } from './calls.ts';
import { AzureError, hasCode } from './http/errors.ts';
import { createRest, type RestOptions } from './http/rest.ts';

/** One run of a pipeline. */
export interface TestRun {
  readonly id: number;
  /** The run's web page. */
  readonly url: string;
  /** `succeeded`, `failed`, `canceled`; undefined while the run is in progress. */
  readonly result?: string;
}

export interface TestPipeline {
  /** Starts a run on the default branch; undefined when the project has no such pipeline. */
  start(project: string, pipeline: number): Promise<TestRun | undefined>;
  /** Polls every 5 s until the run ends or `timeoutMs` unscaled milliseconds pass. Returns the last state. */
  wait(project: string, pipeline: number, run: TestRun, timeoutMs: number): Promise<TestRun>;
}

const everyMs = 5000;

/** Runs a pipeline that a person chooses, with a token that has the scope for it. */
export function createTestPipeline(options: RestOptions): TestPipeline {
  const rest = createRest(options);
  return {
    start: async (project, pipeline) => {
      try {
        return readRun(await rest.send(calls.runPipeline(project, pipeline)));
      } catch (error) {
        if (hasCode(error, 'azure.not-found')) return undefined;
        throw error;
      }
    },
    wait: async (project, pipeline, run, timeoutMs) => {
      let seen = run;
      for (let waited = 0; seen.result === undefined && waited < timeoutMs; waited += everyMs) {
        await rest.wait(everyMs);
        seen = readRun(await rest.send(calls.readRun(project, pipeline, run.id)));
      }
      return seen;
    },
  };
}

function readRun(answer: unknown): TestRun {
  const { id, state, result, _links } = Object(answer) as Readonly<Record<string, unknown>>;
  const { web } = Object(_links) as { readonly web?: unknown };
  const { href } = Object(web) as { readonly href?: unknown };
  if (typeof id !== 'number')
    throw new AzureError({
      code: 'azure.unexpected',
      what: 'cannot run the pipeline: the answer contains no run',
      expected: 'a JSON object with "id"',
      next: 'check the organization URL, and check for a proxy that answers for it',
    });
  const ended = state === 'completed' && typeof result === 'string' ? { result } : {};
  return { id, url: typeof href === 'string' ? href : '', ...ended };
}
