import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';

import type { Reporter, TestModule } from 'vitest/node';

import { durationsFile, recordedDurations } from './shards.ts';

/** Prints how long each lab test file took; with AZP_FLEET_RECORD_DURATIONS=1 it writes that into durations.json. */
export default class DurationsReporter implements Reporter {
  onTestModuleEnd(module: TestModule): void {
    const { duration, setupDuration } = module.diagnostic();
    const seconds = Math.round((duration + setupDuration) / 1000);
    process.stdout.write(`[lab] ${basename(module.moduleId)}: ${module.state()} in ${seconds} s\n`);
    if (process.env['AZP_FLEET_RECORD_DURATIONS'] !== '1' || !module.ok()) return;
    const all = Object.entries({ ...recordedDurations(), [basename(module.moduleId)]: seconds });
    const sorted = all.toSorted(([one], [other]) => (one < other ? -1 : 1));
    writeFileSync(durationsFile, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`);
  }
}
