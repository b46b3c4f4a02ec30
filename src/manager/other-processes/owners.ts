import { posix } from 'node:path';
import type { ProcessFacts } from '../machine/process.ts';
import { Labels } from '../../shared/contract/paths.ts';
import type { Engine, OwnContainer } from '../../shared/engine/engine.ts';
import type { PresentRuns } from '../host-mode/present-runs.ts';
import { type HostEngine, isHostRun } from '../host-mode/host-engine.ts';
import { jobLabel, ofAgent } from '../host-mode/agent-root.ts';
import { unitName } from '../host-mode/systemd.ts';
import { userName } from '../host-mode/user.ts';
import type { Slot } from '../model.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import type { RunCommand } from '../machine/command.ts';

/** A run of this manager, running or ended. */
interface RunOwner {
  readonly slot: string;
  /** The run is not known to have ended. */
  readonly live: boolean;
}

/** Keys that identify processes of runs. */
export interface Owners {
  /** By the full id of the container. */
  readonly containers: ReadonlyMap<string, RunOwner>;
  /** By the name of the systemd unit. */
  readonly units: ReadonlyMap<string, RunOwner>;
  /** By login: users of a single slot. */
  readonly users: ReadonlyMap<string, RunOwner>;
  /** Docker does not answer: unknown containers may belong to this manager. */
  readonly isDockerDown: boolean;
}

/** The owner of a process on a GPU. */
export type Owner =
  /** A daemon of the driver, or a display server. */
  | { readonly kind: 'service' }
  | ({ readonly kind: 'run' } & RunOwner)
  /** Another user: any process not known to be of a run. */
  | { readonly kind: 'foreign'; readonly container?: string }
  /** In a container whose owner is not known. */
  | { readonly kind: 'unknown' }
  /** Listed by nvidia-smi, but just exited or not visible. */
  | { readonly kind: 'hidden' };

/**
 * Daemons of the driver: persistence, MPS, fabric manager, IMEX, DCGM. The kernel cuts names at 15 characters. They must run
 * under a system account, since any process may choose such a name; an MPS server of a person belongs to that person.
 */
const daemons =
  /^(?:nvidia-persiste|nvidia-cuda-mps|nvidia-imex|nv-fabricmanage|nv-hostengine|nvsm_core|dcgm-exporter)/u;
/** Uids below are system accounts (Debian policy 9.2.2, SYS_UID_MAX of shadow). */
const firstUserUid = 1000;

/** Display servers, which may have a compute context (`C+G` of nvidia-smi). */
const displayServers =
  /^(?:Xorg|Xwayland|gnome-shell|kwin_wayland|kwin_x11|plasmashell|mutter|weston|sway|gdm-|sddm)/u;
/** Most memory of a display server; captures of drivers 595 and 610 show 3 to 200 MiB. A process with more also computes. */
const displayServerMiB = 1024;

/** A process with its login, and its parent if that identifies the owner. */
export interface SeenProcess extends ProcessFacts {
  readonly login: string;
  readonly starter?: ProcessFacts;
}

/** Returns whether a process is an MPS server. It runs as the user of its clients, so its parent identifies the owner. Pure. */
export function isMpsServer({ comm }: Pick<ProcessFacts, 'comm'>): boolean {
  return comm.startsWith('nvidia-cuda-mps');
}

/** Returns the owner of a process. The name of a process is trusted only where a false name gains nothing. Pure. */
export function ownerOf(
  process: SeenProcess | undefined,
  usedMiB: number | undefined,
  owners: Owners,
): Owner {
  if (process === undefined) return { kind: 'hidden' };
  const { comm, login } = process;
  const { containers, units } = cgroupsOf(process);
  const run =
    containers.map((id) => owners.containers.get(id)).find((found) => found !== undefined) ??
    (containers.length > 0
      ? undefined
      : (units.map((unit) => owners.units.get(unit)).find((found) => found !== undefined) ??
        owners.users.get(login)));
  if (run !== undefined) return { kind: 'run', ...run };
  const container = containers.at(-1);
  if (container !== undefined)
    return owners.isDockerDown ? { kind: 'unknown' } : { kind: 'foreign', container };
  if (isDaemon(process)) return { kind: 'service' };
  if (displayServers.test(comm) && (usedMiB ?? 0) <= displayServerMiB) return { kind: 'service' };
  return { kind: 'foreign' };
}

function isDaemon({ uid, comm, starter }: SeenProcess): boolean {
  if (!daemons.test(comm)) return false;
  return uid < firstUserUid || (starter !== undefined && isMpsServer(starter) && starter.uid < firstUserUid);
}

/** Returns the containers (outermost first) and system units of a process. */
function cgroupsOf({ cgroups }: ProcessFacts): {
  readonly containers: readonly string[];
  readonly units: readonly string[];
} {
  // Users may create control groups there with the name of any container.
  if (cgroups.some((path) => path.startsWith('/user.slice/'))) return { containers: [], units: [] };
  const all = (pattern: RegExp): string[] => [
    ...new Set(cgroups.flatMap((path) => [...path.matchAll(pattern)].map(([, found = '']) => found))),
  ];
  return {
    containers: all(/[/-]([0-9a-f]{64})(?=[/.]|$)/gu),
    units: all(/^\/system\.slice\/([^/]+\.service)(?=\/|$)/gu),
  };
}

