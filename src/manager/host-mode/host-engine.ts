import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../shared/base/clock.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { untar } from '../../shared/base/tar.ts';
import { Labels } from '../../shared/contract/paths.ts';
import type { ContainerExit, Engine, OwnContainer, Removal } from '../../shared/engine/engine.ts';
import type { FileTail, TailLimits } from '../../shared/engine/tails.ts';
import { AgentLayout } from '../../shared/image/layout.ts';
import { folderTails, type HostRun, keptRuns, RunFolder } from './run-folder.ts';
import { stopSignal } from '../docker/agent-setup.ts';
import type { RunCommand } from '../machine/command.ts';
import { readText } from '../machine/files.ts';
import type { AgentRoots } from './agent-root.ts';
import { exitCode, exitedAt, livenessOf, mayRun, Systemd, type UnitState } from './systemd.ts';
import { type HostUser, userName, clearUser } from './user.ts';
import { Lines } from '../../shared/engine/frames.ts';

/** The part of the engine's interface for runs; implemented here for runs with `mode: host`. */
type RunEngine = Pick<
  Engine,
  | 'listOwn'
  | 'putArchive'
  | 'readTails'
  | 'start'
  | 'stop'
  | 'exit'
  | 'logs'
  | 'followLogs'
  | 'remove'
  | 'removeUnlessRunning'
>;

const prefix = 'host-';
const pollMs = 300;

export function isHostRun(id: string): boolean {
  return id.startsWith(prefix);
}

/** Runs agents as transient systemd units, with one unit and one folder for each run. */
export class HostEngine implements RunEngine {
  readonly #directory: string;
  readonly #roots: AgentRoots;
  readonly #systemd: Systemd;
  readonly #command: RunCommand;
  readonly #clock: Clock;

  /** `directory`: the state of each run. */
  constructor(directory: string, roots: AgentRoots, command: RunCommand, clock: Clock) {
    this.#directory = directory;
    this.#roots = roots;
    this.#command = command;
    this.#systemd = new Systemd(command);
    this.#clock = clock;
  }

