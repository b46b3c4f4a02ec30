import { hostAgent } from '../../shared/contract/agent-release.ts';
import type { ManagerConfig } from '../../shared/contract/config.ts';
import { NotYet } from '../causes.ts';
import { labels, type LaunchOrder } from '../docker/container.ts';
import type { Slot } from '../model.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import type { NetworkIsolation } from '../docker/network-isolation.ts';
import type { AgentStore } from './agent-store.ts';
import type { HostEngine } from './host-engine.ts';
import { hostUser } from './user.ts';
import { unitArguments, unitName } from './systemd.ts';

/** Takes the place of the image's id in labels and evidence. */
export function programOf(config: ManagerConfig): string {
  return `agent ${hostAgent(config, process.arch).version} on the host`;
}

export interface HostTools extends Pick<ManagerDeps, 'config' | 'command'> {
  readonly isolation: NetworkIsolation;
  readonly host: { readonly engine: HostEngine; readonly agents: AgentStore };
}

/** Before the agent's name gets another key: rejects while the slot's unit runs, of which nothing else may be known. */
export async function requireFree({ host }: HostTools, { name }: Pick<Slot, 'name'>): Promise<void> {
  await host.engine.requireEnded(unitName(name));
}

/** A copy of the agent in the slot's folder; its unit is started later. The id by which the run is handled. */
export async function createOnHost(tools: HostTools, order: LaunchOrder, agentId: number): Promise<string> {
  const { config, host } = tools;
  const { slot } = order;
  const unit = unitName(slot.name);
  const user = await hostUser(tools.command, slot.name);
  await tools.isolation.isolateUsers([user.uid]);
  const gap = config.fence === 'required' ? tools.isolation.problemFor(slot.mode) : undefined;
  if (gap !== undefined) throw new NotYet(gap);
  return host.engine.create({
    run: order.run,
    slot: slot.name,
    agent: slot.agent,
    labels: labels({ ...order, config, agentId, poolId: order.pool.id }),
    program: await host.agents.path(hostAgent(config, process.arch)),
    unit,
    user,
    systemdRun: (places) =>
      unitArguments({
        name: unit,
        user: user.name,
        ...places,
        config,
        slot,
        dockerGid: order.dockerGid,
      }),
  });
}
