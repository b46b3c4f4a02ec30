import { randomBytes } from 'node:crypto';
import type { Writable } from 'node:stream';

import { FleetError } from '../../../shared/base/errors.ts';
import { quote } from '../../../shared/base/shell.ts';
import { connectionLost, interrupted, checkHostLoad } from '../failures.ts';
import type { Ending, Wire, WireProcess } from '../wire/wire.ts';
import { bootCommand, type Elevation, markers, scriptLine, longestPreamble, Preamble } from './bootstrap.ts';
import type { Sudo } from './sudo.ts';

interface StartRequest {
  readonly host: string;
  readonly script: string;
  readonly as: 'root' | 'login';
  /** The script reads standard input; otherwise it has none. */
  readonly input: boolean;
  readonly limitS: number | undefined;
  readonly onStdout: (chunk: Buffer) => void;
  readonly onStderr: (chunk: Buffer) => void;
  readonly signal: AbortSignal | undefined;
}

/** A script that runs as the requested user. */
export interface Running {
  readonly stdin: Writable;
  /** Never rejects. */
  readonly ended: Promise<Ending>;
  kill(): void;
}

/** Maximum milliseconds until the script starts: login shell, sudo and its PAM stack. */
const startMs = 60_000;

/**
 * Starts a script in one exec. Writes the password only after the prompt with this exec's marker, and the script only
 * after the ready line: otherwise one could be read as the other. A hostile host knows the marker too: if sudo cannot
 * ask, a prompt is an error. Rejects if the script does not start in time (`ssh.start-timeout`; pauses while the user
 * types a password), and at once if the signal is aborted.
 */
export async function startScript(wire: Wire, sudo: Sudo, request: StartRequest): Promise<Running> {
  const { host, signal } = request;
  if (signal?.aborted === true) throw interrupted(host);
  const nonce = randomBytes(12).toString('hex');
  const elevation = request.as === 'login' ? 'none' : sudo.elevation;
  const command = bootCommand({
    nonce,
    as: request.as,
    elevation,
    canAnswer: sudo.canAnswer,
    limitS: request.limitS,
    input: request.input,
  });
  let stop: (error: FleetError) => void = () => undefined;
  const stopped = new Promise<never>((_resolve, reject) => (stop = reject));
  const limit = new Limit(startMs, () => stop(notStarted(host)));
  const abort = (): void => stop(interrupted(host));
  signal?.addEventListener('abort', abort, { once: true });
  limit.start();
  const opening = open(wire, host, command);
  try {
    const process = await Promise.race([opening, stopped]);
    const start = new Start(process, sudo, request, { nonce, elevation, pause: () => limit.pause() });
    process.stdin.on('error', () => undefined);
    start.ready.catch(() => undefined);
    await Promise.race([start.ready, stopped]);
    if (request.as === 'root') sudo.elevation = start.elevation;
    return { stdin: process.stdin, ended: process.ended, kill: () => process.kill() };
  } catch (error) {
    void opening.then(
      (process) => process.kill(),
      () => undefined,
    );
    throw error;
  } finally {
    limit.stop();
    signal?.removeEventListener('abort', abort);
  }
}

async function open(wire: Wire, host: string, command: string): Promise<WireProcess> {
  try {
    return await wire.exec(command);
  } catch (error) {
    if (wire.closed.aborted) throw connectionLost(host, 'the start of a command', error);
    throw new FleetError(
      {
        code: 'ssh.no-session',
        host,
        step: 'connect',
        what: 'the host opened no session for a command',
        seen: error instanceof Error ? error.message : String(error),
        next: 'set MaxSessions to 10 in /etc/ssh/sshd_config on the host and reload sshd; fewer than 3 are too few',
      },
      { cause: error },
    );
  }
}

class Start {
  readonly ready: Promise<void>;
  elevation: 'none' | 'free' | 'password' = 'none';
  readonly #process: WireProcess;
  readonly #sudo: Sudo;
  readonly #request: StartRequest;
  readonly #nonce: string;
  /** The elevation that the command was created for. */
  readonly #given: Elevation;
  /** Called around the question for a password, to pause time limits. */
  readonly #pause: () => () => void;
  #prompts = 0;
  #begun = false;
  #resolve: () => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  readonly #noise: { readonly stdout: Preamble; readonly stderr: Preamble };

