// The docker command as the real worker runs it: from its own PATH, each command line and all output in the job's log,
// working in the work folder. Real: all of that. Stand-in: no command is repeated.
import { spawn } from 'node:child_process';

export class Docker {
  #say;

  /** @param {(line: string) => void} say */
  constructor(say) {
    this.#say = say;
  }

  /** Runs one command. Returns its exit code and the lines of both its outputs. */
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

  /** Runs a command that must succeed; `what` is the real worker's text for its failure. */
  async must(what, args) {
    const { code, lines } = await this.run(args);
    if (code !== 0) throw new Error(`${what} failed with exit code ${code}`);
    return lines;
  }

  /** Runs a command inside a container, as root. A failure has the real worker's full text. */
  async exec(id, command) {
    const { code, lines } = await this.run(['exec', id, ...command], { quiet: true });
    const output =
      lines.length === 0 ? 'command does not have output' : `command output: \`${lines.join('`, `')}\``;
    const whole = `Docker-exec executed: \`${command.join(' ')}\`; container id: \`${id}\`; exit code: \`${code}\`; ${output}`;
    if (code !== 0) throw new Error(whole);
    return lines;
  }
}

/** Splits `options:` of a pipeline at blanks; double quotes keep words together. */
export function words(options = '') {
  return (options.match(/(?:[^\s"]|"[^"]*")+/gu) ?? []).map((word) => word.replaceAll('"', ''));
}
