import type { UnknownFact } from '../facts/facts.ts';
import type { FleetChange } from './pools.ts';
import type { Change, Shape, StepName } from '../steps/change.ts';
import type { Simulated } from '../steps/packages/refine.ts';

/** The plan of one host, in order. Stage n+1 is planned again after stage n has run. */
export interface HostPlan {
  readonly host: string;
  /** sha256 of the facts that the plan depends on. */
  readonly factsDigest: string;
  /** Short digests of these facts, by name. Only in a saved plan. */
  readonly facts?: Readonly<Record<string, string>>;
  readonly stages: readonly (readonly (Change | Shape)[])[];
  /** Its package manager's answers about the pending package changes; absent: not simulated. */
  readonly packages?: Simulated['answers'];
  /** Why this host cannot reach the desired state (wrong OS, other users' work in the way, …). */
  readonly refusals: readonly { readonly step: StepName; readonly what: string; readonly next: string }[];
  /** Facts that could not be read. Absent: none. */
  readonly unknown?: readonly UnknownFact[];
}

/** `plan -o FILE` writes this as JSON. */
export interface FleetPlan {
  readonly schema: 1;
  readonly version: string;
  /** ISO 8601 */
  readonly at: string;
  readonly inventory: string;
  /** sha256 of the resolved inventory. */
  readonly inventoryDigest: string;
  readonly fleet: readonly FleetChange[];
  readonly hosts: readonly HostPlan[];
  /** In which order hosts are drained. Absent: none is. */
  readonly waves?: WavesPlan;
}

/** Hosts that are changed at the same time. */
export interface Wave {
  /** One host of each kind, before the others of its kind. */
  readonly canary: boolean;
  readonly hosts: readonly string[];
}

/** A host that cannot be changed now, and why. */
export interface Held {
  readonly host: string;
  readonly what: string;
  readonly next: string;
}

/** In which order a run drains hosts, as shown and saved. */
export interface WavesPlan {
  /** `25%`, `3`: of the hosts of each pool. */
  readonly maxUnavailable: string;
  readonly maxFailures: string;
  /** Proven before the first wave begins. */
  readonly proveFirst: readonly string[];
  readonly waves: readonly Wave[];
  /** Pools without agents for a time: pools of one host, or any with 100 % unavailable; permanently with `removes`. */
  readonly emptied: readonly string[];
  /** Not begun even if no host fails. */
  readonly held: readonly Held[];
  /** The hosts leave the fleet: none is proven, and no agents are enabled again. */
  readonly removes?: true;
}
