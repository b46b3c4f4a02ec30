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

/** A run of ours, or what is left of one. */
interface RunOf {
  readonly slot: string;
  /** It has not ended, as far as is known. */
  readonly live: boolean;
}

/** By what processes of ours are known. */
export interface Owners {
  /** By the container's whole id. */
  readonly containers: ReadonlyMap<string, RunOf>;
  /** By the name of the systemd unit. */
  readonly units: ReadonlyMap<string, RunOf>;
  /** By login: users that only runs of one slot have. */
  readonly users: ReadonlyMap<string, RunOf>;
  /** Docker tells nothing at the moment: containers that are not known may be ours. */
  readonly isDockerAway: boolean;
}

/** Who a process on a GPU belongs to. */
export type Whose =
  /** The driver's own, or what draws the screen. */
  | { readonly kind: 'service' }
  | ({ readonly kind: 'run' } & RunOf)
  /** Somebody else: whatever is not known to be ours. */
  | { readonly kind: 'stranger'; readonly container?: string }
  /** In a container of which nobody can say whose it is. */
  | { readonly kind: 'unknown' }
  /** It is listed, but not to be seen: it has just ended, or nobody sees it from here. */
  | { readonly kind: 'unseen' };

/**
 * Daemons that belong to the driver: persistence, MPS, fabric manager, IMEX, DCGM. The kernel cuts names at 15 characters.
 * Only under a system account, since any process may call itself so; MPS that a person has started is that person's.
 */
const daemons =
  /^(?:nvidia-persiste|nvidia-cuda-mps|nvidia-imex|nv-fabricmanage|nv-hostengine|nvsm_core|dcgm-exporter)/u;
/** Below it are the accounts of a system's services (Debian policy 9.2.2, SYS_UID_MAX of shadow). */
const firstPerson = 1000;

/** What draws a screen, which on such cards may have a compute context, too (`C+G` of nvidia-smi). */
const screens =
  /^(?:Xorg|Xwayland|gnome-shell|kwin_wayland|kwin_x11|plasmashell|mutter|weston|sway|gdm-|sddm)/u;
/** A desktop has some hundred MiB (captures of 595 and 610: 3 to 200 MiB a process); what takes more does not only draw. */
const mostOfScreenMiB = 1024;

/** A process, with whom it was started by where that tells more of it. */
export interface SeenProcess extends ProcessFacts {
  readonly login: string;
  readonly starter?: ProcessFacts;
}

/** The server of MPS runs as the user whose programs it serves: whose it is, who has started it tells. Pure. */
export function isMpsServer({ comm }: Pick<ProcessFacts, 'comm'>): boolean {
  return comm.startsWith('nvidia-cuda-mps');
}

/** Who the process is. Its name counts only where nothing that it could gain hangs on it. Pure. */
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

/** Containers (outermost first) and system units that a process is in. */
function placesOf({ cgroups }: ProcessFacts): {
  readonly containers: readonly string[];
  readonly units: readonly string[];
} {
  // Below it people make and name groups of their own, also after containers that are not theirs.
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
 * By what processes of runs of ours are known now. `ended`: containers that are known to have ended, by id, with their slot;
 * Docker may list them no longer. Whatever is not known to have ended is live.
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
    // Also one of which no run is kept any more may have a job.
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

/** Of the container job that a slot's agent runs straight on the host. */
async function jobContainers(
  { engine, host, config, log }: OwnerTools,
  slot: string,
): Promise<readonly string[]> {
  if (!config.jobs.docker) return [];
  const root = host.engine.rootOf(slot);
  const labelled = await engine.withLabel(jobLabel(root)).catch((error: unknown) => {
    log.log('info', 'Docker is away: whose its containers are is not known', { error });
    return { containers: [], networks: [] };
  });
  return ofAgent(root, labelled).containers.map(({ id }) => id);
}

const longestCommandLine = 4096;
const commandMs = 5_000;
const mostLogins = 1_000;

/** What runs other programs: what it was given says more than its own name. */
const interpreter =
  /^(?:python|pypy|node|perl|ruby|bash|dash|zsh|ksh|sh|Rscript|julia|java|torchrun|accelerate|deepspeed|mpirun|uv)[\d.]*$/u;

/** The program that a command line (arguments separated by NUL) is for; undefined: it has none. Pure. */
export function programIn(commandLine: string): string | undefined {
  // Cleaned as a whole: of half a sequence the end would look like a name.
  const [first = '', ...rest] = commandLine.split('\0').map((argument) => foreignLine(argument));
  const program = posix.basename(first);
  if (program === '') return undefined;
  const given = rest.find((argument) => argument !== '' && !argument.startsWith('-'));
  // With -c it is not a name but a program.
  if (!interpreter.test(program) || given === undefined || rest[0] === '-c') return program;
  return posix.basename(given);
}

/**
 * What a process was started as. Its command line lies in its own memory, whose lock a process that hangs may hold: it is
 * read by a program that can be left behind. Undefined: it does not tell.
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

/** Names of accounts; also those that a directory service knows, which the files of the host do not have. */
export class Logins {
  readonly #command: RunCommand;
  readonly #known = new Map<number, string>();

  constructor(command: RunCommand) {
    this.#command = command;
  }

  /** `uid 4000` where nobody has that number. */
  async of(uid: number): Promise<string> {
    const known = this.#known.get(uid);
    if (known !== undefined) return known;
    const { code, output, timedOut } = await this.#command('getent', ['passwd', String(uid)], commandMs);
    const [login = ''] = code === 0 ? output.split(':', 1) : [];
    const name = login === '' ? `uid ${uid}` : foreignLine(login, 64);
    // What a directory did not answer in time it may answer later.
    if (timedOut) return name;
    if (this.#known.size >= mostLogins) this.#known.clear();
    this.#known.set(uid, name);
    return name;
  }
}
