/** The Azure Pipelines agent that is put into images unless the inventory names another one. */
export const defaultAgentVersion = '4.275.0';

/** Where Microsoft publishes agents; a closed network's mirror replaces it. */
export const agentDownloads = 'https://download.agent.dev.azure.com';

/** Complete download URL for an architecture as the agent calls it. */
export function agentUrl(base: string, version: string, arch: 'x64' | 'arm64'): string {
  return `${base.replace(/\/+$/, '')}/agent/${version}/vsts-agent-linux-${arch}-${version}.tar.gz`;
}
