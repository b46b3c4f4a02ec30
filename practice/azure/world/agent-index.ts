import type { FakeAgent, State } from './state.ts';

interface Index {
  /** How many agents are in the index; later ones were pushed since. */
  known: number;
  readonly byId: Map<number, FakeAgent>;
  readonly byPool: Map<number, FakeAgent[]>;
  readonly byName: Map<string, FakeAgent>;
}

/** One index for each array of agents. Code that removes or renames agents does it here, or creates an array. */
const indexes = new WeakMap<readonly FakeAgent[], Index>();

function indexOf({ agents }: State): Index {
  let index = indexes.get(agents);
  if (index === undefined) {
    index = { known: 0, byId: new Map(), byPool: new Map(), byName: new Map() };
    indexes.set(agents, index);
  }
  for (; index.known < agents.length; index.known += 1) {
    const agent = agents[index.known];
    if (agent !== undefined) add(index, agent);
  }
  return index;
}

function add(index: Index, agent: FakeAgent): void {
  index.byId.set(agent.id, agent);
  index.byName.set(keyOf(agent.poolId, agent.name), agent);
  const ofPool = index.byPool.get(agent.poolId);
  if (ofPool === undefined) index.byPool.set(agent.poolId, [agent]);
  else ofPool.push(agent);
}

const keyOf = (poolId: number, name: string) => `${poolId} ${name.toLowerCase()}`;

export function agentOf(state: State, id: number): FakeAgent | undefined {
  return indexOf(state).byId.get(id);
}

/** Names ignore case. */
export function agentNamed(state: State, poolId: number, name: string): FakeAgent | undefined {
  return indexOf(state).byName.get(keyOf(poolId, name));
}

export function agentsIn(state: State, poolId: number): readonly FakeAgent[] {
  return indexOf(state).byPool.get(poolId) ?? [];
}

export function poolSize(state: State, poolId: number): number {
  return agentsIn(state, poolId).length;
}

export function removeAgent(state: State, agent: FakeAgent): void {
  const index = indexOf(state);
  const ofPool = index.byPool.get(agent.poolId) ?? [];
  ofPool.splice(ofPool.indexOf(agent), 1);
  state.agents.splice(state.agents.indexOf(agent), 1);
  index.known -= 1;
  index.byId.delete(agent.id);
  index.byName.delete(keyOf(agent.poolId, agent.name));
}

export function renameAgent(state: State, agent: FakeAgent, name: string): void {
  const { byName } = indexOf(state);
  byName.delete(keyOf(agent.poolId, agent.name));
  agent.name = name;
  byName.set(keyOf(agent.poolId, name), agent);
}
