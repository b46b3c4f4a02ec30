// `npm run test:mutants [-- scripts|core [WORD…]] [--record]`. `scripts`: every generated root script with one place
// damaged at a time, each time run on scratch hosts by the cases of the unit tests. `core`: the pure core, by StrykerJS
// and the unit tests. WORD: only suites, or files, whose name has it. `--record`: into bench/RESULTS.md.
import { recordResults } from '../../bench/results.ts';
import { runCore } from './core.ts';
import { coreGoal, reportOf, scriptsGoal, type Goal } from './report.ts';
import { runSuite, type Result } from './run-suite.ts';
import { inSandbox, isSandbox } from './sandbox.ts';
import { suites } from './suites.ts';

const options = process.argv.slice(2).filter((word) => word.startsWith('--'));
const [kind = '', ...words] = process.argv.slice(2).filter((word) => !word.startsWith('--'));

if (isSandbox()) await damageScripts();
else {
  if (kind !== 'core') tell('mutants of root scripts', await scriptResults(), scriptsGoal);
  if (kind !== 'scripts') tell('mutants of the pure core', await runCore(stryker(), words), coreGoal);
}

/** Where damaged scripts may run. The results are for the process outside. */
async function damageScripts(): Promise<void> {
  const results: Result[] = [];
  for (const suite of suites.filter(
    ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
  )) {
    const result = await runSuite(suite);
    process.stderr.write(`${result.name}: ${result.total} in ${result.seconds} s\n`);
    results.push(result);
  }
  process.stdout.write(JSON.stringify(results));
}

async function scriptResults(): Promise<Result[]> {
  const [program = ''] = process.argv.slice(1);
  return JSON.parse(await inSandbox([program, 'scripts', ...words])) as Result[];
}

/** The folder that scripts/dev.mjs has brought StrykerJS into. */
function stryker(): string {
  const given = options.find((option) => option.startsWith('--stryker='));
  if (given === undefined) throw new Error('StrykerJS is brought by npm run test:mutants');
  return given.slice('--stryker='.length);
}

function tell(name: string, results: readonly Result[], goal: Goal): void {
  if (results.length === 0) return;
  const { table, missing, enough } = reportOf(results, goal);
  if (options.includes('--record')) recordResults(name, goal.what, table);
  else process.stdout.write(`${name}: ${goal.what}\n${table}\n`);
  process.stdout.write(missing);
  if (!enough) process.exitCode = 1;
}
