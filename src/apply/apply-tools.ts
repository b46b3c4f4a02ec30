import type { Clock } from '../base/machine/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Secret } from '../base/secret.ts';
import type { Facts } from '../facts/facts.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import type { LockOwner, Session, Transport } from '../ssh/transport.ts';
import type { Desired, Step } from '../steps/step.ts';
import type { EventSink } from './events.ts';

/** What reaching and reading hosts takes. No token is in it, and nothing of Azure DevOps. */
export interface HostTools {
  readonly transport: Transport;
  /** Reads the facts with one exec. */
  readonly gather: (session: Session, host: HostSpec) => Promise<Facts>;
  readonly owner: LockOwner;
  /** Names this run on the hosts that it drains. */
  readonly run: string;
  readonly emit: EventSink;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Real milliseconds; rejects when the signal is aborted. */
  readonly sleep: (ms: number) => Promise<void>;
  readonly options: ApplyOptions;
}

/** What planning and applying work with. Built by the commands; tests bring their own ends. */
export interface ApplyTools extends HostTools {
  /** The steps of a host. Where the pool cannot be used, those without the manager. */
  readonly steps: (host: HostSpec) => readonly Step[];
  readonly desired: (host: HostSpec) => Desired;
  /** Agent's name → page of the job that it runs, for those that have one. Empty when Azure DevOps cannot be asked. */
  readonly jobPages: (pool: string) => Promise<ReadonlyMap<string, string>>;
  /** Written to the hosts that need it; never part of a plan. */
  readonly credential: Secret | undefined;
}

export interface ApplyOptions {
  /** Hosts worked on at the same time. */
  readonly parallel: number;
  readonly disturbOthers: boolean;
  readonly drainTimeoutMs: number;
  readonly breakLock: boolean;
}
