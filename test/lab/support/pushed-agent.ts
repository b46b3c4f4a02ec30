import { join } from 'node:path';

import { agentUrl } from '../../../src/contract/agent-release.ts';
import { buildArgs } from '../../../src/image/build.ts';
import { bases } from '../../../src/image/choose.ts';
import type { LabAzure } from '../harness/azure.ts';
import { docker } from '../harness/engine.ts';
import { registry, repository } from '../harness/paths.ts';

/** An agent's image in the lab's registry, as a team would have put it there: its name with the digest there. */
export async function pushAgentImage({ agent }: LabAzure): Promise<string> {
  const [cuda] = bases.cuda;
  const spec = {
    base: `${registry}/${bases.repository}:${cuda?.version}-${bases.flavour}-${cuda?.os[0]}`,
    flavour: 'lab',
    agentVersion: agent.version,
    agentUrl: agentUrl(agent.mirror, agent.version, 'x64'),
    agentSha256: agent.sha256,
    sudo: false,
    docker: false,
    graphics: false,
  };
  const name = `${registry}/team/agent:lab`;
  const args = Object.entries(buildArgs(spec)).flatMap(([key, value]) => ['--build-arg', `${key}=${value}`]);
  await docker(['build', '-t', name, ...args, join(repository, 'dockeragent')], {
    env: { DOCKER_BUILDKIT: '0' },
  });
  await docker(['push', name]);
  const { stdout } = await docker(['image', 'inspect', '--format', '{{index .RepoDigests 0}}', name]);
  await docker(['rmi', name]);
  return stdout.trim();
}
