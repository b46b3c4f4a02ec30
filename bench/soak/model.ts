import type { FakeJob } from '../../practice/azure/control/control.ts';
import type { LabAzure } from '../../practice/lab/azure.ts';
import type { Lab } from '../../practice/lab/lab.ts';
import type { Output } from '../../practice/lab/run.ts';

/** The fleet that is worked on. */
export interface SoakFleet {
  readonly lab: Lab;
  readonly azure: LabAzure;
  /** Path. */
  readonly inventory: string;
  readonly pool: string;
  /** azp-fleet as its user runs it; rejects unless it exits 0. */
  readonly cli: (args: readonly string[]) => Promise<Output>;
}

/** What is done to the fleet while it works. Times in milliseconds since the epoch. */
export interface FaultRecord {
  readonly name: string;
  /** Whose slots it concerned. */
  readonly hosts: readonly string[];
  /** Jobs on these hosts may have been cut by it. */
  readonly cutsJobs: boolean;
  readonly from: number;
  /** When it was over: the server well again, the machine booted, the command done. */
  readonly over: number;
  /** When every slot that it concerned had been seen idle or busy again. */
  readonly recovered: number;
  /** Until then a job could begin on a GPU that it took; absent: it took none. */
  readonly takenAt?: number;
  /** It must not take longer from `over` to `recovered`. */
  readonly boundMs: number;
}

/** The life of a slot's container, from the engine's events. */
export interface ContainerEvent {
  readonly host: string;
  /** `again`: all running containers are reported again as `present`, after the engine or the host was down. */
  readonly kind: 'again' | 'present' | 'start' | 'die';
  readonly id: string;
  readonly slot: string;
}

/** Everything that is judged. */
export interface Evidence {
  readonly jobs: readonly FakeJob[];
  readonly faults: readonly FaultRecord[];
  readonly events: readonly ContainerEvent[];
  /** Agent name → host. */
  readonly hostOf: ReadonlyMap<string, string>;
  /** `HOST SLOT: cause` of every quarantine that was seen. */
  readonly quarantines: readonly string[];
  /** `HOST: container` of every container that should be gone. */
  readonly leftOver: readonly string[];
  /** How often the server refused an agent because another one was there under its name. */
  readonly sessionConflicts: number;
  /** Places where the token was found and may not be. */
  readonly tokens: readonly string[];
  /** What a thief got with the copied key of an ended job. */
  readonly loot: readonly string[];
}
