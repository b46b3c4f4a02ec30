// One task as a process: its output line by line, its result, its cancellation.
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseCommand } from './commands.mjs';
import { killTree } from './processes.mjs';
import { pause } from './waits.mjs';

/** Time that a step has after each signal, in milliseconds. */
const sigint = 7500;
const sigterm = 2500;
/** Time for which output is still read if a process of the step keeps it open, in milliseconds. */
const readOnMs = 100;

export class Step {
  #child;
  #speed;
  #said = {};
  #ended = new AbortController();
  #canceled = false;

  /** @param {(file: string, args: string[], options: object) => import('node:child_process').ChildProcess} spawn */
  constructor(spawn, { file, args, cwd, env, speed }) {
    this.#speed = speed;
    this.#child = spawn(file, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    try {
      writeFileSync(`/proc/${this.#child.pid}/oom_score_adj`, process.env.PIPELINE_JOB_OOMSCOREADJ ?? '500');
    } catch {}
  }

  /** Runs the step. Returns `succeeded`, `failed` or `canceled`. `react` gets lines and commands. */
  async run(react) {
    const exited = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve({ error }));
      this.#child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    const reading = [this.#child.stdout, this.#child.stderr].map((stream) => this.#read(stream, react));
    const { code, error } = await exited;
    this.#ended.abort();
    await Promise.race([Promise.all(reading), pause(readOnMs, 1)]);
    // A signal to the whole process group ended it before the worker: it has failed by itself.
    if (this.#canceled && !react.wasInterrupted()) return 'canceled';
    if (error !== undefined) react.issue('error', error.message);
    if (this.#said.result !== undefined) return this.#said.result;
    return error === undefined && code === 0 ? 'succeeded' : 'failed';
  }

  async #read(stream, react) {
    for await (const line of createInterface({ input: stream })) {
      const command = parseCommand(line);
      if (command === undefined) react.line(line);
      else if (command.name === 'task.complete') this.#said.result = command.properties.result?.toLowerCase();
      else if (command.name === 'task.logissue') react.issue(command.properties.type, command.data);
      else if (command.name === 'task.setvariable') react.set(command.properties, command.data);
      else react.line(line);
    }
  }

  async cancel() {
    this.#canceled = true;
    this.#child.kill('SIGINT');
    if (!(await pause(sigint, this.#speed, this.#ended.signal))) return;
    this.#child.kill('SIGTERM');
    if (!(await pause(sigterm, this.#speed, this.#ended.signal))) return;
    killTree(this.#child.pid);
  }
}
