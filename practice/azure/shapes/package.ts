import { packageVersion, type AgentPackage } from '../world/packages.ts';

/** Where the vendor's archives lie; the practice server hands out none. */
const downloads = 'https://download.agent.dev.azure.com/agent';

export function describePackage({ platform, version, createdOn, sha256 }: AgentPackage) {
  const filename = `vsts-agent-${platform}-${version}.${platform.startsWith('win') ? 'zip' : 'tar.gz'}`;
  return {
    type: 'agent',
    platform,
    createdOn,
    version: packageVersion(version),
    downloadUrl: `${downloads}/${version}/${filename}`,
    ...(sha256 === undefined ? {} : { hashValue: sha256 }),
    infoUrl: 'https://go.microsoft.com/fwlink/?LinkId=798199',
    filename,
  };
}
