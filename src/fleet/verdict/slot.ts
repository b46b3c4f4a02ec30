import type { ErrorCode } from '../../shared/base/codes/code.ts';
import { Capabilities } from '../../shared/contract/paths.ts';
import type { ManagerStatus, SlotStatus } from '../../shared/contract/status.ts';
import { kindOf, settleMs, startMs } from './causes.ts';
import type { PoolAgents } from './host-view.ts';

/** The verdict on one slot. */
export type SlotVerdict =
  /** It takes jobs or runs one; or it is drained; or a finding about the whole host explains its state. */
  | { readonly kind: 'ok' }
  /** Its job began before the last change; its next agent will use the current configuration. */
  | { readonly kind: 'older-job' }
  /** The manager does not report the configuration of its run. */
  | { readonly kind: 'unreported' }
  | Trouble;

interface Trouble {
  readonly kind: 'trouble';
  readonly code: ErrorCode;
  readonly what: string;
  readonly next: string;
  /** It is a finding; false while it is younger than a start may take. */
  readonly reported: boolean;
  /** It may end without a fix. */
  readonly temporary: boolean;
  /** The agent may still take jobs. */
  readonly mayWork?: true;
}

/** What a slot's verdict depends on besides the slot. */
export interface SlotContext {
  readonly status: ManagerStatus;
  /** Of the slot's pool. */
  readonly agents: PoolAgents;
  /** See HostView. */
  readonly waited: boolean;
  /** The host itself has a problem, which is reported once and not for each slot. */
  readonly hostHasProblem: boolean;
}

const atTheJournal = 'check `journalctl -u azp-fleet-manager` on the host';
const ok: SlotVerdict = { kind: 'ok' };

/** Returns the verdict on one slot. Ages are by the host's clock, up to its manager's report. Pure. */
export function judgeSlot(slot: SlotStatus, context: SlotContext): SlotVerdict {
  const { state, cause, code, run, next = atTheJournal } = slot;
  const age = ages(slot, context);
  const trouble = (code: ErrorCode, what: string, reported: boolean, temporary = true): Trouble => ({
    kind: 'trouble',
    code,
    what,
    next,
    reported,
    temporary,
  });
  switch (state) {
    case 'drained':
      return ok;
    case 'quarantined':
      return trouble(`agents.${state}`, cause ?? state, true, false);
    case 'stopping':
      return code === 'drained' || code === 'idle.ending'
        ? ok
        : trouble(`agents.${state}`, cause ?? 'is still being stopped', age.away(startMs));
    case 'busy':
      return (
        poolTrouble(slot, context) ??
        updateTrouble(slot) ??
        (isOutdated(slot) ? { kind: 'older-job' } : (unreported(slot) ?? ok))
      );
    case 'idle':
      if (run === undefined) return poolTrouble(slot, context) ?? unreported(slot) ?? ok;
      if (slot.settings === undefined)
        return trouble(`agents.${state}`, cause ?? 'is still starting', age.away(startMs));
      if (isOutdated(slot)) return outdated(age.away(startMs));
      return poolTrouble(slot, context) ?? updateTrouble(slot) ?? ok;
    default: {
      if (state === 'waiting' && context.hostHasProblem) return ok;
      const kind = kindOf(code ?? (cause === undefined ? undefined : 'other'));
      if (kind === 'permanent') return trouble(`agents.${state}`, cause ?? state, true, false);
      if (kind === 'conflict') return trouble(`agents.${state}`, cause ?? state, true);
      if (kind === 'startup')
        return trouble(`agents.${state}`, cause ?? 'is still starting', age.away(startMs));
      // Until a new agent listens, the slot still shows the cause of the one before.
      return trouble(`agents.${state}`, cause ?? state, state !== 'starting' || age.away(settleMs));
    }
  }
}

interface Ages {
  /** No agent has listened for longer than this. */
  away(limitMs: number): boolean;
  /** The state is older than this. */
  state(limitMs: number): boolean;
}

