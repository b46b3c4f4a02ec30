import { sha256 } from '../../shared/base/digest.ts';
import type { Engine, Labelled } from '../../shared/engine/engine.ts';

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
