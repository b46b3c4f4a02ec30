import type { Change, Shape, StepName } from '../steps/change.ts';
import type { Said } from '../steps/packages/refine.ts';
import type { FleetChange } from './pools.ts';
import type { WavesPlan } from './waves-plan.ts';

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
