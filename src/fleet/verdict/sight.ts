import type { AzureAgent } from '../../shared/azure/client.ts';
import type { Facts } from '../facts/facts.ts';
import type { Checkup } from '../../shared/health/checkup.ts';

/** The pool's agents by name, or undefined when they could not be listed. */
export type PoolAgents = ReadonlyMap<string, AzureAgent> | undefined;

/** By the name of the pool. */
export type AgentsIn = (pool: string) => PoolAgents;

/** All that is known of a host at one moment: the facts with its manager's own view of the slots, and the server's view. */
export interface Sight {
  readonly facts: Facts;
  /** A fresh probe, where one was made. */
  readonly probe?: Checkup;
  readonly agentsIn: AgentsIn;
  /** The host's wall clock, milliseconds since the epoch: how old its manager's report is. */
  readonly now: number;
  /** It was watched for as long as anything may take: nothing is too young to be told. */
  readonly waited?: boolean;
}
