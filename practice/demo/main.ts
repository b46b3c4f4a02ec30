// npm run demo: a fleet from nothing. npm run demo -- --fresh | --clean | --help
import { refuseEarly } from '../lab/machine.ts';
import { aboutText, cleanDemo, cleanText, helpText, runDemo } from './run-demo.ts';

const options = process.argv.slice(2);
const unknown = options.filter((option) => !['--fresh', '--clean', '--help'].includes(option));

try {
  if (unknown.length > 0) {
    process.stderr.write(`✗ unknown option ${unknown.join(' ')}\n\n${helpText}`);
    process.exitCode = 2;
  } else if (options.includes('--help')) {
    process.stdout.write(helpText);
  } else if (options.includes('--clean')) {
    process.stdout.write(cleanText);
    await cleanDemo();
  } else {
    refuseEarly();
    process.stdout.write(aboutText);
    process.exitCode = await runDemo({ fresh: options.includes('--fresh') });
  }
} catch (error) {
  process.stderr.write(`\n✗ ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