function ages({ since, awaySince = since }: SlotStatus, { status, waited }: SlotContext): Ages {
  const at = Date.parse(status.at);
  // An invalid time counts as old.
  const older = (then: string, limitMs: number): boolean => waited || !(at - Date.parse(then) <= limitMs);
  return {
    away: (limitMs) => older(awaySince, limitMs),
    state: (limitMs) => older(since, limitMs),
  };
}

/** Managers up to 0.1 do not report runs. */
function unreported({ run }: SlotStatus): SlotVerdict | undefined {
  return run === undefined ? { kind: 'unreported' } : undefined;
}

function isOutdated({ run, settings }: SlotStatus): boolean {
  return run !== undefined && settings !== undefined && run.settings !== settings;
}

/**
 * Returns the trouble of an agent that the server asked to update itself. While it downloads it takes no jobs; it prints
 * nothing when the download fails, and then takes jobs again.
 */
function updateTrouble({ code, cause = '', next = atTheJournal }: SlotStatus): Trouble | undefined {
  if (code !== 'image.outdated') return undefined;
  return { kind: 'trouble', code, what: cause, next, reported: true, temporary: false, mayWork: true };
}

function outdated(reported: boolean): Trouble {
  return {
    kind: 'trouble',
    code: 'agents.outdated',
    what: 'its agent runs with the configuration before the last change',
    next: `wait: one slot starts on a new image first, then the others; it stops when the pool shows no job for it; if it stays, ${atTheJournal}`,
    reported,
    temporary: true,
  };
}

/** Returns what is wrong in the pool with an agent that listens or runs a job on the host. */
function poolTrouble(slot: SlotStatus, context: SlotContext): Trouble | undefined {
  const { agents, status } = context;
  if (agents === undefined) return undefined;
  const pool = slot.pool ?? status.pool.name;
  const agent = agents.get(slot.agent);
  const reported = ages(slot, context).state(settleMs);
  const trouble = (code: ErrorCode, what: string, next: string): Trouble => ({
    kind: 'trouble',
    code,
    what,
    next,
    reported,
    temporary: true,
  });
  if (agent?.status !== 'online')
    return trouble(
      'agents.offline',
      `runs here, but is ${agent === undefined ? 'not registered' : 'offline'} in pool ${pool}`,
      agent === undefined && slot.container?.startsWith('host-') !== true
        ? 'run `docker stop AGENT` on the host when no job runs in it: the manager then registers a new agent'
        : 'check the container’s log (`docker logs`) and the network path from the host to Azure DevOps',
    );
  const tags = agent.userCapabilities ?? {};
  if (status.owner !== undefined && tags[Capabilities.owner] !== status.owner)
    return trouble(
      'agents.taken',
      `its name in pool ${pool} belongs to another installation`,
      'set another agentName for one of the two; to take the name over, run `azp-fleet adopt`',
    );
  if (slot.run?.agentId !== undefined && slot.run.agentId !== agent.id)
    return trouble(
      'agents.replaced',
      `was registered as agent ${slot.run.agentId}, but pool ${pool} has agent ${agent.id} under its name`,
      'find the other host that registers agents of this name',
    );
  if (agent.enabled) return undefined;
  // Its manager disabled it, and enables it again when it may take jobs.
  const isOurs = tags[Capabilities.drainReason] !== undefined;
  if (isOurs && isDrained(slot, status)) return undefined;
  return {
    ...trouble(
      'agents.disabled',
      `disabled in pool ${pool}, so it gets no jobs`,
      'enable it in the pool’s agent list when it should take jobs again',
    ),
    reported: reported || !isOurs,
    temporary: isOurs,
  };
}

/** A drain of the host or of the slot is shown once for the host, with who ends it. */
function isDrained({ slot }: SlotStatus, { drains }: ManagerStatus): boolean {
  return drains.some((drain) => drain.slot === undefined || drain.slot === slot);
}
