import { jobWaiting, otherContainers, ownUses, type OwnView, queueUnknown, type Use } from './uses.ts';
import { FleetError } from '../../shared/base/errors.ts';
import type { RunCommand } from '../machine/command.ts';
import type { AzureAgent, JobRequest } from '../../shared/azure/client.ts';
import { type IdleStatus, offReason } from '../../shared/contract/idle.ts';
import { Alarm, repeat } from '../alarm.ts';
import { unscaled } from '../../shared/base/clock.ts';
import { causeOf } from '../causes.ts';
import type { Cause, Hold } from '../model.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import type { ReadPresence } from './presence.ts';

/** A shorter login does not count as use. Unscaled milliseconds, like the following constants. */
export const shortLoginMs = 60_000;
/** Longest drain: agents without a job are disabled, checked again and stopped within some 20 s. */
export const drainMs = 10 * 60_000;
/** A machine that still runs after this time did not power off. */
export const powerOffMs = 10 * 60_000;
/**
 * The same after a failed command. Its failure alone proves nothing: a shutdown kills the waiting process, too.
 */
export const failedPowerOffMs = 60_000;

/** `draining`: the agents are being disabled and stopped; `powering-off`: the power-off command was run. */
export type Phase = 'on' | 'draining' | 'powering-off';

/** Input of one decision; times are monotonic. */
export interface IdleView {
  readonly now: number;
  /** Idle time before a power-off, in scaled milliseconds. */
  readonly afterMs: number;
  /** When it was last in use; first the start of the manager. */
  readonly usedAt: number;
  readonly phase: Phase;
  readonly phaseAt: number;
  /** The power-off command failed. */
  readonly failed: boolean;
  /** What keeps the machine on, and since when. */
  readonly uses: readonly (Use & { readonly seenAt: number })[];
  /** No agent runs or starts, and the server shows all agents of this host disabled and without a job. */
  readonly closed: boolean;
  /** Converts unscaled milliseconds. */
  readonly scaled: (ms: number) => number;
}

type IdleStep =
  /** In use: the idle time starts again. */
  | { readonly kind: 'used'; readonly by: Use }
  /** It is idle, but a user just logged in. */
  | { readonly kind: 'visited'; readonly by: Use }
  | { readonly kind: 'wait' }
  /** Agents are disabled and stopped. */
  | { readonly kind: 'drain' }
  | { readonly kind: 'power-off' }
  /** It did not power off: the agents are enabled again, and the idle time starts again. */
  | { readonly kind: 'give-up'; readonly phase: Phase };

/** Decides the next step of a machine that may power off. Pure. */
export function decideIdle(view: IdleView): IdleStep {
  const { now, afterMs, usedAt, phase, phaseAt, failed, uses, closed, scaled } = view;
  // The power-off command cannot be undone.
  if (phase === 'powering-off')
    return now - phaseAt >= scaled(failed ? failedPowerOffMs : powerOffMs)
      ? { kind: 'give-up', phase }
      : { kind: 'wait' };
  const inUse = uses.find(({ kind, seenAt }) => kind === 'use' || now - seenAt >= scaled(shortLoginMs));
  if (inUse !== undefined) return { kind: 'used', by: inUse };
  if (now - usedAt < afterMs) return { kind: 'wait' };
  const [visit] = uses;
  if (visit !== undefined) return { kind: 'visited', by: visit };
  if (phase === 'on') return { kind: 'drain' };
  if (closed) return { kind: 'power-off' };
  return now - phaseAt >= scaled(drainMs) ? { kind: 'give-up', phase } : { kind: 'drain' };
}

/** Longer than a program needs to stop a cloud machine. */
const commandMs = 5 * 60_000;

/**
 * Powers off this machine through a separate unit, because the hardening of the manager's unit forbids it. Resolves when
 * systemd, or the configured program, accepts the command; otherwise rejects.
 */
async function powerOff(command: RunCommand, run: string): Promise<void> {
  const program = run === 'poweroff' ? ['systemctl', 'poweroff'] : [run];
  const { code, output } = await command(
    'systemd-run',
    ['--quiet', '--collect', '--unit=azp-fleet-idle', '--property=Type=oneshot', '--', ...program],
    commandMs,
  );
  if (code === 0) return;
  throw new FleetError({
    code: 'idle.not-ended',
    what: `this machine is idle, and ${program.join(' ')} failed`,
    seen: output.trim() === '' ? `exit code ${code}` : output.trim(),
    next: 'check `journalctl -u azp-fleet-idle` on the host, and correct idle.run; retried automatically',
  });
}

/** Between two checks; unscaled milliseconds. */
const checkEveryMs = 10_000;
/** How often queues are read while the machine is not about to power off. */
const queueEveryMs = 5 * 60_000;

