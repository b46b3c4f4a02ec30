import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

import type { Reporter, TestModule, TestRunEndReason } from 'vitest/node';

import { type FaultTest, labFaults, passedFile, withFaultTable } from '../../scripts/faults-page.ts';

const root = join(import.meta.dirname, '../..');

/** Of a complete run of the unit tests: saves the tests of faults that passed, and compares docs/faults.md with them. */
export default class FaultsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], _: unknown, reason: TestRunEndReason): void {
    if (reason !== 'passed') return;
    const passed = [...modules.flatMap(passedIn), ...labFaults()];
    mkdirSync(dirname(passedFile), { recursive: true });
    writeFileSync(passedFile, JSON.stringify(passed));
    try {
      const page = readFileSync(join(root, 'docs/faults.md'), 'utf8');
      if (withFaultTable(page, passed) === page) return;
      fail('docs/faults.md differs from the tests that passed: npm run docs');
    } catch (error) {
      fail(error instanceof Error ? error.message : String(error));
    }
  }
}

function passedIn(module: TestModule): readonly FaultTest[] {
  return [...module.children.allTests('passed')].flatMap((test) => {
    const { fault: id } = test.meta();
    return id === undefined ? [] : [{ id, file: relative(root, module.moduleId), title: test.name }];
  });
}

function fail(why: string): void {
  process.stderr.write(`✗ ${why}\n`);
  process.exitCode = 1;
}
