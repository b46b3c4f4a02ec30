import type { FakeJob } from '../../practice/azure/control/control.ts';
import type { LabAzure } from '../../practice/lab/azure.ts';
import type { Lab } from '../../practice/lab/lab.ts';
import type { Output } from '../../practice/lab/run.ts';

/** The tested fleet. */
export interface SoakFleet {
  readonly lab: Lab;
  readonly azure: LabAzure;
  /** Path. */
  readonly inventory: string;
  readonly pool: string;
  /** Pool of slots in host mode, if any. */
  readonly hostPool?: string;
  /** Runs azp-fleet as a user; rejects unless it exits 0. */
  readonly cli: (args: readonly string[]) => Promise<Output>;
}

/** A disturbance of the running fleet. Times in milliseconds since the epoch. */
export interface FaultRecord {
  readonly name: string;
  /** The affected hosts. */
  readonly hosts: readonly string[];
  /** Hosts whose jobs it may have ended. */
  readonly cutsJobs: boolean;
  readonly from: number;
  /** Its end: the server answers, the machine has booted, the command has exited. */
  readonly over: number;
  /** When every affected slot was idle or busy again. */
  readonly recovered: number;
  /** Until then a job could begin on the GPU that it used; absent: it used none. */
  readonly takenAt?: number;
  /** It must not take longer from `over` to `recovered`. */
  readonly boundMs: number;
}

/** Start and end of a slot's container, from the engine's events. */
export interface ContainerEvent {
  readonly host: string;
  /** `again`: all running containers are reported again as `present`, after the engine or the host was down. */
  readonly kind: 'again' | 'present' | 'start' | 'die';
  readonly id: string;
  readonly slot: string;
}

/** The data for the verdict. */
export interface RunRecord {
  readonly jobs: readonly FakeJob[];
  /** Pool whose jobs run in no container. */
  readonly hostPool?: string;
  readonly faults: readonly FaultRecord[];
  readonly events: readonly ContainerEvent[];
  /** Agent name → host. */
  readonly hostOf: ReadonlyMap<string, string>;
  /** `HOST SLOT: cause` of every observed quarantine. */
  readonly quarantines: readonly string[];
  /** `HOST: container` of every leftover container, and of processes. */
  readonly leftOver: readonly string[];
  /** Number of agents that the server refused because another one had the name. */
  readonly sessionConflicts: number;
  /** Forbidden places that contained the token. */
  readonly tokens: readonly string[];
  /** Successful uses of the copied key of an ended job. */
  readonly loot: readonly string[];
  /** `HOST: reasons` of every manager that ended on an uncaught error. */
  readonly crashes: readonly string[];
  /** Host → most memory of its manager in MiB. */
  readonly memoryMiB: ReadonlyMap<string, number>;
  /** Attacks beside the jobs, and how often each happened. */
  readonly attacks: ReadonlyMap<string, number>;
}
