import { chmod, mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FleetError } from '../../shared/base/errors.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { Engine, Labelled } from '../../shared/engine/engine.ts';
import type { RunCommand } from '../machine/command.ts';
import { runOrThrow } from './systemd.ts';
import { type HostUser, slotFile } from './user.ts';
import { sha256 } from '../../shared/base/digest.ts';

const copyMs = 10 * 60_000;
/** Long, because a job may have left millions of files. */
const removeMs = 30 * 60_000;

/** In .config the agent caches the server's addresses; without it each connection takes seconds longer. */
const homeFolders = ['home', 'home/.config', 'home/.local', 'home/.local/share'];

interface AgentRootTools {
  readonly command: RunCommand;
  readonly docker: Pick<Engine, 'withLabel' | 'remove' | 'removeNetwork'>;
  readonly log: Logger;
  /** Jobs may use Docker: then no run starts before their leftovers are removed. */
  readonly jobsUseDocker: boolean;
}

/**
 * The folders of agents with `mode: host`, one for each slot. An agent with a container job passes its paths to dockerd, so
 * they must be the host's: no bind mounts. It also lists every folder above its own, so this is not below the manager's state
 * (0700). The path is the same for each run of a slot: paths that jobs write into scripts and caches stay valid, and the
 * agent finds by it the leftovers of an earlier run in Docker.
 */
export class AgentRoots {
  readonly #directory: string;
  readonly #tools: AgentRootTools;

  constructor(directory: string, tools: AgentRootTools) {
    this.#directory = directory;
    this.#tools = tools;
  }

  of(slot: string): string {
    return join(this.#directory, slotFile(slot));
  }

  /** Copies the agent for its user alone: other slots can read neither its key nor its work. */
  async fill(root: string, program: string, { uid, gid }: HostUser): Promise<void> {
    await mkdir(this.#directory, { recursive: true });
    await chmod(this.#directory, 0o755);
    await requireListable(dirname(root));
    await runOrThrow(this.#tools.command, 'cp', ['-a', '--reflink=auto', program, root], copyMs);
    await chmod(root, 0o700);
    for (const folder of homeFolders) await mkdir(join(root, folder), { mode: 0o700 });
    await this.own(root, uid, gid);
  }

  async own(root: string, uid: number, gid: number): Promise<void> {
    await runOrThrow(this.#tools.command, 'chown', ['-R', `${uid}:${gid}`, root], copyMs);
  }

  /**
   * Removes all leftovers of an earlier run: containers and networks of its container job, and files of any owner. Uses rm,
   * which follows no link and stays in the file system.
   */
  async clear(root: string): Promise<void> {
    const { command, docker, log, jobsUseDocker } = this.#tools;
    const removed = await removeJobLeftovers(docker, root).catch((error: unknown) => {
      if (jobsUseDocker) throw error;
      log.log('info', 'Docker does not answer: leftovers of jobs are removed after the next run', { root });
      return [];
    });
    if (removed.length > 0) log.log('info', 'removed leftovers of a container job in Docker', { removed });
    const { code, output } = await command('rm', ['-rf', '--one-file-system', '--', root], removeMs);
    if (code === 0) return;
    throw new FleetError({
      code: 'host-mode.folder-stays',
      what: `files of a job in ${root} cannot be removed`,
      seen: output.trim().split('\n', 3).join('; '),
      next: `check findmnt and lsattr -R ${root} on the host, and remove the folder by hand`,
    });
  }
}

/** Throws if a user cannot list every folder above an agent, without which it does not start; mode 0711 is not enough. */
async function requireListable(folder: string): Promise<void> {
  for (let ancestor = folder; ; ancestor = dirname(ancestor)) {
    const { mode } = await stat(ancestor);
    if ((mode & 0o005) !== 0o005) throw notListable(folder, ancestor, mode);
    if (ancestor === dirname(ancestor)) return;
  }
}

function notListable(folder: string, ancestor: string, mode: number): FleetError {
  return new FleetError({
    code: 'host-mode.folder-closed',
    what: `agents below ${folder} cannot list ${ancestor}`,
    expected: 'its user can list every folder above an agent (0755)',
    seen: `mode ${(mode & 0o7777).toString(8).padStart(4, '0')}`,
    next: `run on the host: chmod o+rx ${ancestor}`,
  });
}

/**
 * Returns the label of the containers and networks of an agent's container jobs: six hex digits of the sha256 of
 * its folder, in lower case (DockerCommandManager.cs and IOUtil.cs of the agent's source). Pure.
 */
export function jobLabel(root: string): string {
  return sha256(root.toLowerCase()).slice(0, 6);
}

const jobNetwork = /^vsts_network_[0-9a-f]{32}$/;

/**
 * Returns the containers and networks of this agent. Six digits may collide, so a container must also mount a path of the
 * agent's folder, as every container job does, and a network must have the agent's name pattern. Pure.
 */
export function ofAgent(root: string, { containers, networks }: Labelled): Labelled {
  return {
    containers: containers.filter(({ sources }) => sources.some((source) => source.startsWith(`${root}/`))),
    networks: networks.filter(({ name }) => jobNetwork.test(name)),
  };
}

/** Removes leftovers of a killed agent's container job from Docker; returns their names. */
export async function removeJobLeftovers(
  docker: Pick<Engine, 'withLabel' | 'remove' | 'removeNetwork'>,
  root: string,
): Promise<readonly string[]> {
  const { containers, networks } = ofAgent(root, await docker.withLabel(jobLabel(root)));
  for (const { id } of containers) await docker.remove(id);
  for (const { id } of networks) await docker.removeNetwork(id);
  return [...containers, ...networks].map(({ name }) => name);
}
