import { randomBytes } from 'node:crypto';
import { appendFileSync, writeFileSync } from 'node:fs';
import type { CommandResult, RunCommand } from '../../src/manager/machine/command.ts';

interface Unit {
  ActiveState: string;
  SubState: string;
  MainPID: string;
  InvocationID: string;
  Result: string;
  ExecMainCode: string;
  ExecMainStatus: string;
}

const none: Unit = {
  ActiveState: 'inactive',
  SubState: 'dead',
  MainPID: '0',
  InvocationID: '',
  Result: 'success',
  ExecMainCode: '0',
  ExecMainStatus: '0',
};

/** Transient units as systemd keeps them: their states and logs, and what it forgets when they are stopped. */
export class FakeSystemd {
  readonly units = new Map<string, Unit>();
  /** Command lines that were run. */
  readonly calls: string[] = [];
  /** Output of the units. */
  readonly #logs = new Map<string, string>();
  /** systemctl verbs that get no answer. */
  readonly deaf = new Set<string>();
  /** Called once a unit has been started, before the caller of systemd-run has its answer. */
  onStarted: (unit: string) => void = () => undefined;

  /** Undefined: not a program of systemd's. */
  readonly command = (...[program, args]: Parameters<RunCommand>): Promise<CommandResult> | undefined => {
    if (program !== 'systemctl' && program !== 'systemd-run') return undefined;
    this.calls.push([program, ...args].join(' '));
    return Promise.resolve(program === 'systemd-run' ? this.#run(args) : this.#control(args));
  };

  /** Ends its main process: RemainAfterExit= keeps a unit that succeeded active. */
  end(name: string, status: number): void {
    const unit = this.units.get(name) ?? none;
    const after =
      status === 0
        ? { ActiveState: 'active', SubState: 'exited', Result: 'success' }
        : { ActiveState: 'failed', SubState: 'failed', Result: 'exit-code' };
    this.units.set(name, {
      ...unit,
      ...after,
      MainPID: '0',
      ExecMainCode: '1',
      ExecMainStatus: String(status),
    });
  }

  /** Its program prints a line. */
  say(name: string, line: string): void {
    appendFileSync(this.#logs.get(name) ?? '', `${line}\n`);
  }

  start(name: string): void {
    this.units.set(name, {
      ...none,
      ActiveState: 'active',
      SubState: 'running',
      MainPID: '2147483646',
      InvocationID: randomBytes(16).toString('hex'),
    });
  }

  #run(args: readonly string[]): CommandResult {
    const name = args.find((arg) => arg.startsWith('--unit='))?.slice('--unit='.length);
    // A unit that waits for its program is not kept.
    if (name === undefined) return answer(0, '');
    if (this.units.has(name))
      return answer(1, `Failed to start transient service unit: Unit ${name} already exists.`);
    const log = args
      .find((arg) => arg.startsWith('StandardOutput=append:'))
      ?.slice('StandardOutput=append:'.length);
    if (log !== undefined) {
      writeFileSync(log, '');
      this.#logs.set(name, log);
    }
    this.start(name);
    this.onStarted(name);
    return answer(0, `Running as unit: ${name}`);
  }

  #control([verb = '', ...rest]: readonly string[]): CommandResult {
    if (this.deaf.has(verb)) return answer(1, 'Failed to connect to bus: Connection refused');
    if (verb === 'show') return answer(0, this.#shown(rest[0] ?? '', rest[2]?.split(',') ?? []));
    if (verb === 'stop' || verb === 'reset-failed') for (const name of rest) this.#forget(verb, name);
    return answer(0, '');
  }

  #forget(verb: string, name: string): void {
    const state = this.units.get(name)?.ActiveState;
    if (verb === 'stop' ? state === 'active' : state === 'failed') this.units.delete(name);
  }

  #shown(name: string, properties: readonly string[]): string {
    const unit = this.units.get(name);
    const all: Readonly<Record<string, string>> = {
      LoadState: unit === undefined ? 'not-found' : 'loaded',
      ...(unit ?? none),
      ExecMainExitTimestamp: '',
    };
    return properties.map((property) => `${property}=${all[property] ?? ''}\n`).join('');
  }
}

function answer(code: number, output: string): CommandResult {
  return { code, output, timedOut: false, stillRunning: () => false };
}
