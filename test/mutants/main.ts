// `npm run test:mutants [-- scripts|core|manager [WORD…]] [--seed=N] [--draw=N] [--record]`. `scripts`: every generated root
// script with one place damaged at a time, each time run on scratch hosts by the cases of the unit tests. `core`: the pure
// core, by StrykerJS and the unit tests. `manager`: places of src/manager that are drawn at random, by its unit tests. WORD:
// only suites, or files, whose name has it. `--record`: into bench/RESULTS.md.
import { recordResults } from '../../bench/results.ts';
import { runCore } from './core.ts';
import { type Draw, runManager } from './manager.ts';
import { coreGoal, managerGoal, reportOf, scriptsGoal, type Goal } from './report.ts';
import { runSuites, type Result } from './run-suite.ts';
import { inSandbox, isSandbox } from './sandbox.ts';
import { suites } from './suites.ts';

const options = process.argv.slice(2).filter((word) => word.startsWith('--'));
const [kind = '', ...words] = process.argv.slice(2).filter((word) => !word.startsWith('--'));

if (options.includes('--record') && words.length > 0)
  throw new Error('--record takes no WORD: a part of the suites would replace the figures of all');
if (isSandbox()) process.stdout.write(JSON.stringify(await inside()));
else {
  const isWanted = (each: string): boolean => ['', each].includes(kind);
  if (isWanted('scripts')) tell('mutants of root scripts', await fromSandbox('scripts'), scriptsGoal);
  if (isWanted('core')) tell('mutants of the pure core', await runCore(stryker(), words), coreGoal);
  if (isWanted('manager')) {
    const { seed, count } = drawOf();
    process.stdout.write(`mutants of the manager: ${count} with --seed=${seed}\n`);
    const results = await fromSandbox('manager', `--seed=${seed}`, `--draw=${count}`);
    tell('mutants of the manager', results, managerGoal);
  }
}

/** Damaged programs run in the sandbox; the process outside gets the results. */
async function inside(): Promise<Result[]> {
  if (kind === 'manager') return runManager(words, drawOf());
  const wanted = suites.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  return runSuites(wanted, ({ name, total, seconds }) => {
    process.stderr.write(`${name}: ${total} in ${seconds} s\n`);
  });
}

async function fromSandbox(...args: readonly string[]): Promise<Result[]> {
  const [program = ''] = process.argv.slice(1);
  return JSON.parse(await inSandbox([program, ...args, ...words])) as Result[];
}

function drawOf(): Draw {
  return {
    seed: Number(given('seed') ?? Math.floor(Math.random() * 2 ** 32)),
    count: Number(given('draw') ?? 10),
  };
}

function given(name: string): string | undefined {
  return options.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3);
}

/** The folder that scripts/dev.mjs has brought StrykerJS into. */
function stryker(): string {
  const folder = given('stryker');
  if (folder === undefined) throw new Error('StrykerJS is brought by npm run test:mutants');
  return folder;
}

function tell(name: string, results: readonly Result[], goal: Goal): void {
  if (results.length === 0) return;
  const { table, missing, enough } = reportOf(results, goal);
  if (options.includes('--record')) recordResults(name, goal.what, table);
  else process.stdout.write(`${name}: ${goal.what}\n${table}\n`);
  process.stdout.write(missing);
  if (!enough) process.exitCode = 1;
}
