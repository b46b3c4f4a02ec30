import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Result, Survivor } from './run-suite.ts';

/** The decisions that everything rests on. */
const files = [
  'src/fleet/plan/plan.ts',
  'src/fleet/plan/refine.ts',
  'src/fleet/steps/disturbance.ts',
  'src/manager/reconcile.ts',
  'src/manager/slots/holds.ts',
  'src/fleet/verdict/*.ts',
];
const cache = 'node_modules/.cache';
const report = join(cache, 'stryker-report.json');

/** What StrykerJS reports: https://github.com/stryker-mutator/mutation-testing-elements, schema 2. */
interface Report {
  readonly files: Readonly<
    Record<string, { readonly source: string; readonly mutants: readonly ReportedMutant[] }>
  >;
}

interface ReportedMutant {
  readonly mutatorName: string;
  readonly replacement?: string;
  readonly status: string;
  readonly location: { readonly start: { readonly line: number } };
}

/**
 * Damages the pure core with StrykerJS, which is in a separate folder. Texts are left alone: most are messages, and
 * those that decide something are literals of a type.
 */
export async function runCore(stryker: string, words: readonly string[]): Promise<Result[]> {
  const wanted = files.filter((file) => words.length === 0 || words.some((word) => file.includes(word)));
  if (wanted.length === 0) return [];
  mkdirSync(cache, { recursive: true });
  rmSync(report, { force: true });
  const config = join(cache, 'stryker.json');
  writeFileSync(config, JSON.stringify(settings(stryker, wanted)));
  const program = join(stryker, 'node_modules/@stryker-mutator/core/bin/stryker.js');
  const started = performance.now();
  const child = spawn(process.execPath, [program, 'run', config], { stdio: ['ignore', 2, 2] });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error('StrykerJS could not run: see above');
  const seconds = Math.round((performance.now() - started) / 1000);
  return resultsOf(JSON.parse(readFileSync(report, 'utf8')) as Report, seconds);
}

function settings(stryker: string, mutate: readonly string[]): object {
  return {
    mutate,
    mutator: { excludedMutations: ['StringLiteral'] },
    testRunner: 'vitest',
    plugins: [join(process.cwd(), stryker, 'node_modules/@stryker-mutator/vitest-runner/dist/src/index.js')],
    vitest: { configFile: 'test/mutants/core.vitest.ts', related: false },
    coverageAnalysis: 'perTest',
    concurrency: 2,
    // It looks for a compiler's interface that TypeScript 7 does not have; without the file it needs none.
    tsconfigFile: 'none.json',
    tempDirName: join(cache, 'stryker-tmp'),
    ignorePatterns: ['dist', 'practice', 'docs', 'test/lab'],
    reporters: ['json', 'progress-append-only'],
    jsonReporter: { fileName: report },
  };
}

/** One a file; the time is that of all. */
function resultsOf(report: Report, seconds: number): Result[] {
  const share = seconds / Math.max(1, Object.keys(report.files).length);
  return Object.entries(report.files).map(([name, { source, mutants }]) => {
    const valid = mutants.filter(
      ({ status }) => !['CompileError', 'RuntimeError', 'Ignored'].includes(status),
    );
    const missed = valid.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
    const lines = source.split('\n');
    return {
      name,
      total: valid.length,
      seconds: Math.round(share),
      survivors: missed.map((each) => survivor(each, lines)),
    };
  });
}

function survivor(
  { mutatorName, replacement = '', location: { start } }: ReportedMutant,
  lines: readonly string[],
): Survivor {
  return {
    kind: `${mutatorName}, line ${start.line}`,
    before: lines[start.line - 1]?.trim() ?? '',
    after: replacement,
    why: undefined,
  };
}
