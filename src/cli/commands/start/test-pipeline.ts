import type { TestPipeline, TestRun } from '../../../shared/azure/test-run.ts';
import { ExitCode, usageError } from '../../../shared/base/errors.ts';

/** A job that waits for nothing but its agent has long ended by then: unscaled milliseconds. */
const longestMs = 30 * 60_000;

export interface PipelineTest {
  readonly pipelines: TestPipeline;
  /** Where it may lie: the inventory's. */
  readonly projects: readonly string[];
  readonly id: number;
  readonly say: (line: string) => void;
}

/** Runs a pipeline of one of the projects to its end, and tells what became of it. */
export async function runTestPipeline({ pipelines, projects, id, say }: PipelineTest): Promise<ExitCode> {
  for (const project of projects) {
    const begun = await pipelines.start(project, id);
    if (begun === undefined) continue;
    say(`Pipeline ${id} of ${project} runs: ${begun.url}`);
    return told(await pipelines.wait(project, id, begun, longestMs), say);
  }
  throw usageError({
    code: 'usage.option',
    what: `no project has a pipeline ${id}`,
    expected: 'the number behind definitionId= in the address of a pipeline',
    seen: projects.length === 0 ? 'no projects in the inventory' : `not in ${projects.join(', ')}`,
    next: 'name the project under "projects:" of the inventory, or correct --test-pipeline',
  });
}

function told({ result, url }: TestRun, say: (line: string) => void): ExitCode {
  if (result === 'succeeded') {
    say('✔ it succeeded: the pool runs pipelines');
    return ExitCode.ok;
  }
  say(
    result === undefined ? `✗ it has not ended after ${longestMs / 60_000} minutes` : `✗ it ended: ${result}`,
  );
  say(`  next      look at its log: ${url}`);
  return ExitCode.hostFailed;
}