interface IdleTools extends Pick<ManagerDeps, 'config' | 'clock' | 'log' | 'command'> {
  readonly engine: Pick<ManagerDeps['engine'], 'running'>;
  readonly state: { readonly owner: string };
  readonly azure: Pick<ManagerDeps['azure'], 'unfinishedRequests' | 'findAgent'>;
  readonly presence: ReadPresence;
}

/** An agent of this host in its pool. */
export interface PoolAgent {
  readonly agent: string;
  readonly pool: string;
  /** Undefined: the pool is not found. */
  readonly poolId: number | undefined;
  /** Undefined: no registration is known. */
  readonly id: number | undefined;
}

/** What the manager knows of its slots. */
export interface IdleSlots {
  own(): OwnView;
  /** Returns all agents of this host. */
  agents(): readonly PoolAgent[];
  /** Returns the agents that accept jobs, or that only the idle watch disabled. */
  acceptingJobs(): readonly PoolAgent[];
  /** True without runs and without operations on a slot. */
  isEmpty(): boolean;
  /** Reports that slots close or open. */
  changed(): void;
}

/** Powers off an idle machine: disables and stops its agents first, and checks them again. */
export class IdleWatch {
  readonly #tools: IdleTools;
  readonly #settings: NonNullable<ManagerDeps['config']['idle']>;
  readonly #slots: IdleSlots;
  readonly #alarm = new Alarm();
  /** By key, the time of the first check with this use; monotonic. */
  #seen: ReadonlyMap<string, number> = new Map();
  #usedAt: number;
  #phase: Phase = 'on';
  #phaseAt: number;
  #keptOnBy: Use | undefined;
  #queueAt = Number.NEGATIVE_INFINITY;
  #queue: readonly Use[] = [];
  #problem: Cause | undefined;
  /** Error of the power-off command. */
  #powerOffError: Cause | undefined;
  /** The reason for which agents are disabled. */
  #reason = '';

  constructor(tools: IdleTools, settings: NonNullable<ManagerDeps['config']['idle']>, slots: IdleSlots) {
    this.#tools = tools;
    this.#settings = settings;
    this.#slots = slots;
    this.#usedAt = tools.clock.monotonic();
    this.#phaseAt = this.#usedAt;
  }

