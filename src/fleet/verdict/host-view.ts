import type { AzureAgent } from '../../shared/azure/client.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import type { Checkup } from '../../shared/health/checkup.ts';

/** The pool's agents by name, or undefined when they could not be listed. */
export type PoolAgents = ReadonlyMap<string, AzureAgent> | undefined;

/** Returns the agents of a pool by its name. */
export type AgentsIn = (pool: string) => PoolAgents;

/** A host at one moment: its facts with its manager's view of the slots, and the server's view. */
export interface HostView {
  /** Name in the inventory. */
  readonly host: string;
  readonly facts: GatheredFacts;
  /** A fresh probe; absent: none was made. */
  readonly probe?: Checkup;
  readonly agentsIn: AgentsIn;
  /** The host's wall clock, milliseconds since the epoch, for the age of its manager's report. */
  readonly now: number;
  /** This machine's wall clock when it had read the facts; absent: the clocks are not compared. */
  readonly factsReadAt?: number;
  /** The proof waited for as long as any start may take: every problem is reported, however young. */
  readonly waited?: boolean;
  /** Findings that have not lasted long enough are hidden, as `status` does; the proof counts each. */
  readonly hidesYoung?: boolean;
}
