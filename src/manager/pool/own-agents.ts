import type { AzureAgent, AzureClient } from '../../shared/azure/client.ts';
import { AzureError, hasCode } from '../../shared/azure/http/errors.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { Capabilities } from '../../shared/contract/paths.ts';
import type { State, StateStore } from '../state.ts';

/** How long a server that ignores the owner filter is asked by names alone: it may be updated by then. */
const believedForMs = 60 * 60_000;

/** The agents under these names, by name in lower case. */
export type Listing = ReadonlyMap<string, AzureAgent>;

/**
 * Lists the agents of one installation: those with its owner capability by one call, and others by name. A server that
 * ignores the owner filter is asked by names alone.
 */
export class OwnAgents {
  readonly #azure: Pick<AzureClient, 'listAgents' | 'findAgent'>;
  readonly #owner: string;
  readonly #clock: Pick<Clock, 'monotonic' | 'scaled'>;
  /** When a server was last found not to look at marks; monotonic. */
  #ignoredAt = Number.NEGATIVE_INFINITY;

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
   * `names`: whoever has them is told, ours or not. `earlier`: names that agents of ours had; where the server looks at
   * marks, these are found without.
   */
  async list(poolId: number, names: readonly string[], earlier: readonly string[]): Promise<Listing> {
    const marked = await this.#marked(poolId);
    const found = new Map((marked ?? []).map((agent) => [agent.name.toLowerCase(), agent]));
    const asked = marked === undefined ? [...names, ...earlier] : names;
    for (const name of new Set(asked.map((each) => each.toLowerCase()))) {
      const agent = found.has(name) ? undefined : await this.#azure.findAgent(poolId, name);
      if (agent !== undefined) found.set(name, agent);
    }
    return found;
  }

  /** Undefined: the server does not look at marks, as far as is known. */
  async #marked(poolId: number): Promise<readonly AzureAgent[] | undefined> {
    if (this.#clock.monotonic() - this.#ignoredAt < this.#clock.scaled(believedForMs)) return undefined;
    const agents = await this.#azure.listAgents(poolId, { owner: this.#owner }).catch((error: unknown) => {
      if (isIgnorance(error)) return undefined;
      throw error;
    });
    if (agents?.every(({ userCapabilities }) => userCapabilities?.[Capabilities.owner] === this.#owner))
      return agents;
    this.#ignoredAt = this.#clock.monotonic();
    return undefined;
  }
}

/** The whole pool, or no answer to this question. */
function isIgnorance(error: unknown): boolean {
  return hasCode(error, 'azure.too-long') || (error instanceof AzureError && error.status === 400);
}

type Names = State['names'];

/** Before an agent of ours comes to be under a name: a server that does not read marks is asked for it later. Never rejects. */
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

/** With these names for a pool, and without the pool where there are none. Pure. */
export function withNames(names: Names, poolId: number, kept: readonly string[]): Names {
  const { [poolId]: _, ...others } = names;
  return kept.length === 0 ? others : { ...others, [poolId]: kept };
}
