import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../base/machine/clock.ts';
import { FleetError } from '../../base/errors.ts';
import { untar } from '../../base/tar.ts';
import type { ContainerExit, Engine, OwnContainer } from '../../engine/engine.ts';
import { Lines } from '../../engine/frames.ts';
import type { RunCommand } from '../machine/command.ts';
import { RunFolder, type HostRun } from './run-folder.ts';
import type { HostUser } from './user.ts';

/** The part of the Docker Engine's interface by which runs are handled; here for runs straight on the host. */
export type RunEngine = Pick<
  Engine,
  | 'listOwn'
  | 'putArchive'
  | 'start'
  | 'stop'
  | 'exit'
  | 'logs'
  | 'followLogs'
  | 'remove'
  | 'removeUnlessRunning'
>;

const prefix = 'host-';
const commandMs = 60_000;
const pollMs = 300;

export function isHostRun(id: string): boolean {
  return id.startsWith(prefix);
}

/** Agents as transient systemd units, one unit and one folder per run. */
export class HostEngine implements RunEngine {
  readonly #directory: string;
  readonly #command: RunCommand;
  readonly #clock: Clock;

  constructor(directory: string, command: RunCommand, clock: Clock) {
    this.#directory = directory;
    this.#command = command;
    this.#clock = clock;
  }

