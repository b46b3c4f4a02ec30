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

/** Returns the name of the agent's program for labels and run records, instead of an image id. */
export function programOf(config: ManagerConfig): string {
  return `agent ${hostAgent(config, process.arch).version} on the host`;
}

export interface HostTools extends Pick<ManagerDeps, 'config' | 'command'> {
  readonly isolation: NetworkIsolation;
  readonly host: { readonly engine: HostEngine; readonly agents: AgentStore };
}

/** Rejects while the slot's unit runs, before the agent's name gets another key. */
export async function requireFree({ host }: HostTools, { name }: Pick<Slot, 'name'>): Promise<void> {
  await host.engine.requireEnded(unitName(name));
}

/** Copies the agent to the slot's folder, without starting its unit. Returns the id of the run. */
export async function createOnHost(tools: HostTools, order: LaunchOrder, agentId: number): Promise<string> {
  const { config, host } = tools;
  const { slot } = order;
  const unit = unitName(slot.name);
  const user = await hostUser(tools.command, slot.name);
  await tools.isolation.isolateUsers([user.uid]);
  const problem = config.fence === 'required' ? tools.isolation.problemFor(slot.mode) : undefined;
  if (problem !== undefined) throw new NotYet(problem);
  return host.engine.create({
    run: order.run,
    slot: slot.name,
    agent: slot.agent,
    labels: labels({ ...order, config, agentId, poolId: order.pool.id }),
    program: await host.agents.path(hostAgent(config, process.arch)),
    unit,
    user,
    systemdRun: (paths) =>
      unitArguments({
        name: unit,
        user: user.name,
        ...paths,
        config,
        slot,
        dockerGid: order.dockerGid,
      }),
  });
}
