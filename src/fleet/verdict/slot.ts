import type { ErrorCode } from '../../shared/base/codes/code.ts';
import { Capabilities } from '../../shared/contract/paths.ts';
import type { ManagerStatus, SlotStatus } from '../../shared/contract/status.ts';
import { kindOf, settleMs, startMs } from './causes.ts';
import type { PoolAgents } from './sight.ts';

/** How one slot is. */
export type SlotVerdict =
  /** It takes jobs or runs one; or it is kept from working, by somebody or by what is told of the whole host. */
  | { readonly kind: 'well' }
  /** Its job began before the last change; the next agent will be made from what is wanted now. */
  | { readonly kind: 'older-job' }
  /** The manager does not tell from what its run was made. */
  | { readonly kind: 'untold' }
  | Trouble;

interface Trouble {
  readonly kind: 'trouble';
  /** Stable: `agents.` and a word. */
  readonly code: ErrorCode;
  readonly what: string;
  readonly next: string;
  /** It is told; false while it is younger than what every start takes. */
  readonly told: boolean;
  /** Waiting may end it. */
  readonly passing: boolean;
}

/** Where a slot is judged. */
export interface SlotScene {
  readonly status: ManagerStatus;
  /** Of the slot's pool. */
  readonly agents: PoolAgents;
  /** See Sight. */
  readonly waited: boolean;
  /** What is wrong with the whole host is told once, by itself. */
  readonly isHostHeld: boolean;
}

const atTheJournal = 'check `journalctl -u azp-fleet-manager` on the host';
const well: SlotVerdict = { kind: 'well' };

/** The verdict on one slot. Ages are by the host's own clock, up to its manager's report. Pure. */
export function judgeSlot(slot: SlotStatus, scene: SlotScene): SlotVerdict {
  const { state, cause, code, run, next = atTheJournal } = slot;
  const age = ages(slot, scene);
  const trouble = (code: ErrorCode, what: string, told: boolean, passing = true): Trouble => ({
    kind: 'trouble',
    code,
    what,
    next,
    told,
    passing,
  });
  switch (state) {
    case 'drained':
      return well;
    case 'quarantined':
      return trouble(`agents.${state}`, cause ?? state, true, false);
    case 'stopping':
      return code === 'drained' || code === 'idle.ending'
        ? well
        : trouble(`agents.${state}`, cause ?? 'is still being stopped', age.away(startMs));
    case 'busy':
      return poolTrouble(slot, scene) ?? (isOutdated(slot) ? { kind: 'older-job' } : (untold(slot) ?? well));
    case 'idle':
      if (run === undefined) return poolTrouble(slot, scene) ?? untold(slot) ?? well;
      if (slot.settings === undefined)
        return trouble(`agents.${state}`, cause ?? 'is still starting', age.away(startMs));
      return isOutdated(slot) ? outdated(age.away(startMs)) : (poolTrouble(slot, scene) ?? well);
    default: {
      if (state === 'waiting' && scene.isHostHeld) return well;
      const kind = kindOf(code ?? (cause === undefined ? undefined : 'other'));
      if (kind === 'certain') return trouble(`agents.${state}`, cause ?? state, true, false);
      if (kind === 'conflict') return trouble(`agents.${state}`, cause ?? state, true);
      if (kind === 'step') return trouble(`agents.${state}`, cause ?? 'is still starting', age.away(startMs));
      // Before a new agent listens, what was wrong with the one before is still shown.
      return trouble(`agents.${state}`, cause ?? state, state !== 'starting' || age.away(settleMs));
    }
  }
}

interface Ages {
  /** Nobody has been there for longer than this. */
  away(limitMs: number): boolean;
  /** The state is older than this. */
  state(limitMs: number): boolean;
}

function ages({ since, awaySince = since }: SlotStatus, { status, waited }: SlotScene): Ages {
  const at = Date.parse(status.at);
  // What is no time is no excuse.
  const older = (then: string, limitMs: number): boolean => waited || !(at - Date.parse(then) <= limitMs);
  return {
    away: (limitMs) => older(awaySince, limitMs),
    state: (limitMs) => older(since, limitMs),
  };
}

/** Managers up to 0.1 tell nothing of runs. */
function untold({ run }: SlotStatus): SlotVerdict | undefined {
  return run === undefined ? { kind: 'untold' } : undefined;
}

function isOutdated({ run, settings }: SlotStatus): boolean {
  return run !== undefined && settings !== undefined && run.settings !== settings;
}

function outdated(told: boolean): Trouble {
  return {
    kind: 'trouble',
    code: 'agents.outdated',
    what: 'its agent runs with the configuration before the last change',
    next: `wait: it stops when the pool shows no job for it; if it stays, ${atTheJournal}`,
    told,
    passing: true,
  };
}

/** What the server shows of an agent that listens or runs a job here. */
function poolTrouble(slot: SlotStatus, scene: SlotScene): Trouble | undefined {
  const { agents, status } = scene;
  if (agents === undefined) return undefined;
  const pool = slot.pool ?? status.pool.name;
  const agent = agents.get(slot.agent);
  const told = ages(slot, scene).state(settleMs);
  const trouble = (code: ErrorCode, what: string, next: string): Trouble => ({
    kind: 'trouble',
    code,
    what,
    next,
    told,
    passing: true,
  });
  if (agent?.status !== 'online')
    return trouble(
      'agents.offline',
      `runs here, but is ${agent === undefined ? 'not registered' : 'offline'} in pool ${pool}`,
      'check the container’s log (`docker logs`) and the network path from the host to Azure DevOps',
    );
  const tags = agent.userCapabilities ?? {};
  if (status.owner !== undefined && tags[Capabilities.owner] !== status.owner)
    return trouble(
      'agents.taken',
      `its name in pool ${pool} belongs to another installation`,
      'give one of the two another agentName; to take the name over: azp-fleet adopt',
    );
  if (slot.run?.agentId !== undefined && slot.run.agentId !== agent.id)
    return trouble(
      'agents.replaced',
      `was registered as agent ${slot.run.agentId}, but pool ${pool} has agent ${agent.id} under its name`,
      'find the other host that registers agents of this name',
    );
  if (agent.enabled) return undefined;
  // Its manager has disabled it, and enables it again when it has to work.
  const isOurs = tags[Capabilities.drainReason] !== undefined;
  return {
    ...trouble(
      'agents.disabled',
      `disabled in pool ${pool}, so it gets no jobs`,
      'enable it in the pool’s agent list when it should take jobs again',
    ),
    told: told || !isOurs,
    passing: isOurs,
  };
}
