// Stand-in for Agent.Listener. Real: commands, markers on stdout, exit codes (0 done or told to stop or login
// withdrawn, 1 terminated, 2 retryable, 3 and 4 updating), one job with --once, SIGTERM and SIGINT cancel the job and
// end the session. Stand-in: the program itself, and that its waits are as fast as the practice server.
import { configure, remove } from './configure.mjs';
import { listen } from './listen.mjs';
import { complain } from './say.mjs';

process.title = 'Agent.Listener';
const [command, ...args] = process.argv.slice(2);
const commands = {
  run: () => listen({ once: args.includes('--once') }),
  configure: () => configure(args),
  remove: () => remove(args),
  warmup: async () => 0,
};
const chosen = commands[command];
if (chosen === undefined) {
  complain(`Unrecognized command: ${command}`);
  process.exit(1);
}
try {
  process.exit(await chosen());
} catch (error) {
  complain(`An error occurred: ${error.message}`);
  process.exit(error.exitCode ?? 2);
}
