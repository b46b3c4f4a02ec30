// The docker command as the real worker runs it: from its own PATH, each command line and all output in the job's log,
// working in the work folder. Real: all of that. Stand-in: nothing is tried again.
import { spawn } from 'node:child_process';

/** Runs one command; its exit code and the lines of both its outputs. */
export function docker(args, { quiet = false } = {}) {
  process.stdout.write(`##[command]docker ${args.join(' ')}\n`);
  return new Promise((resolve) => {
    const child = spawn('docker', args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const take = (data) => {
      output += data;
      if (!quiet) process.stdout.write(data);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('error', (error) => resolve({ code: 127, lines: [error.message] }));
    child.on('close', (code) => resolve({ code: code ?? 1, lines: output.split('\n').filter(Boolean) }));
  });
}

/** One that has to succeed; `what` as the real worker words its failure. */
export async function dockerMust(what, args) {
  const { code, lines } = await docker(args);
  if (code !== 0) throw new Error(`${what} failed with exit code ${code}`);
  return lines;
}

/** A command inside a container, as root; the real worker tells the whole of one that fails. */
export async function dockerExec(id, command) {
  const { code, lines } = await docker(['exec', id, ...command], { quiet: true });
  const told =
    lines.length === 0 ? 'command does not have output' : `command output: \`${lines.join('`, `')}\``;
  const whole = `Docker-exec executed: \`${command.join(' ')}\`; container id: \`${id}\`; exit code: \`${code}\`; ${told}`;
  if (code !== 0) throw new Error(whole);
  return lines;
}

/** The words of `options:` in a pipeline: by blanks, double quotes keep them together. */
export function words(options = '') {
  return (options.match(/(?:[^\s"]|"[^"]*")+/gu) ?? []).map((word) => word.replaceAll('"', ''));
}
