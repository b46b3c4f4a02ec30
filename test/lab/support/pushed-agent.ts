import { join } from 'node:path';
import { agentUrl } from '../../../src/shared/contract/agent-release.ts';
import { buildArgs } from '../../../src/shared/image/plan.ts';
import { bases } from '../../../src/shared/image/choose.ts';
import type { LabAzure } from '../../../practice/lab/azure.ts';
import { docker } from '../../../practice/lab/engine.ts';
import { registry, repository } from '../../../practice/lab/paths.ts';

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
