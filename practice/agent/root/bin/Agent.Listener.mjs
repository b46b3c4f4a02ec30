// Stand-in for Agent.Listener. Real: commands, output, requests, exit codes (0 done, stopped by a signal, or login
// withdrawn; 1 terminated; 2 an error; 3 and 4 updating), one job with --once, effects of signals; as version 4 (on .NET 8)
// or 5 (on .NET 10), by bin/version. Stand-in: the program itself, and that its waits are as fast as the practice server.
import { configure, remove } from './configure.mjs';
import { listen } from './listen.mjs';
import { sayError } from './say.mjs';
import { ignoredSignals } from './signals.mjs';

process.title = 'Agent.Listener';
const [mask, command, ...args] = process.argv.slice(2);
const commands = {
  run: () => listen({ once: args.includes('--once'), ignored: ignoredSignals(mask) }),
  configure: () => configure(args),
  remove: () => remove(args),
  warmup: async () => 0,
};
const chosen = commands[command];
if (chosen === undefined) {
  process.stderr.write(`Unrecognized command: ${command}\n`);
  process.exit(1);
}
try {
  process.exit(await chosen());
} catch (error) {
  if (command === 'run') {
    sayError('errorOccurred', error.message);
    process.exit(error.exitCode ?? 2);
  }
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
