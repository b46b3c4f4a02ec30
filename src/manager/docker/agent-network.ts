import type { Logger } from '../../shared/base/log.ts';
import type { Engine, FoundNetwork } from '../../shared/engine/engine.ts';
import type { Cause } from '../model.ts';
import { agentNetwork } from '../../shared/contract/paths.ts';
import { agentNetworkOptions, isOurs, networkFaults } from './network-faults.ts';

interface Judged {
  readonly network: FoundNetwork;
  readonly faults: readonly string[];
}

/** Keeps the network of the agents' containers as it is to be. */
export class AgentNetwork {
  readonly #engine: Pick<Engine, 'networksNamed' | 'createNetwork' | 'removeNetwork'>;
  readonly #log: Logger;
  /** Made by this process: making it once more would change nothing. */
  readonly #made = new Set<string>();

  constructor(engine: Pick<Engine, 'networksNamed' | 'createNetwork' | 'removeNetwork'>, log: Logger) {
    this.#engine = engine;
    this.#log = log;
  }

  /**
   * Makes it when it is not there, and anew when it is ours, wrong, and no container is on it. What is still wrong then;
   * rejects when the engine does not answer or cannot make it.
   */
  async mend(): Promise<Cause | undefined> {
    const before = await this.#judged();
    const removable = before.filter(
      ({ network, faults }) => faults.length > 0 && isOurs(network) && !this.#made.has(network.id),
    );
    for (const { network } of removable) await this.#engine.removeNetwork(network.id);
    const left = removable.length === 0 ? before : await this.#judged();
    if (left.length < before.length)
      this.#log.log('info', 'the network of the agents was not as it must be, and is made anew', {
        faults: before.flatMap(({ faults }) => faults),
      });
    return this.#problemOf(left.length > 0 ? left : await this.#make());
  }

  async #make(): Promise<readonly Judged[]> {
    try {
      this.#made.add(await this.#engine.createNetwork(agentNetworkOptions));
    } catch (error) {
      // Somebody else was faster.
      const found = await this.#judged();
      if (found.length > 0) return found;
      throw error;
    }
    return this.#judged();
  }

  /** The best one first: containers cannot say which of several of one name they mean. */
  async #judged(): Promise<readonly Judged[]> {
    const found = await this.#engine.networksNamed(agentNetwork);
    return found
      .map((network) => ({ network, faults: networkFaults(network) }))
      .toSorted((a, b) => a.faults.length - b.faults.length)
      .map(({ network, faults }, at) => ({
        network,
        faults: at === 0 ? faults : [...faults, 'there is another one of this name'],
      }));
  }

  #problemOf(all: readonly Judged[]): Cause | undefined {
    const wrong = all.find(({ faults }) => faults.length > 0);
    if (wrong === undefined) return undefined;
    const { network, faults } = wrong;
    return {
      code: 'fence.network',
      what: `the network ${agentNetwork} of Docker does not keep jobs apart as it must: ${faults.slice(0, mostFaults).join(', ')}`,
      next: this.#made.has(network.id)
        ? 'look at default-network-opts in /etc/docker/daemon.json: Docker makes networks this way here'
        : isOurs(network)
          ? 'drain the host (azp-fleet drain): the network is made anew when no container is on it'
          : `remove it on the host (docker network rm ${network.id.slice(0, 12)}): it is made anew within a minute`,
    };
  }
}

const mostFaults = 4;