  /** Copies the agent to its slot's folder, and saves the arguments of systemd-run for its start. */
  async create(order: {
    readonly run: string;
    readonly slot: string;
    readonly agent: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly program: string;
    readonly unit: string;
    readonly user: HostUser;
    systemdRun(paths: { readonly root: string; readonly log: string }): readonly string[];
  }): Promise<string> {
    const id = `${prefix}${order.run}`;
    const folder = new RunFolder(this.#directory, id);
    const { unit, agent, user } = order;
    const { uid, gid } = user;
    const root = this.#roots.of(order.slot);
    const labels = { ...order.labels, unit };
    await this.requireEnded(unit);
    // The state first: after a failure the run is listed as not started, and removed.
    await folder.write({ id, uid, gid, root, agent, labels, createdAt: this.#clock.wall() });
    await writeFile(folder.arguments, JSON.stringify(order.systemdRun({ root, log: folder.log })));
    await clearUser(this.#command, user, unit);
    // A unit without a known run would hold the name even after its exit.
    await this.#systemd.release(unit);
    await this.#roots.clear(root);
    await this.#roots.fill(root, order.program, user);
    return id;
  }

  async listOwn(filter: Readonly<Record<string, string>> = {}): Promise<readonly OwnContainer[]> {
    const ids = await keptRuns(this.#directory, isHostRun);
    const found = await Promise.all(ids.map(async (id) => this.#seen(id)));
    return found
      .filter((run) => run !== undefined)
      .filter(({ labels }) => Object.entries(filter).every(([key, value]) => labels[key] === value));
  }

  /** Returns the uids of all runs, started or not. */
  async uids(): Promise<readonly number[]> {
    const ids = await keptRuns(this.#directory, isHostRun);
    const runs = await Promise.all(ids.map(async (id) => new RunFolder(this.#directory, id).read()));
    return [...new Set(runs.flatMap((run) => (run === undefined ? [] : [run.uid])))];
  }

  /** Returns the agent's folder in all runs of the slot. */
  rootOf(slot: string): string {
    return this.#roots.of(slot);
  }

  async putArchive(id: string, _path: string, archive: Buffer): Promise<void> {
    const { run } = await this.#get(id);
    for (const [name, content] of await untar(archive))
      await writeFile(join(run.root, name), content, { mode: 0o600 });
    await this.#roots.own(run.root, run.uid, run.gid);
  }

  /** Reads from the agent's folder on the host: `path` is below the root of the image. */
  async readTails(
    id: string,
    path: string,
    accepts: (name: string) => boolean,
    limits: TailLimits,
  ): Promise<readonly FileTail[]> {
    const { run } = await this.#get(id);
    return folderTails(join(run.root, relative(AgentLayout.root, path)), accepts, limits);
  }

  async start(id: string): Promise<void> {
    const { folder, run, unit } = await this.#get(id);
    const args = JSON.parse(await readText(folder.arguments)) as string[];
    const starting = { ...run, startingAt: this.#clock.wall() };
    await folder.write(starting);
    await this.#systemd.begin(args);
    const state = await this.#systemd.state(unit);
    if (state === undefined) return;
    const { MainPID = '0', InvocationID: invocation = '' } = state;
    const started = { ...starting, startedAt: this.#clock.wall(), pid: Number(MainPID), invocation };
    // A failure does no harm: `startingAt` is on disk, and systemd has the unit.
    await folder.write(started).catch(() => undefined);
  }

  async stop(id: string, timeoutS: number): Promise<void> {
    const { unit } = await this.#get(id);
    // A stopped unit would lose the agent's exit code.
    await this.#systemd.signal(unit, stopSignal);
    const deadline = this.#clock.monotonic() + timeoutS * 1000;
    while (mayRun(livenessOf(await this.#systemd.state(unit)))) {
      if (this.#clock.monotonic() > deadline) return this.#systemd.stop(unit);
      await sleep(pollMs);
    }
  }

  async exit(id: string): Promise<ContainerExit> {
    const { folder, run, unit } = await this.#get(id);
    const state = ofRun(run, (await this.#systemd.state(unit)) ?? throwUnknownState(unit));
    const lastOutput = await folder.lastWrite(run.createdAt);
    const ended = exitedAt(state);
    return {
      code: exitCode(state),
      oomKilled: state['Result'] === 'oom-kill',
      startedAt: new Date(run.startedAt ?? run.startingAt ?? run.createdAt).toISOString(),
      // systemd reports whole seconds; the last output is more precise.
      finishedAt: new Date(
        ended === undefined ? lastOutput : Math.max(ended, Math.min(lastOutput, ended + 999)),
      ).toISOString(),
    };
  }

  async logs(id: string, tail: number): Promise<string> {
    const text = await new RunFolder(this.#directory, id).output();
    return text
      .split('\n')
      .slice(-tail - 1)
      .join('\n');
  }

  async *followLogs(id: string, signal: AbortSignal): AsyncIterable<string> {
    const { folder, run, unit } = await this.#get(id);
    yield* followOutput({ folder, unit, pid: run.pid, systemd: this.#systemd }, signal);
  }

  /** Removes a run. Rejects while its unit runs, or may run: a job may be in it. */
  async remove(id: string): Promise<Removal> {
    const folder = new RunFolder(this.#directory, id);
    const run = await folder.read();
    if (run !== undefined) {
      const { [Labels.slot]: slot = '', unit = '' } = run.labels;
      await this.requireEnded(unit);
      // Before the unit's name is freed: with it systemd forgets the control group of what the job left.
      await clearUser(this.#command, { name: userName(slot), uid: run.uid }, unit);
      await this.#systemd.release(unit);
      await this.#roots.clear(run.root);
    }
    await rm(folder.path, { recursive: true, force: true });
    return 'removed';
  }

  async removeUnlessRunning(id: string): Promise<Removal> {
    return (await this.#seen(id))?.state === 'running' ? 'running' : this.remove(id);
  }

  /** Rejects while the unit runs or may run, even without a known run. */
  async requireEnded(unit: string): Promise<void> {
    const liveness = livenessOf(await this.#systemd.state(unit));
    if (liveness === 'unknown') throwUnknownState(unit);
    if (liveness !== 'running') return;
    throw new FleetError({
      code: 'host-mode.unit-runs',
      what: `the unit ${unit} is running, perhaps with a job`,
      next: `wait until its job ends, or stop it on the host: systemctl stop ${unit}`,
    });
  }

  async #seen(id: string): Promise<OwnContainer | undefined> {
    const folder = new RunFolder(this.#directory, id);
    const run = await folder.read();
    if (run === undefined) return undefined;
    return {
      id,
      name: run.agent,
      state: await this.#stateOf(run, folder),
      labels: run.labels,
      image: '',
      created: Math.floor(run.createdAt / 1000),
    };
  }

  /** Returns the state of a run. After `startingAt` it may run; systemd creates the log when it starts the unit. */
  async #stateOf(run: HostRun, folder: RunFolder): Promise<OwnContainer['state']> {
    const began = run.startedAt !== undefined || (await folder.hasLog());
    if (!began && run.startingAt === undefined) return 'created';
    const liveness = livenessOf(await this.#systemd.state(run.labels['unit'] ?? ''));
    if (mayRun(liveness)) return 'running';
    return began || liveness === 'ended' ? 'exited' : 'created';
  }

  async #get(
    id: string,
  ): Promise<{ readonly folder: RunFolder; readonly run: HostRun; readonly unit: string }> {
    const folder = new RunFolder(this.#directory, id);
    const run = await folder.read();
    if (run === undefined) throw new FleetError({ code: 'engine.not-found', what: `no run ${id}` });
    return { folder, run, unit: run.labels['unit'] ?? '' };
  }
}

/** Returns the state of this run; empty if the unit shows another run. */
function ofRun({ invocation = '' }: HostRun, state: UnitState): UnitState {
  const shown = state['InvocationID'] ?? '';
  return invocation === '' || shown === '' || shown === invocation ? state : {};
}

function throwUnknownState(unit: string): never {
  throw new FleetError({
    code: 'host-mode.failed',
    what: `systemd does not report the state of ${unit}`,
    next: `retried automatically; if it stays, check systemctl status ${unit} on the host`,
  });
}

const outputPollMs = 300;

/** Follows the output of a unit's agent, line by line, from start to exit. `pid`: of its main process, if known. */
async function* followOutput(
  of: {
    readonly folder: Pick<RunFolder, 'outputFrom'>;
    readonly unit: string;
    readonly pid: number | undefined;
    readonly systemd: Pick<Systemd, 'state'>;
  },
  signal: AbortSignal,
): AsyncIterable<string> {
  const { folder, unit, systemd } = of;
  const lines = new Lines();
  for (let at = 0, ended = false, { pid } = of; !signal.aborted;) {
    const chunk = await folder.outputFrom(at);
    at += chunk.length;
    yield* lines.push(chunk);
    if (ended) break;
    if (!(await isOf(unit, pid))) {
      const state = await systemd.state(unit);
      ended = !mayRun(livenessOf(state));
      pid = Number(state?.['MainPID'] ?? 0);
    }
    if (!ended) await sleep(outputPollMs, undefined, { signal }).catch(() => undefined);
  }
  yield* lines.end();
}

/** Returns whether a process belongs to the unit, by its control group. */
async function isOf(unit: string, pid: number | undefined): Promise<boolean> {
  if (pid === undefined || pid === 0) return false;
  const cgroup = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
  return cgroup.split('\n').some((line) => line.endsWith(`/${unit}`));
}

/** Returns the Docker Engine with runs on the host as further containers. */
export function withHostRuns(docker: Engine, host: RunEngine): Engine {
  const of = (id: string): RunEngine => (isHostRun(id) ? host : docker);
  return {
    ...docker,
    listOwn: async (filter) => [...(await docker.listOwn(filter)), ...(await host.listOwn(filter))],
    putArchive: (id, path, archive) => of(id).putArchive(id, path, archive),
    readTails: (id, path, accepts, limits) => of(id).readTails(id, path, accepts, limits),
    start: (id) => of(id).start(id),
    stop: (id, timeoutS) => of(id).stop(id, timeoutS),
    exit: (id) => of(id).exit(id),
    logs: (id, tail) => of(id).logs(id, tail),
    followLogs: (id, signal) => of(id).followLogs(id, signal),
    remove: (id) => of(id).remove(id),
    removeUnlessRunning: (id) => of(id).removeUnlessRunning(id),
  };
}
