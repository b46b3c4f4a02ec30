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

/** A run of this manager, or its leftovers. */
interface RunOf {
  readonly slot: string;
  /** It is not known to have ended. */
  readonly live: boolean;
}

/** Keys by which processes of runs are known. */
export interface Owners {
  /** By the full id of the container. */
  readonly containers: ReadonlyMap<string, RunOf>;
  /** By the name of the systemd unit. */
  readonly units: ReadonlyMap<string, RunOf>;
  /** By login: users of a single slot. */
  readonly users: ReadonlyMap<string, RunOf>;
  /** Docker does not answer: unknown containers may be this manager's. */
  readonly isDockerAway: boolean;
}

/** The owner of a process on a GPU. */
export type Whose =
  /** A daemon of the driver, or a display server. */
  | { readonly kind: 'service' }
  | ({ readonly kind: 'run' } & RunOf)
  /** Another user: any process not known to be of a run. */
  | { readonly kind: 'stranger'; readonly container?: string }
  /** In a container whose owner is not known. */
  | { readonly kind: 'unknown' }
  /** Listed, but hidden: it just exited, or is not visible from here. */
  | { readonly kind: 'unseen' };

/**
 * Daemons of the driver: persistence, MPS, fabric manager, IMEX, DCGM. The kernel cuts names at 15 characters. Only with a
 * system account, since any process may choose such a name; MPS of a person is that person's.
 */
const daemons =
  /^(?:nvidia-persiste|nvidia-cuda-mps|nvidia-imex|nv-fabricmanage|nv-hostengine|nvsm_core|dcgm-exporter)/u;
/** Uids below are system accounts (Debian policy 9.2.2, SYS_UID_MAX of shadow). */
const firstPerson = 1000;

/** Display servers, which may have a compute context (`C+G` of nvidia-smi). */
const screens =
  /^(?:Xorg|Xwayland|gnome-shell|kwin_wayland|kwin_x11|plasmashell|mutter|weston|sway|gdm-|sddm)/u;
/** A desktop has some hundred MiB (captures of 595 and 610: 3 to 200 MiB a process); a process with more does not only draw. */
const mostOfScreenMiB = 1024;

/** A process with its login, and its parent where that identifies the owner. */
export interface SeenProcess extends ProcessFacts {
  readonly login: string;
  readonly starter?: ProcessFacts;
}

/** Returns whether it is an MPS server, which runs as the user of its clients: its parent identifies the owner. Pure. */
export function isMpsServer({ comm }: Pick<ProcessFacts, 'comm'>): boolean {
  return comm.startsWith('nvidia-cuda-mps');
}

/** Returns the owner of a process. Its name is only trusted where it gives no advantage. Pure. */
export function whoseIs(
  process: SeenProcess | undefined,
  usedMiB: number | undefined,
  owners: Owners,
): Whose {
  if (process === undefined) return { kind: 'unseen' };
  const { comm, login } = process;
  const { containers, units } = placesOf(process);
  const run =
    containers.map((id) => owners.containers.get(id)).find((found) => found !== undefined) ??
    (containers.length > 0
      ? undefined
      : (units.map((unit) => owners.units.get(unit)).find((found) => found !== undefined) ??
        owners.users.get(login)));
  if (run !== undefined) return { kind: 'run', ...run };
  const container = containers.at(-1);
  if (container !== undefined)
    return owners.isDockerAway ? { kind: 'unknown' } : { kind: 'stranger', container };
  if (isDaemon(process)) return { kind: 'service' };
  if (screens.test(comm) && (usedMiB ?? 0) <= mostOfScreenMiB) return { kind: 'service' };
  return { kind: 'stranger' };
}

function isDaemon({ uid, comm, starter }: SeenProcess): boolean {
  if (!daemons.test(comm)) return false;
  return uid < firstPerson || (starter !== undefined && isMpsServer(starter) && starter.uid < firstPerson);
}

/** Returns the containers (outermost first) and system units of a process. */
function placesOf({ cgroups }: ProcessFacts): {
  readonly containers: readonly string[];
  readonly units: readonly string[];
} {
  // Users create and name control groups below it, possibly like foreign containers.
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
 * Returns the keys of the current runs. `ended`: exited containers by id, with their slot, which Docker may no longer list.
 * A run that is not known to have ended is live.
 */
export async function ownersNow(
  tools: OwnerTools,
  runs: PresentRuns,
  slots: readonly Slot[],
  ended: ReadonlyMap<string, string>,
): Promise<Owners> {
  await runs.look();
  const containers = new Map<string, RunOf>([...ended].map(([id, slot]) => [id, { slot, live: false }]));
  for (const container of runs.all)
    if (!isHostRun(container.id) && !ended.has(container.id)) containers.set(container.id, runOf(container));
  const units = new Map<string, RunOf>();
  const users = new Map<string, RunOf>();
  for (const { name } of slots.filter(({ mode }) => mode === 'host')) {
    const found = runs.all.filter(({ id, labels }) => isHostRun(id) && labels[Labels.slot] === name);
    // A unit without a known run may have a job, too.
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
  return { containers, units, users, isDockerAway: runs.problem !== undefined };
}

function runOf({ labels, state }: OwnContainer): RunOf {
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
    log.log('info', 'Docker does not answer: the owners of its containers are not known', { error });
    return { containers: [], networks: [] };
  });
  return ofAgent(root, labelled).containers.map(({ id }) => id);
}

const longestCommandLine = 4096;
const commandMs = 5_000;
const mostLogins = 1_000;

/** Interpreters: their first argument is more useful than their name. */
const interpreter =
  /^(?:python|pypy|node|perl|ruby|bash|dash|zsh|ksh|sh|Rscript|julia|java|torchrun|accelerate|deepspeed|mpirun|uv)[\d.]*$/u;

/** Returns the program of a command line (arguments separated by NUL); undefined: none. Pure. */
export function programIn(commandLine: string): string | undefined {
  // Cleaned before it is split: the end of an escape sequence would look like a name.
  const [first = '', ...rest] = commandLine.split('\0').map((argument) => foreignLine(argument));
  const program = posix.basename(first);
  if (program === '') return undefined;
  const given = rest.find((argument) => argument !== '' && !argument.startsWith('-'));
  // After -c follows code, not a name.
  if (!interpreter.test(program) || given === undefined || rest[0] === '-c') return program;
  return posix.basename(given);
}

/**
 * Returns the program of a process. Its command line is in its own memory, whose lock a hung process may hold: another
 * program reads it, with a deadline. Undefined: not known.
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
