// The docker command as the real worker runs it: from its own PATH, each command line and all output in the job's log,
// working in the work folder. Real: all of that. Stand-in: nothing is tried again.
import { spawn } from 'node:child_process';

export class Docker {
  #say;

  /** @param {(line: string) => void} say */
  constructor(say) {
    this.#say = say;
  }

  /** Runs one command; its exit code and the lines of both its outputs. */
  run(args, { quiet = false } = {}) {
    this.#say(`##[command]docker ${args.join(' ')}`);
    return new Promise((resolve) => {
      const child = spawn('docker', args, { stdio: ['ignore', 'pipe', 'pipe'] });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
      child.on('error', (error) => resolve({ code: 127, lines: [error.message] }));
      child.on('close', (code) => {
        const lines = output.split('\n').filter(Boolean);
        if (!quiet) for (const line of lines) this.#say(line);
        resolve({ code: code ?? 1, lines });
      });
    });
  }

  /** One that has to succeed; `what` as the real worker words its failure. */
  async must(what, args) {
    const { code, lines } = await this.run(args);
    if (code !== 0) throw new Error(`${what} failed with exit code ${code}`);
    return lines;
  }

  /** A command inside a container, as root; the real worker tells the whole of one that fails. */
  async exec(id, command) {
    const { code, lines } = await this.run(['exec', id, ...command], { quiet: true });
    const told =
      lines.length === 0 ? 'command does not have output' : `command output: \`${lines.join('`, `')}\``;
    const whole = `Docker-exec executed: \`${command.join(' ')}\`; container id: \`${id}\`; exit code: \`${code}\`; ${told}`;
    if (code !== 0) throw new Error(whole);
    return lines;
  }
}

/** The words of `options:` in a pipeline: by blanks, double quotes keep them together. */
export function words(options = '') {
  return (options.match(/(?:[^\s"]|"[^"]*")+/gu) ?? []).map((word) => word.replaceAll('"', ''));
}