  constructor(
    process: WireProcess,
    sudo: Sudo,
    request: StartRequest,
    {
      nonce,
      elevation,
      pause,
    }: { readonly nonce: string; readonly elevation: Elevation; readonly pause: () => () => void },
  ) {
    this.#process = process;
    this.#sudo = sudo;
    this.#request = request;
    this.#nonce = nonce;
    this.#noise = { stdout: new Preamble(nonce), stderr: new Preamble(nonce) };
    this.#given = elevation;
    this.#pause = pause;
    this.ready = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#listen('stdout', (rest) => this.#onReady(rest));
    this.#listen('stderr', () => undefined);
    void process.ended.then((ending) => this.#onEnded(ending));
  }

  /** Passes on the output after the ready line and keeps the text before it. */
  #listen(name: 'stdout' | 'stderr', onReady: (mode: string) => void): void {
    const sink = name === 'stdout' ? this.#request.onStdout : this.#request.onStderr;
    const preamble = this.#noise[name];
    let begun = false;
    this.#process[name].on('data', (chunk: Buffer) => {
      if (begun) return sink(chunk);
      if (preamble.size > longestPreamble) return;
      const ready = preamble.push(chunk);
      if (ready !== undefined) {
        begun = true;
        onReady(ready.mode);
        if (ready.rest.length > 0) sink(ready.rest);
      } else if (preamble.size > longestPreamble) this.#reject(tooMuchOutput(this.#request.host));
      else if (name === 'stderr') this.#onPrompt();
    });
  }

  #onReady(mode: string): void {
    this.#begun = true;
    this.elevation =
      mode !== 'sudo'
        ? 'none'
        : this.#prompts > 0 || this.#sudo.elevation === 'password'
          ? 'password'
          : 'free';
    this.#process.stdin.write(scriptLine(this.#request.script));
    if (!this.#request.input) this.#process.stdin.end();
    this.#resolve();
  }

  #onPrompt(): void {
    const { prompts } = this.#noise.stderr;
    if (prompts <= this.#prompts) return;
    this.#prompts = prompts;
    if (!this.#sudo.mayAsk(this.#given)) return this.#reject(this.#sudo.notRun());
    if (prompts > 1) return this.#reject(this.#sudo.wrongPassword());
    const resume = this.#pause();
    this.#sudo
      .password()
      .finally(resume)
      .then((password) => {
        if (password === undefined) this.#reject(this.#sudo.passwordNeeded());
        else this.#process.stdin.write(`${password.reveal()}\n`);
      })
      .catch((error: unknown) => this.#reject(error));
  }

  #onEnded(ending: Ending): void {
    if (this.#begun) return;
    const { host } = this.#request;
    if (ending.code === null && ending.signal === undefined) {
      return this.#reject(connectionLost(host, 'the start of a command'));
    }
    const trouble = new RegExp(`${markers.trouble(this.#nonce)}(\\w+) ?([^]*)`).exec(this.#noise.stdout.text);
    const [, kind, text = ''] = trouble ?? [];
    if (kind === 'missing') return this.#reject(this.#sudo.missing());
    const said = kind === undefined ? this.#noise.stderr.text : text;
    const failure = this.#sudo.failure(said);
    if (failure !== undefined) return this.#reject(failure);
    if (kind === 'password') return this.#reject(this.#sudo.passwordNeeded());
    const noise = `${this.#noise.stdout.text}${this.#noise.stderr.text}`;
    this.#reject(noShell({ host, user: this.#sudo.user }, ending, noise));
  }
}

function tooMuchOutput(host: string): FleetError {
  return new FleetError({
    code: 'ssh.output-too-long',
    host,
    step: 'connect',
    what: `the login wrote more than ${longestPreamble / 1024 / 1024} MiB before a script could run`,
    expected: 'a login with little output',
    next: 'check the files that the login shell reads on the host (.bashrc, .profile, /etc/profile.d)',
  });
}

function notStarted(host: string): FleetError {
  return new FleetError({
    code: 'ssh.start-timeout',
    host,
    what: `no script could be started within ${startMs / 1000} s of login`,
    next: checkHostLoad,
  });
}

function noShell(
  { host, user }: { readonly host: string; readonly user: string },
  ending: Ending,
  said: string,
): FleetError {
  return new FleetError({
    code: 'ssh.no-shell',
    host,
    step: 'connect',
    what: `the login ended (${ending.signal ?? ending.code}) before a script could run`,
    expected: 'a login shell that can start /bin/sh',
    seen: said.trim().slice(-500) || 'no output',
    next: `usermod -s /bin/bash ${quote(user)}   # as root on the host, where its shell is none; else look for a ForceCommand of sshd`,
  });
}

/** A time limit that can be restarted and paused. */
export class Limit {
  readonly #ms: number;
  readonly #expire: () => void;
  #timer: NodeJS.Timeout | undefined;
  #paused = false;

  constructor(ms: number, expire: () => void) {
    this.#ms = ms;
    this.#expire = expire;
  }

  start(): void {
    this.stop();
    this.#timer = setTimeout(this.#expire, this.#ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#paused = false;
  }

  /** Pauses until the returned function is called, then restarts. */
  pause(): () => void {
    const ran = this.#timer !== undefined;
    this.stop();
    this.#paused = ran;
    return () => {
      if (this.#paused) this.start();
    };
  }
}
