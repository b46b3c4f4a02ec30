import { knownArchives, type AgentArch } from './agent-digests.ts';
import type { ImageConfig, ManagerConfig } from './config.ts';

/**
 * The Azure Pipelines agent that is put into images unless the inventory names another one: version 5 runs on .NET 10,
 * version 4 on .NET 8; both work.
 */
export const defaultAgentVersion = '5.279.0';

/** Where Microsoft publishes agents; a closed network's mirror replaces it. */
export const agentDownloads = 'https://download.agent.dev.azure.com';

/** The sha256 (hex) that an archive must have; empty where it is not known and https alone vouches for it. */
export function agentSha256(version: string, arch: AgentArch): string {
  return knownArchives.find((known) => known.version === version && known.arch === arch)?.sha256 ?? '';
}

/** Complete download URL for an architecture as the agent calls it. */
export function agentUrl(base: string, version: string, arch: AgentArch): string {
  return `${base.replace(/\/+$/, '')}/agent/${version}/vsts-agent-linux-${arch}-${version}.tar.gz`;
}

/** An archive of the agent. */
export interface AgentRelease {
  readonly version: string;
  readonly url: string;
  /** Hex; empty where nobody knows it beforehand. */
  readonly sha256: string;
}

/** Which agent runs straight on the host: the one that images are built with. `arch` as Node calls it. */
export function hostAgent({ image }: Pick<ManagerConfig, 'image'>, arch: string): AgentRelease {
  const { agentVersion, agentUrl, agentSha256 } = image.kind === 'build' ? image : builtImage(arch);
  return { version: agentVersion, url: agentUrl, sha256: agentSha256 };
}

/** The image of a machine whose configuration names none. `arch` as Node calls it. */
export function builtImage(arch: string): Extract<ImageConfig, { kind: 'build' }> {
  const platform = arch === 'arm64' ? 'arm64' : 'x64';
  return {
    kind: 'build',
    agentVersion: defaultAgentVersion,
    agentSha256: agentSha256(defaultAgentVersion, platform),
    agentUrl: agentUrl(agentDownloads, defaultAgentVersion, platform),
  };
}
