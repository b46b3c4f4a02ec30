import type { AgentArch } from '../../shared/contract/agent-digests.ts';
import { sha256, stableJson } from '../../shared/base/digest.ts';
import type { Desired } from './step.ts';

/** This host builds its image; otherwise it pulls one. */
export function buildsImage({ host }: Desired): boolean {
  if (host.image !== undefined) return false;
  return host.dockerfile?.builder === undefined || host.dockerfile.builder === host.name;
}

/**
 * `registry.example/vision/agent:5.279.0-x64-1a2b3c4d5e6f`: what the builder pushes and the others pull. The end changes
 * with all that the inventory lets the builder build from, so that both sides know the name beforehand. Which base it
 * chooses, its own GPUs and driver decide.
 */
export function pushedReference({ host, builder, artifacts }: Desired, arch: AgentArch): string | undefined {
  const { folder, push } = host.dockerfile ?? {};
  const sent = folder === undefined ? undefined : artifacts.folders.get(folder);
  if (push === undefined || builder === undefined || sent === undefined) return undefined;
  const { agent, baseImage, jobs, driverCapabilities, agents } = builder;
  const capabilities =
    agents.kind === 'slots' ? agents.slots.flatMap((slot) => slot.capabilities) : driverCapabilities;
  const inputs = {
    folder: sent.artifact.sha256,
    context: artifacts.context.map(({ path, artifact }) => [path, artifact.sha256]),
    made: { agent, baseImage, jobs },
    capabilities: [...new Set(capabilities)].sort(),
  };
  return `${push}:${agent.version}-${arch}-${sha256(stableJson(inputs)).slice(0, 12)}`;
}
