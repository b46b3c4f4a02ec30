import type { ImageConfig } from './config.ts';

/** As the agent calls architectures. */
export type AgentArch = 'x64' | 'arm64';

/** The Azure Pipelines agent that is put into images unless the inventory names another one. */
export const defaultAgentVersion = '4.275.0';

/** Where Microsoft publishes agents; a closed network's mirror replaces it. */
export const agentDownloads = 'https://download.agent.dev.azure.com';

/** Of the default version's archives, as its release notes list them. */
const defaultSha256: Readonly<Record<AgentArch, string>> = {
  x64: '416eb9340385d599e3159b86d08c03754af24d1cb2b6624425142a47ca65f346',
  arm64: '9373598bda894496f974eaad785a5c42bc55699af95d8678ffcfc42bcb1b0c0a',
};

/** The sha256 (hex) that an archive must have; empty where it is not known and https alone vouches for it. */
export function agentSha256(version: string, arch: AgentArch): string {
  return version === defaultAgentVersion ? defaultSha256[arch] : '';
}

/** Complete download URL for an architecture as the agent calls it. */
export function agentUrl(base: string, version: string, arch: AgentArch): string {
  return `${base.replace(/\/+$/, '')}/agent/${version}/vsts-agent-linux-${arch}-${version}.tar.gz`;
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
