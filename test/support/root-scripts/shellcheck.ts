import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/**
 * How every root script is checked. SC2034, SC2317, SC2329: shared preludes hold functions and variables that not every
 * script calls. SC1003, SC2016: a script in another one's quotes expands nothing there; it is in the collection by itself,
 * too.
 */
export const shellcheckArgs = ['--shell=sh', '--exclude=SC1003,SC2016,SC2034,SC2317,SC2329'] as const;

/** Returns the number of shellcheck's findings in a script. @throws Error where it is not installed. */
export async function findingsIn(script: string): Promise<number> {
  const program = spawn('shellcheck', [...shellcheckArgs, '--format=gcc', '-'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve, reject) => program.on('error', reject).on('close', resolve));
  program.stdin.end(script);
  const [said] = await Promise.all([text(program.stdout), ended]);
  return said.split('\n').length - 1;
}
