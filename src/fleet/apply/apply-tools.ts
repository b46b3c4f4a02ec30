import type { CountedJob } from '../../shared/azure/pools/agents.ts';
import type { Clock } from '../../shared/base/clock.ts';
import type { Problem } from '../../shared/base/errors.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { Secret } from '../../shared/base/secret.ts';
import type { DrainCommand } from '../../shared/contract/drain.ts';
import type { AuditEntry } from '../audit/entry.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import type { LockOwner, Session, Transport } from '../ssh/transport.ts';
import type { HostPlan } from '../plan/fleet-plan.ts';
import type { Action } from '../steps/change.ts';
import type { Simulated, Simulation } from '../steps/packages/refine.ts';
import type { EventSink } from './events.ts';

/** The dependencies of reaching and reading hosts: no token, and nothing of Azure DevOps. */
export interface HostTools {
  readonly transport: Transport;
  /** Reads the facts with one exec. */
  readonly gather: (session: Session, host: HostSpec) => Promise<GatheredFacts>;
  /** Returns the question for the package manager beyond the known answers. Absent: the plan needs no answers. */
  readonly question?: (
    facts: GatheredFacts,
    host: HostSpec,
    known: Simulated['answers'],
  ) => Simulation | undefined;
  readonly owner: LockOwner;
  /** Id of this run, in the drains of its hosts. */
  readonly run: string;
  readonly command: DrainCommand;
  readonly emit: EventSink;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Real milliseconds; rejects when the signal is aborted. */
  readonly sleep: (ms: number) => Promise<void>;
  readonly options: ApplyOptions;
  /** Writes to the audit file of this machine. Absent: it has none. */
  readonly audit?: (event: 'begin' | 'end', entry: AuditEntry, outcome?: string) => void;
}

/** The dependencies of planning and applying. Commands build them; tests inject their own. */
export interface ApplyTools extends HostTools {
  /**
   * Plans a host. It is called again after each stage, and the facts must show what was done. `said`: the answers of its package
   * manager; a plan without them is not applied.
   */
  readonly plan: (facts: GatheredFacts, host: HostSpec, said?: Simulated) => HostPlan;
  /** Checks the rights of the token in the pools of these hosts. Absent: no token, or it was tried. */
  readonly checkToken?: (
    hosts: readonly { readonly host: HostSpec; readonly facts: GatheredFacts }[],
  ) => Promise<TokenRights>;
  /** Creates the host's pools that were announced without a name, before its manager starts. Absent: no Azure DevOps. */
  readonly poolsReady?: (host: HostSpec, facts: GatheredFacts) => Promise<void>;
  /** Jobs on agents that the plan removes: while there are any, nothing is changed. Absent: they do not matter. */
  readonly counted?: CountedJobs;
  /**
   * Removes the agents of an owner from pools, and returns what could not be removed, for people; rejects where that stops the
   * host. Absent: the plan has no such action.
   */
  readonly deregister?: (
    action: Extract<Action, { kind: 'deregister' }>,
    host: string,
  ) => Promise<readonly string[]>;
  /** Returns agent's name → page of the job that it runs. Absent: no Azure DevOps. */
  readonly jobPages?: (pool: string) => Promise<ReadonlyMap<string, string>>;
  /** Written to the hosts that need it; never part of a plan. */
  readonly credential?: Secret;
  /** The text of /etc/azp-fleet/registries; never part of a plan. */
  readonly registries?: Secret;
  /** By host, the text of /etc/azp-fleet/webhook; never part of a plan. */
  readonly webhooks?: ReadonlyMap<string, Secret>;
}

export interface TokenRights {
  /** Pool → why agents could not be registered there. */
  readonly gaps: ReadonlyMap<string, Problem>;
  /** One of the hosts would get another token. */
  readonly isNew: boolean;
}

/** Jobs that Azure DevOps counts on agents that a plan removes. */
export interface CountedJobs {
  /** Reads them; rejects if a pool cannot be read. */
  readonly read: (host: HostSpec, facts: GatheredFacts) => Promise<readonly CountedJob[]>;
  /** Wait until the server gives up jobs of agents that have ended, as for running jobs. */
  readonly wait: boolean;
}

export interface ApplyOptions {
  /** The most hosts that are changed at the same time. */
  readonly parallel: number;
  readonly drainTimeoutMs: number;
  readonly breakLock: boolean;
}
