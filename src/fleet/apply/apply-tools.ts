import type { Clock } from '../../shared/base/clock.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { Secret } from '../../shared/base/secret.ts';
import type { Facts } from '../facts/facts.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import type { LockOwner, Session, Transport } from '../ssh/transport.ts';
import type { HostPlan } from '../plan/fleet-plan.ts';
import type { Action } from '../steps/change.ts';
import type { Said, Simulation } from '../steps/packages/refine.ts';
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
  /**
   * What is to be done on a host. Asked again after each stage: what has been done must show in the facts. `said`: what
   * its package manager says; a plan without it is not applied.
   */
  readonly plan: (facts: Facts, host: HostSpec, said?: Said) => HostPlan;
  /** What the package manager has to be asked beyond what is known. Absent: nothing is planned that would need it. */
  readonly question?: (facts: Facts, host: HostSpec, known: Said['answers']) => Simulation | undefined;
  /**
   * Has the pools of a host ready before its manager starts: those that were announced without a name are made now.
   * Absent: Azure DevOps is not asked.
   */
  readonly poolsReady?: (host: HostSpec, facts: Facts) => Promise<void>;
  /** Takes the agents of an owner out of pools; rejects where one has a job. Absent: nothing is planned that would need it. */
  readonly deregister?: (asked: Extract<Action, { kind: 'deregister' }>) => Promise<void>;
  /** Agent's name → page of the job that it runs, for those that have one. Absent: Azure DevOps is not asked. */
  readonly jobPages?: (pool: string) => Promise<ReadonlyMap<string, string>>;
  /** Written to the hosts that need it; never part of a plan. */
  readonly credential?: Secret;
  /** The text of /etc/azp-fleet/registries; the same is true of it. */
  readonly registries?: Secret;
  /** By host, the text of /etc/azp-fleet/webhook; the same is true of it. */
  readonly webhooks?: ReadonlyMap<string, Secret>;
}

export interface ApplyOptions {
  /** Hosts worked on at the same time. */
  readonly parallel: number;
  readonly drainTimeoutMs: number;
  readonly breakLock: boolean;
}
