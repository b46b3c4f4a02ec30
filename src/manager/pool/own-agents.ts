import type { AzureAgent, AzureClient } from '../../shared/azure/client.ts';
import { AzureError, hasCode } from '../../shared/azure/http/errors.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { Capabilities } from '../../shared/contract/paths.ts';
import type { Cause } from '../model.ts';
import type { State, StateStore } from '../state.ts';

/** Pause before the owner filter is tried again on a server that ignored it: the server may have been updated. */
const retryFilterMs = 60 * 60_000;

/** `tooLong`: its capabilities are too long to read, and are left out. */
export type ListedAgent = AzureAgent & { readonly tooLong?: Cause };

/** Agents, by name in lower case. */
export type Listing = ReadonlyMap<string, ListedAgent>;

/**
 * Lists the agents of one installation: those with its owner capability by one call, and others by name. If the server
 * ignores the owner filter, all are read by name.
 */
export class OwnAgents {
  readonly #azure: Pick<AzureClient, 'listAgents' | 'findAgent'>;
  readonly #owner: string;
  readonly #clock: Pick<Clock, 'monotonic' | 'scaled'>;
  /** When the server last ignored the owner filter; monotonic. */
  #unfilteredAt = Number.NEGATIVE_INFINITY;

  constructor(
    azure: Pick<AzureClient, 'listAgents' | 'findAgent'>,
    owner: string,
    clock: Pick<Clock, 'monotonic' | 'scaled'>,
  ) {
    this.#azure = azure;
    this.#owner = owner;
    this.#clock = clock;
  }

  /**
   * Lists agents. `names`: their agents are listed for any owner. `earlier`: earlier names of our agents; with the owner
   * filter they need no calls.
   */
  async list(poolId: number, names: readonly string[], earlier: readonly string[]): Promise<Listing> {
    const owned = await this.#ofOwner(poolId, new Set([...names, ...earlier]).size);
    const found = new Map<string, ListedAgent>(
      (owned ?? []).map((agent) => [agent.name.toLowerCase(), agent]),
    );
    const byName = owned === undefined ? [...names, ...earlier] : names;
    for (const name of new Set(byName.map((each) => each.toLowerCase()))) {
      const agent = found.has(name) ? undefined : await this.#find(poolId, name);
      if (agent !== undefined) found.set(name, agent);
    }
    return found;
  }

  /** Finds an agent; without its capabilities if they are too long: a job can publish any number with its agent's key. */
  async #find(poolId: number, name: string): Promise<ListedAgent | undefined> {
    try {
      return await this.#azure.findAgent(poolId, name);
    } catch (error) {
      if (!hasCode(error, 'azure.too-long')) throw error;
      const agent = await this.#azure.findAgent(poolId, name, { capabilities: false });
      return agent && { ...agent, tooLong: tooLong(name) };
    }
  }

  /** Lists agents with our owner capability; undefined: the server ignores the filter, or they are too long together. */
  async #ofOwner(poolId: number, count: number): Promise<readonly AzureAgent[] | undefined> {
    if (this.#clock.monotonic() - this.#unfilteredAt < this.#clock.scaled(retryFilterMs)) return undefined;
    const query = { owner: this.#owner, ...(count === 0 ? {} : { count }) };
    const agents = await this.#azure.listAgents(poolId, query).catch((error: unknown) => {
      if (isUnsupported(error)) return undefined;
      throw error;
    });
    if (agents?.every(({ userCapabilities }) => userCapabilities?.[Capabilities.owner] === this.#owner))
      return agents;
    this.#unfilteredAt = this.#clock.monotonic();
    return undefined;
  }
}

/**
 * Returns whether the server does not support the owner filter: it returns the whole pool, or refuses the query. An answer is
 * too long also with an agent that has any number of capabilities: by name, only that agent is.
 */
function isUnsupported(error: unknown): boolean {
  return hasCode(error, 'azure.too-long') || (error instanceof AzureError && error.status === 400);
}

function tooLong(name: string): Cause {
  return {
    code: 'agent.too-long',
    what: `agent ${name} has more capabilities in the pool than the manager reads: a job may have published them`,
    next: 'check the jobs that ran in this slot; if this stays after the end of the run, delete the agent in the pool',
  };
}

type Names = State['names'];

/** Saves names before agents are registered, so that a server without the owner filter can be asked for them. Never rejects. */
export async function rememberNames(
  state: Pick<StateStore, 'value' | 'note'>,
  poolId: number,
  agents: readonly string[],
): Promise<void> {
  const known = state.value.names[poolId] ?? [];
  const fresh = agents.map((name) => name.toLowerCase()).filter((name) => !known.includes(name));
  if (fresh.length > 0)
    await state.note(({ names }) => ({ names: withNames(names, poolId, [...known, ...fresh]) }));
}

/** Returns the names with `kept` for a pool; without the pool if there are none. Pure. */
export function withNames(names: Names, poolId: number, kept: readonly string[]): Names {
  const { [poolId]: _, ...others } = names;
  return kept.length === 0 ? others : { ...others, [poolId]: kept };
}