  /** A fresh copy of the agent in a folder of its own; `started` by `arguments` of systemd-run later. */
  async create(order: {
    readonly run: string;
    readonly agent: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly program: string;
    readonly unit: string;
    readonly user: HostUser;
    systemdRun(folder: { readonly root: string; readonly log: string }): readonly string[];
  }): Promise<string> {
    const id = `${prefix}${order.run}`;
    const folder = new RunFolder(this.#directory, id);
    await mkdir(folder.path, { recursive: true, mode: 0o700 });
    await this.#must('cp', ['-a', '--reflink=auto', order.program, folder.root]);
    await mkdir(join(folder.root, 'home'), { mode: 0o700 });
    // Below .config the agent remembers the server's addresses; without it each connection costs it seconds.
    for (const name of ['.config', '.local/share'])
      await mkdir(join(folder.root, 'home', name), { recursive: true, mode: 0o700 });
    await this.#own(folder, order.user.uid, order.user.gid);
    await writeFile(join(folder.path, 'arguments.json'), JSON.stringify(order.systemdRun(folder)));
    const { uid, gid } = order.user;
    await folder.write({
      id,
      uid,
      gid,
      agent: order.agent,
      labels: { ...order.labels, unit: order.unit },
      createdAt: this.#clock.wall(),
    });
    return id;
  }

  async listOwn(filter: Readonly<Record<string, string>> = {}): Promise<readonly OwnContainer[]> {
    const ids = (await readdir(this.#directory).catch(() => [])).filter(isHostRun);
    const found = await Promise.all(ids.map(async (id) => this.#seen(id)));
    return found
      .filter((run) => run !== undefined)
      .filter(({ labels }) => Object.entries(filter).every(([key, value]) => labels[key] === value));
  }

  /** Whose runs are here, begun or not. */
  async uids(): Promise<readonly number[]> {
    const ids = (await readdir(this.#directory).catch(() => [])).filter(isHostRun);
    const runs = await Promise.all(ids.map(async (id) => new RunFolder(this.#directory, id).read()));
    return [...new Set(runs.flatMap((run) => (run === undefined ? [] : [run.uid])))];
  }

  async putArchive(id: string, _path: string, archive: Buffer): Promise<void> {
    const { folder, run } = await this.#get(id);
    for (const [name, content] of await untar(archive))
      await writeFile(join(folder.root, name), content, { mode: 0o600 });
    await this.#own(folder, run.uid, run.gid);
  }

  async start(id: string): Promise<void> {
    const { folder, run, unit } = await this.#get(id);
    // What is left of the slot's last run would make the name of the unit taken.
    await this.#release(unit);
    const args = JSON.parse(await readFile(join(folder.path, 'arguments.json'), 'utf8')) as string[];
    await this.#must('systemd-run', args);
    const { MainPID = '0' } = await this.#show(unit);
    await folder.write({ ...run, startedAt: this.#clock.wall(), pid: Number(MainPID) });
  }

  async stop(id: string, timeoutS: number): Promise<void> {
    const { unit } = await this.#get(id);
    await this.#command('systemctl', ['stop', unit], timeoutS * 1000 + commandMs);
  }

  async exit(id: string): Promise<ContainerExit> {
    const { folder, run, unit } = await this.#get(id);
    const shown = await this.#show(unit);
    // After a reboot systemd knows nothing of it any more: then it did not end by itself.
    const known = shown['LoadState'] === 'loaded';
    return {
      code: known ? exitCode(shown) : 255,
      oomKilled: shown['Result'] === 'oom-kill',
      startedAt: new Date(run.startedAt ?? run.createdAt).toISOString(),
      finishedAt: new Date(await folder.lastWrite(run.createdAt)).toISOString(),
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
    const { folder, run } = await this.#get(id);
    const lines = new Lines();
    for (let at = 0, ended = false; !signal.aborted;) {
      const chunk = await folder.outputFrom(at);
      at += chunk.length;
      yield* lines.push(chunk);
      if (ended) break;
      ended = !(await isAlive(run.pid));
      if (!ended) await sleep(pollMs, undefined, { signal }).catch(() => undefined);
    }
    yield* lines.end();
  }

  async remove(id: string): Promise<void> {
    const folder = new RunFolder(this.#directory, id);
    const run = await folder.read();
    const unit = run?.labels['unit'];
    if (unit !== undefined) await this.#release(unit);
    await rm(folder.path, { recursive: true, force: true });
  }

  async removeUnlessRunning(id: string): Promise<void> {
    if ((await this.#seen(id))?.state !== 'running') await this.remove(id);
  }

  async #seen(id: string): Promise<OwnContainer | undefined> {
    const run = await new RunFolder(this.#directory, id).read();
    if (run === undefined) return undefined;
    const ended = run.startedAt !== undefined && !(await isAlive(run.pid));
    return {
      id,
      name: run.agent,
      state: run.startedAt === undefined ? 'created' : ended ? 'exited' : 'running',
      labels: run.labels,
      image: '',
      created: Math.floor(run.createdAt / 1000),
    };
  }

  async #get(
    id: string,
  ): Promise<{ readonly folder: RunFolder; readonly run: HostRun; readonly unit: string }> {
    const folder = new RunFolder(this.#directory, id);
    const run = await folder.read();
    if (run === undefined) throw new FleetError({ code: 'engine.not-found', what: `there is no run ${id}` });
    return { folder, run, unit: run.labels['unit'] ?? '' };
  }

  async #own({ root }: RunFolder, uid: number, gid: number): Promise<void> {
    await this.#must('chown', ['-R', `${uid}:${gid}`, root]);
  }

  async #release(unit: string): Promise<void> {
    await this.#command('systemctl', ['stop', unit], commandMs);
    await this.#command('systemctl', ['reset-failed', unit], commandMs);
  }

  async #show(unit: string): Promise<Readonly<Record<string, string>>> {
    const properties = 'LoadState,SubState,MainPID,Result,ExecMainStatus,ExecMainCode';
    const { output } = await this.#command('systemctl', ['show', unit, '-p', properties], commandMs);
    return Object.fromEntries(
      output.split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]),
    );
  }

  async #must(program: string, args: readonly string[]): Promise<void> {
    const { code, output } = await this.#command(program, args, 10 * commandMs);
    if (code === 0) return;
    throw new FleetError({
      code: 'host-mode.failed',
      what: `${program} failed on the host`,
      seen: output.trim(),
      next: 'look at journalctl -u azp-fleet-manager',
    });
  }
}

/** `ExecMainCode` 1 is an exit, anything else a signal; a shell would say 128 and its number. */
function exitCode(shown: Readonly<Record<string, string>>): number {
  const status = Number(shown['ExecMainStatus'] ?? 0);
  return shown['ExecMainCode'] === '1' || shown['ExecMainCode'] === '0' ? status : 128 + status;
}

async function isAlive(pid: number | undefined): Promise<boolean> {
  if (pid === undefined || pid === 0) return false;
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return command.includes('Agent.Listener');
}
