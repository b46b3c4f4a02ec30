import {
  agentDownloads,
  agentUrl,
  hostAgent,
  type AgentRelease,
} from '../../../shared/contract/agent-release.ts';
import type { Facts } from '../../facts/facts.ts';
import { agentArch, managerConfig } from '../manager-config.ts';
import type { Desired } from '../step.ts';

/**
 * The agent that slots straight on this host (`mode: host`) run, at the address that it is fetched from; undefined: there are
 * no such slots, or no agent for the machine.
 */
export function agentOnHost(facts: Pick<Facts, 'arch'>, desired: Desired): AgentRelease | undefined {
  const { host, mirrors } = desired;
  const arch = agentArch(facts.arch);
  if (arch === undefined || host.agents.kind !== 'slots') return undefined;
  if (host.agents.slots.every(({ mode }) => mode === 'container')) return undefined;
  const release = hostAgent(managerConfig(desired, arch), arch);
  return { ...release, url: agentUrl(mirrors.agent ?? agentDownloads, release.version, arch) };
}
