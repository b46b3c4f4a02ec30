import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';

import type { Reporter, TestCase, TestModule } from 'vitest/node';

import { durationsFile, recordedDurations } from './shards.ts';

/**
 * Prints each failure at once, because a shard takes half an hour, and how long each lab test file took; with
 * AZP_FLEET_RECORD_DURATIONS=1 it writes that into durations.json.
 */
export default class DurationsReporter implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const { state, errors = [] } = test.result();
    if (state !== 'failed') return;
    const texts = errors.map(({ stack, message, diff }) =>
      [stack ?? message, diff].filter(Boolean).join('\n'),
    );
    process.stdout.write(
      `[lab] ${basename(test.module.moduleId)}: failed: ${test.fullName}\n${texts.join('\n')}\n`,
    );
  }

  onTestModuleEnd(module: TestModule): void {
    const { duration, setupDuration } = module.diagnostic();
    const seconds = Math.round((duration + setupDuration) / 1000);
    const failures = [module, ...module.children.allSuites()].flatMap((each) => each.errors());
    for (const { stack, message } of failures)
      process.stdout.write(`[lab] ${basename(module.moduleId)}: failed: ${stack ?? message}\n`);
    process.stdout.write(`[lab] ${basename(module.moduleId)}: ${module.state()} in ${seconds} s\n`);
    if (process.env['AZP_FLEET_RECORD_DURATIONS'] !== '1' || !module.ok()) return;
    const all = Object.entries({ ...recordedDurations(), [basename(module.moduleId)]: seconds });
    const sorted = all.toSorted(([one], [other]) => (one < other ? -1 : 1));
    writeFileSync(durationsFile, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`);
  }
}
