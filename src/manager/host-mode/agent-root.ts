import { chmod, mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FleetError } from '../../shared/base/errors.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { Engine, Labelled } from '../../shared/engine/engine.ts';
import type { RunCommand } from '../machine/command.ts';
import { must } from './systemd.ts';
import { type HostUser, slotFile } from './user.ts';
import { sha256 } from '../../shared/base/digest.ts';

const copyMs = 10 * 60_000;
/** A job may have left millions of files. */
const removeMs = 30 * 60_000;

/** Below .config the agent remembers the server's addresses; without it each connection costs it seconds. */
const homeFolders = ['home', 'home/.config', 'home/.local', 'home/.local/share'];

interface AgentRootTools {
  readonly command: RunCommand;
  readonly docker: Pick<Engine, 'withLabel' | 'remove' | 'removeNetwork'>;
  readonly log: Logger;
  /** Jobs may use Docker: then nothing starts before what they left there has gone. */
  readonly jobsUseDocker: boolean;
}

/**
 * The folders of agents straight on the host, one a slot. An agent with a container job hands its own paths to dockerd,
 * so they must be the host's: no folder is bound to another name. It also lists every folder above its own, which is why
 * this is not below the manager's state (0700). The same path for each run of a slot: what jobs write into scripts and
 * caches keeps its meaning, and the agent itself finds by it what an earlier run left in Docker.
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

  /** A fresh copy of the agent, its user's alone: other slots read neither its key nor its work. */
  async fill(root: string, program: string, { uid, gid }: HostUser): Promise<void> {
    await mkdir(this.#directory, { recursive: true });
    await chmod(this.#directory, 0o755);
    await requireListable(dirname(root));
    await must(this.#tools.command, 'cp', ['-a', '--reflink=auto', program, root], copyMs);
    await chmod(root, 0o700);
    for (const folder of homeFolders) await mkdir(join(root, folder), { mode: 0o700 });
    await this.own(root, uid, gid);
  }

  async own(root: string, uid: number, gid: number): Promise<void> {
    await must(this.#tools.command, 'chown', ['-R', `${uid}:${gid}`, root], copyMs);
  }

  /**
   * Nothing of an earlier run is left: neither containers and networks of its container job nor files, whoever owns
   * them. By rm, which follows no link that changes meanwhile, and never into another file system.
   */
  async clear(root: string): Promise<void> {
    const { command, docker, log, jobsUseDocker } = this.#tools;
    const removed = await removeJobLeftovers(docker, root).catch((error: unknown) => {
      if (jobsUseDocker) throw error;
      log.log('info', 'Docker is away: it is asked after the next run what jobs left there', { root });
      return [];
    });
    if (removed.length > 0) log.log('info', 'removed what a container job left in Docker', { removed });
    const { code, output } = await command('rm', ['-rf', '--one-file-system', '--', root], removeMs);
    if (code === 0) return;
    throw new FleetError({
      code: 'host-mode.folder-stays',
      what: `what a job left in ${root} cannot be removed`,
      seen: output.trim().split('\n', 3).join('; '),
      next: `look at findmnt and lsattr -R ${root} on the host, and remove it by hand`,
    });
  }
}

/** The agent refuses to start where its user cannot list a folder above it; passing through (0711) is not enough. */
async function requireListable(folder: string): Promise<void> {
  for (let above = folder; ; above = dirname(above)) {
    const { mode } = await stat(above);
    if ((mode & 0o005) !== 0o005) throw closed(folder, above, mode);
    if (above === dirname(above)) return;
  }
}

function closed(folder: string, above: string, mode: number): FleetError {
  return new FleetError({
    code: 'host-mode.folder-closed',
    what: `agents below ${folder} cannot list ${above}`,
    expected: 'every folder above an agent may be listed by its user (0755)',
    seen: `mode ${(mode & 0o7777).toString(8).padStart(4, '0')}`,
    next: `open it on the host: chmod o+rx ${above}`,
  });
}

/**
 * The label that an agent gives to the containers and networks of its container jobs: six hex digits of the sha256 of
 * its folder, in lower case (DockerCommandManager.cs and IOUtil.cs of the agent's source). Pure.
 */
export function jobLabel(root: string): string {
  return sha256(root.toLowerCase()).slice(0, 6);
}

const jobNetwork = /^vsts_network_[0-9a-f]{32}$/;

/**
 * What of that is of this agent: six digits are few, so a container must also have something of the agent's folder
 * mounted, as every one of a container job has, and a network the agent's kind of name. Pure.
 */
export function ofAgent(root: string, { containers, networks }: Labelled): Labelled {
  return {
    containers: containers.filter(({ sources }) => sources.some((source) => source.startsWith(`${root}/`))),
    networks: networks.filter(({ name }) => jobNetwork.test(name)),
  };
}

/** Removes what a killed agent's container job left in Docker; the names of it. */
export async function removeJobLeftovers(
  docker: Pick<Engine, 'withLabel' | 'remove' | 'removeNetwork'>,
  root: string,
): Promise<readonly string[]> {
  const { containers, networks } = ofAgent(root, await docker.withLabel(jobLabel(root)));
  for (const { id } of containers) await docker.remove(id);
  for (const { id } of networks) await docker.removeNetwork(id);
  return [...containers, ...networks].map(({ name }) => name);
}