  /** Closes the slots while the machine powers off. */
  get hold(): Hold | undefined {
    if (this.#phase === 'on') return undefined;
    const cause: Cause = {
      code: 'idle.ending',
      what: this.#reason,
      next: 'start the machine when it is needed',
    };
    return { kind: 'close', state: 'drained', cause };
  }

  /** Why the machine did not power off. */
  get problem(): Cause | undefined {
    return this.#problem;
  }

  get status(): IdleStatus {
    const { what, next } = this.#keptOnBy ?? {};
    return {
      ...this.#settings,
      idleS: Math.floor(this.#idleMs() / 1000),
      ...(what === undefined || next === undefined ? {} : { stays: { what, next } }),
      ...(this.#phase === 'on' ? {} : { ending: true }),
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#alarm.ring(), { once: true });
    await repeat(this.#tools, { ms: checkEveryMs, signal, alarm: this.#alarm }, () => this.#check(signal));
  }

  async #check(signal: AbortSignal): Promise<void> {
    const { clock } = this.#tools;
    const uses = await this.#uses();
    const now = clock.monotonic();
    this.#seen = new Map(uses.map(({ key }) => [key, this.#seen.get(key) ?? now]));
    const step = decideIdle({
      now,
      afterMs: clock.scaled(this.#settings.afterS * 1000),
      usedAt: this.#usedAt,
      phase: this.#phase,
      phaseAt: this.#phaseAt,
      failed: this.#powerOffError !== undefined,
      uses: uses.map((use) => ({ ...use, seenAt: this.#seen.get(use.key) ?? now })),
      closed: this.#phase === 'draining' && (await this.#isClosed()),
      scaled: (ms) => clock.scaled(ms),
    });
    if (!signal.aborted) await this.#apply(step, now);
  }

  async #apply(step: IdleStep, now: number): Promise<void> {
    this.#keptOnBy = step.kind === 'used' || step.kind === 'visited' ? step.by : undefined;
    switch (step.kind) {
      case 'used':
        this.#usedAt = now;
        this.#enter('on', now);
        return;
      case 'visited':
        this.#enter('on', now);
        return;
      case 'wait':
        return;
      case 'drain':
        if (this.#phase === 'on') this.#reason = offReason(this.#idleSince());
        this.#enter('draining', now);
        // Checks again within seconds.
        this.#alarm.ring();
        return;
      case 'power-off':
        this.#enter('powering-off', now);
        return this.#powerOff();
      case 'give-up':
        this.#problem =
          step.phase === 'draining' ? notDrained : (this.#powerOffError ?? stillOn(this.#settings.run));
        this.#usedAt = now;
        this.#enter('on', now);
        return;
      default:
        throw new Error(`no such step: ${JSON.stringify(step satisfies never)}`);
    }
  }

  #enter(phase: Phase, now: number): void {
    if (phase === this.#phase) return;
    this.#tools.log.log('info', 'idle', { from: this.#phase, to: phase, because: this.#keptOnBy?.what });
    this.#phase = phase;
    this.#phaseAt = now;
    this.#slots.changed();
  }

  async #powerOff(): Promise<void> {
    const { command, log } = this.#tools;
    log.log('warn', 'this machine is idle and powers off', { since: this.#idleSince(), ...this.#settings });
    this.#problem = undefined;
    this.#powerOffError = await powerOff(command, this.#settings.run).then(
      () => undefined,
      (error: unknown) => causeOf(error),
    );
    if (this.#powerOffError !== undefined)
      log.log('warn', 'the power-off command failed', { ...this.#powerOffError });
  }

  async #uses(): Promise<readonly Use[]> {
    const { presence, engine, state } = this.#tools;
    const [people, containers] = await Promise.all([
      presence().catch((error: unknown) => [unknown('users of the machine', causeOf(error))]),
      engine.running().then(
        (running) => otherContainers(running, state.owner),
        (error: unknown) => [unknown('running containers', causeOf(error))],
      ),
    ]);
    const known = [...ownUses(this.#slots.own()), ...people, ...containers];
    return known.some(({ kind }) => kind === 'use') ? known : [...known, ...(await this.#waitingJobs())];
  }

  /** Reads the queues when the machine is about to power off, else every few minutes for the status. */
  async #waitingJobs(): Promise<readonly Use[]> {
    const { clock } = this.#tools;
    const now = clock.monotonic();
    const isDue = this.#idleMs() >= this.#settings.afterS * 1000;
    if (!isDue && now - this.#queueAt < clock.scaled(queueEveryMs)) return this.#queue;
    this.#queueAt = now;
    this.#queue = await this.#readQueues();
    return this.#queue;
  }

  async #readQueues(): Promise<readonly Use[]> {
    // Includes agents that this watch disabled: a new job may be for them.
    const pools = Map.groupBy(this.#slots.acceptingJobs(), ({ pool }) => pool);
    const waiting = await Promise.all(
      [...pools].map(async ([pool, acceptingJobs]) => {
        const poolId = acceptingJobs.find((agent) => agent.poolId !== undefined)?.poolId;
        if (poolId === undefined) return queueUnknown(pool, 'the pool is not found');
        const ids = new Set(acceptingJobs.flatMap(({ id }) => id ?? []));
        return this.#tools.azure.unfinishedRequests(poolId).then(
          (requests: readonly JobRequest[]) => jobWaiting(pool, requests, ids),
          (error: unknown) => queueUnknown(pool, causeOf(error).what),
        );
      }),
    );
    return waiting.filter((use) => use !== undefined);
  }

  /** Returns whether the server shows all agents of this host without a job and disabled. */
  async #isClosed(): Promise<boolean> {
    if (!this.#slots.isEmpty()) return false;
    const found = await Promise.all(
      this.#slots
        .agents()
        .map(async ({ poolId, agent }) =>
          poolId === undefined
            ? undefined
            : this.#tools.azure.findAgent(poolId, agent, { capabilities: false }),
        ),
    ).catch(() => 'unknown' as const);
    return found !== 'unknown' && found.every(acceptsNoJobs);
  }

  #idleMs(): number {
    const { clock } = this.#tools;
    return unscaled(clock, clock.monotonic() - this.#usedAt);
  }

  /** ISO 8601, for people. */
  #idleSince(): string {
    return new Date(this.#tools.clock.wall() - this.#idleMs()).toISOString();
  }
}

function acceptsNoJobs(agent: AzureAgent | undefined): boolean {
  return agent === undefined || (!agent.enabled && agent.assignedRequest === undefined);
}

function unknown(what: string, { what: why, next }: Cause): Use {
  return { key: what, kind: 'use', what: `${what} cannot be read: ${why}`, next };
}

const notDrained: Cause = {
  code: 'idle.not-ended',
  what: 'this machine is idle, but its agents could not be disabled within 10 min; it stays on',
  next: 'check the agents in `azp-fleet status`, and that the credential may disable them; retried automatically',
};

function stillOn(run: string): Cause {
  return {
    code: 'idle.not-ended',
    what: `${run} succeeded, and this machine still runs 10 min later; its agents are enabled again`,
    next: 'check `journalctl -u azp-fleet-idle` on the host, and correct idle.run; retried automatically',
  };
}
