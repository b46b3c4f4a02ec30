import type { ProcessFacts } from '../machine/process.ts';

/** A run of ours, or what is left of one. */
export interface RunOf {
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
  | { readonly kind: 'untold' }
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
    return owners.isDockerAway ? { kind: 'untold' } : { kind: 'stranger', container };
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
