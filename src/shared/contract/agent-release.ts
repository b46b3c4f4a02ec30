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
  /** Hex; empty where it is not known beforehand. */
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

/** As the agent calls architectures. */
export type AgentArch = 'x64' | 'arm64';

/** An archive `vsts-agent-linux-ARCH-VERSION.tar.gz` whose content is known beforehand. */
interface KnownArchive {
  readonly version: string;
  readonly arch: AgentArch;
  /** Hex. */
  readonly sha256: string;
  /** Who says so. */
  readonly source: string;
}

/** The newest of each line of the agent. A new release is a row an architecture here. */
const knownArchives: readonly KnownArchive[] = [
  {
    version: '5.279.0',
    arch: 'x64',
    sha256: '6e3352e1dc44c924cd85840df279f21c200e6365596a7c38f3087015262555dc',
    source: 'three public repositories in agreement, one of which calls it the published one',
  },
  {
    version: '5.279.0',
    arch: 'arm64',
    sha256: 'd97cb1286de41c97347a5da4f663daed70f65f9cdd4322f50f8cc7b4e2df9dd4',
    source: 'two public repositories in agreement',
  },
  {
    version: '4.275.0',
    arch: 'x64',
    sha256: '416eb9340385d599e3159b86d08c03754af24d1cb2b6624425142a47ca65f346',
    source: 'its release notes',
  },
  {
    version: '4.275.0',
    arch: 'arm64',
    sha256: '9373598bda894496f974eaad785a5c42bc55699af95d8678ffcfc42bcb1b0c0a',
    source: 'its release notes',
  },
];
