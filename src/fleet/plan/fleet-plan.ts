import type { FleetChange } from './pools.ts';
import type { Change, Shape, StepName } from '../steps/change.ts';
import type { Said } from '../steps/packages/refine.ts';

/** Everything for one host, in order. Stage n+1 is planned again after stage n has run. */
export interface HostPlan {
  readonly host: string;
  /** sha256 over the facts that the plan rests on. */
  readonly factsDigest: string;
  readonly stages: readonly (readonly (Change | Shape)[])[];
  /** What its package manager said of the package changes that are pending, where it was asked. */
  readonly packages?: Said['answers'];
  /** Why this host cannot be brought to the wanted state, when it cannot (wrong OS, foreign work in the way, …). */
  readonly refusals: readonly { readonly step: StepName; readonly what: string; readonly next: string }[];
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
  /** In which order hosts lose their agents for a time. Absent: none does. */
  readonly waves?: WavesPlan;
}

/** Hosts that are changed at the same time. */
export interface Wave {
  /** One host of each kind, before the others of its kind. */
  readonly canary: boolean;
  readonly hosts: readonly string[];
}

/** A host that cannot be begun, and why. */
export interface Held {
  readonly host: string;
  readonly what: string;
  readonly next: string;
}

/** In which order a run takes hosts' agents away, as it is shown and saved. */
export interface WavesPlan {
  /** `25%`, `3`: of the hosts of each pool. */
  readonly maxUnavailable: string;
  readonly maxFailures: string;
  /** Proven before the first wave begins. */
  readonly proveFirst: readonly string[];
  readonly waves: readonly Wave[];
  /** Pools that have no agents for a time: those of one host, unless all was allowed; for good where `removes`. */
  readonly emptied: readonly string[];
  /** Not begun even if all goes well. */
  readonly held: readonly Held[];
  /** The hosts leave the fleet: none is proven, and no agents come back. */
  readonly removes?: true;
}
