// `npm run test:mutants [-- WORD…]`: every generated root script with one place damaged at a time, each time run on
// scratch hosts by the cases of the unit tests. WORD: only suites whose name has it. `--record`: into bench/RESULTS.md.
import { recordResults } from '../../bench/results.ts';
import { reportOf } from './report.ts';
import { runSuite, type Result } from './run-suite.ts';
import { inSandbox, isSandbox } from './sandbox.ts';
import { suites } from './suites.ts';

const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const wanted = suites.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));

if (isSandbox()) {
  const results: Result[] = [];
  for (const suite of wanted) {
    const result = await runSuite(suite);
    process.stderr.write(`${result.name}: ${result.total} in ${result.seconds} s\n`);
    results.push(result);
  }
  process.stdout.write(JSON.stringify(results));
} else {
  const results = JSON.parse(await inSandbox(process.argv.slice(1))) as Result[];
  const { table, missing, enough } = reportOf(results);
  if (process.argv.includes('--record'))
    recordResults('mutants', 'root scripts with one place damaged, run on scratch hosts', table);
  else process.stdout.write(`${table}\n`);
  process.stdout.write(missing);
  if (!enough) process.exitCode = 1;
}