export interface OwnerTools extends Pick<ManagerDeps, 'config' | 'log'> {
  readonly engine: Pick<Engine, 'withLabel'>;
  readonly host: { readonly engine: Pick<HostEngine, 'requireEnded' | 'rootOf'> };
}

/**
 * Returns the keys of the current runs. `ended`: slots of exited containers by id, which Docker may no longer list. A run
 * that is not known to have ended is live.
 */
export async function currentOwners(
  tools: OwnerTools,
  runs: PresentRuns,
  slots: readonly Slot[],
  ended: ReadonlyMap<string, string>,
): Promise<Owners> {
  await runs.refresh();
  const containers = new Map<string, RunOwner>([...ended].map(([id, slot]) => [id, { slot, live: false }]));
  for (const container of runs.all)
    if (!isHostRun(container.id) && !ended.has(container.id)) containers.set(container.id, runOf(container));
  const units = new Map<string, RunOwner>();
  const users = new Map<string, RunOwner>();
  for (const { name } of slots.filter(({ mode }) => mode === 'host')) {
    const found = runs.all.filter(({ id, labels }) => isHostRun(id) && labels[Labels.slot] === name);
    // A unit without a known run may have a job.
    const live =
      found.some((run) => runOf(run).live) ||
      (await tools.host.engine.requireEnded(unitName(name)).then(
        () => false,
        () => true,
      ));
    const run = { slot: name, live };
    units.set(unitName(name), run);
    users.set(userName(name), run);
    for (const id of await jobContainers(tools, name)) containers.set(id, run);
  }
  return { containers, units, users, isDockerDown: runs.problem !== undefined };
}

function runOf({ labels, state }: OwnContainer): RunOwner {
  const hasEnded = state === 'exited' || state === 'dead' || state === 'removing';
  return { slot: labels[Labels.slot] ?? '', live: !hasEnded };
}

/** Returns the containers of a container job of a slot with `mode: host`. */
async function jobContainers(
  { engine, host, config, log }: OwnerTools,
  slot: string,
): Promise<readonly string[]> {
  if (!config.jobs.docker) return [];
  const root = host.engine.rootOf(slot);
  const labelled = await engine.withLabel(jobLabel(root)).catch((error: unknown) => {
    log.log('info', 'the owners of containers are unknown: Docker does not answer', { error });
    return { containers: [], networks: [] };
  });
  return ofAgent(root, labelled).containers.map(({ id }) => id);
}

const longestCommandLine = 4096;
const commandMs = 5_000;
const mostLogins = 1_000;

/** Interpreters; their first argument is shown instead of their name. */
const interpreter =
  /^(?:python|pypy|node|perl|ruby|bash|dash|zsh|ksh|sh|Rscript|julia|java|torchrun|accelerate|deepspeed|mpirun|uv)[\d.]*$/u;

/** Returns the program of a command line (arguments separated by NUL); undefined if it is empty. Pure. */
export function programIn(commandLine: string): string | undefined {
  // Cleaned before the path is split: the end of an escape sequence would look like a name.
  const [first = '', ...rest] = commandLine.split('\0').map((argument) => foreignLine(argument));
  const program = posix.basename(first);
  if (program === '') return undefined;
  const script = rest.find((argument) => argument !== '' && !argument.startsWith('-'));
  // The argument of -c is code, not a name.
  if (!interpreter.test(program) || script === undefined || rest[0] === '-c') return program;
  return posix.basename(script);
}

/**
 * Returns the program of a process; undefined if unknown. The command line is in the memory of the process, whose lock a hung
 * process may hold: another program reads it, with a deadline.
 */
export async function programOf(
  command: RunCommand,
  { pid, state }: Pick<ProcessFacts, 'pid' | 'state'>,
): Promise<string | undefined> {
  if (state === 'D') return undefined;
  const args = ['-c', String(longestCommandLine), `/proc/${pid}/cmdline`];
  const { code, output } = await command('head', args, commandMs);
  return code === 0 ? programIn(output) : undefined;
}

/** Names of accounts, also from a directory service. */
export class Logins {
  readonly #command: RunCommand;
  readonly #known = new Map<number, string>();

  constructor(command: RunCommand) {
    this.#command = command;
  }

  /** Returns the name of a uid; `uid 4000` if it has none. */
  async of(uid: number): Promise<string> {
    const known = this.#known.get(uid);
    if (known !== undefined) return known;
    const { code, output, timedOut } = await this.#command('getent', ['passwd', String(uid)], commandMs);
    const [login = ''] = code === 0 ? output.split(':', 1) : [];
    const name = login === '' ? `uid ${uid}` : foreignLine(login, 64);
    // After a timeout the directory may answer later.
    if (timedOut) return name;
    if (this.#known.size >= mostLogins) this.#known.clear();
    this.#known.set(uid, name);
    return name;
  }
}
