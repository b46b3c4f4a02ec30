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

/** A login that is younger has come to look. Unscaled milliseconds, as those below. */
export const visitMs = 60_000;
/** Agents without a job are disabled, looked at again and stopped within some 20 s. */
export const leavingMs = 10 * 60_000;
/** A machine that runs longer after it was told to end does not end. */
export const endingMs = 10 * 60_000;
/**
 * The same where the order failed. That alone proves nothing: a machine that goes down ends whoever waits for the answer.
 */
export const failedMs = 60_000;

/** `leaving`: the agents are being sent away; `ending`: the machine has been told to end. */
export type Phase = 'on' | 'leaving' | 'ending';

/** What is known at one look; times are monotonic. */
export interface IdleView {
  readonly now: number;
  /** Without any use for so long, as it passes on the clock. */
  readonly afterMs: number;
  /** When it was last in use; at first when the manager was started, which no machine is before its boot. */
  readonly usedAt: number;
  readonly phase: Phase;
  readonly phaseAt: number;
  /** The machine was told to end, and the answer was no success. */
  readonly failed: boolean;
  /** What keeps it on, and since when that has been seen. */
  readonly uses: readonly (Use & { readonly seenAt: number })[];
  /** No agent is there, none is being started, and the server shows all of ours disabled and without a job. */
  readonly closed: boolean;
  /** An unscaled duration as it passes on the clock. */
  readonly scaled: (ms: number) => number;
}

type IdleStep =
  /** In use: counted anew. */
  | { readonly kind: 'used'; readonly by: Use }
  /** It would end, and somebody is looking. */
  | { readonly kind: 'visited'; readonly by: Use }
  | { readonly kind: 'wait' }
  /** The agents are sent away. */
  | { readonly kind: 'leave' }
  | { readonly kind: 'end' }
  /** It did not come to its end: the agents work again, and it is counted anew. */
  | { readonly kind: 'give-up'; readonly phase: Phase };

/** What becomes of a machine that may end by itself. Pure. */
export function decideIdle(view: IdleView): IdleStep {
  const { now, afterMs, usedAt, phase, phaseAt, failed, uses, closed, scaled } = view;
  // Nothing takes back what the machine was told.
  if (phase === 'ending')
    return now - phaseAt >= scaled(failed ? failedMs : endingMs)
      ? { kind: 'give-up', phase }
      : { kind: 'wait' };
  const lasting = uses.find(({ kind, seenAt }) => kind === 'use' || now - seenAt >= scaled(visitMs));
  if (lasting !== undefined) return { kind: 'used', by: lasting };
  if (now - usedAt < afterMs) return { kind: 'wait' };
  const [visit] = uses;
  if (visit !== undefined) return { kind: 'visited', by: visit };
  if (phase === 'on') return { kind: 'leave' };
  if (closed) return { kind: 'end' };
  return now - phaseAt >= scaled(leavingMs) ? { kind: 'give-up', phase } : { kind: 'leave' };
}

/** Longer than a program takes that asks a cloud to stop its machine. */
const endMs = 5 * 60_000;

/**
 * Ends this machine: as a unit of its own, because what hardens the manager's keeps it from that. Resolves when systemd,
 * or the owner's program, has taken the order; rejects when it has not.
 */
async function endMachine(command: RunCommand, run: string): Promise<void> {
  const program = run === 'poweroff' ? ['systemctl', 'poweroff'] : [run];
  const { code, output } = await command(
    'systemd-run',
    ['--quiet', '--collect', '--unit=azp-fleet-idle', '--property=Type=oneshot', '--', ...program],
    endMs,
  );
  if (code === 0) return;
  throw new FleetError({
    code: 'idle.not-ended',
    what: `nobody uses this machine, and it could not be ended with ${program.join(' ')}`,
    seen: output.trim() === '' ? `exit code ${code}` : output.trim(),
    next: 'see journalctl -u azp-fleet-idle on the host, and correct idle.run; it is tried again by itself',
  });
}

/** Between two looks; unscaled milliseconds. */
const checkEveryMs = 10_000;
/** So often queues are asked while the machine is not about to end. */
const queueEveryMs = 5 * 60_000;

interface IdleTools extends Pick<ManagerDeps, 'config' | 'clock' | 'log' | 'command'> {
  readonly engine: Pick<ManagerDeps['engine'], 'running'>;
  readonly state: { readonly owner: string };
  readonly azure: Pick<ManagerDeps['azure'], 'unfinishedRequests' | 'findAgent'>;
  readonly presence: ReadPresence;
}

/** An agent of this host that takes jobs. */
export interface PoolAgent {
  readonly agent: string;
  readonly pool: string;
  /** Undefined: the pool has not been found. */
  readonly poolId: number | undefined;
  /** Undefined: it has never been registered, as far as is known. */
  readonly id: number | undefined;
}

/** What the manager knows of its slots. */
export interface IdleSlots {
  own(): OwnView;
  /** All agents of this host. */
  agents(): readonly PoolAgent[];
  /** Of these, those that nothing but this watch keeps from jobs. */
  takers(): readonly PoolAgent[];
  /** No run is there, and no operation on a slot is under way. */
  isEmpty(): boolean;
  /** Slots are to be closed or opened. */
  changed(): void;
}

/** Ends a machine that nobody uses: its agents are sent away first, and looked at again. */
export class IdleWatch {
  readonly #tools: IdleTools;
  readonly #wants: NonNullable<ManagerDeps['config']['idle']>;
  readonly #scene: IdleSlots;
  readonly #alarm = new Alarm();
  /** By key, since when it has been seen; monotonic. */
  #seen: ReadonlyMap<string, number> = new Map();
  #usedAt: number;
  #phase: Phase = 'on';
  #phaseAt: number;
  #stays: Use | undefined;
  #queueAt = Number.NEGATIVE_INFINITY;
  #queue: readonly Use[] = [];
  #problem: Cause | undefined;
  /** Why the machine did not take the order to end. */
  #refusal: Cause | undefined;
  /** What agents are disabled with. */
  #reason = '';

  constructor(tools: IdleTools, wants: NonNullable<ManagerDeps['config']['idle']>, scene: IdleSlots) {
    this.#tools = tools;
    this.#wants = wants;
    this.#scene = scene;
    this.#usedAt = tools.clock.monotonic();
    this.#phaseAt = this.#usedAt;
  }

  /** What keeps the slots from jobs while the machine comes to its end. */
  get hold(): Hold | undefined {
    if (this.#phase === 'on') return undefined;
    const cause: Cause = {
      code: 'idle.ending',
      what: this.#reason,
      next: 'start the machine when it is needed',
    };
    return { kind: 'close', state: 'drained', cause };
  }

  /** Why it did not end when it should have. */
  get problem(): Cause | undefined {
    return this.#problem;
  }

  get status(): IdleStatus {
    const { what, next } = this.#stays ?? {};
    return {
      ...this.#wants,
      idleS: Math.floor(this.#idleMs() / 1000),
      ...(what === undefined || next === undefined ? {} : { stays: { what, next } }),
      ...(this.#phase === 'on' ? {} : { ending: true }),
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#alarm.ring(), { once: true });
    await repeat(this.#tools, { ms: checkEveryMs, signal, alarm: this.#alarm }, () => this.#look(signal));
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { clock } = this.#tools;
    const uses = await this.#uses();
    const now = clock.monotonic();
    this.#seen = new Map(uses.map(({ key }) => [key, this.#seen.get(key) ?? now]));
    const step = decideIdle({
      now,
      afterMs: clock.scaled(this.#wants.afterS * 1000),
      usedAt: this.#usedAt,
      phase: this.#phase,
      phaseAt: this.#phaseAt,
      failed: this.#refusal !== undefined,
      uses: uses.map((use) => ({ ...use, seenAt: this.#seen.get(use.key) ?? now })),
      closed: this.#phase === 'leaving' && (await this.#isClosed()),
      scaled: (ms) => clock.scaled(ms),
    });
    if (!signal.aborted) await this.#take(step, now);
  }

  async #take(step: IdleStep, now: number): Promise<void> {
    this.#stays = step.kind === 'used' || step.kind === 'visited' ? step.by : undefined;
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
      case 'leave':
        if (this.#phase === 'on') this.#reason = offReason(this.#idleSince());
        this.#enter('leaving', now);
        // What follows is seconds away.
        this.#alarm.ring();
        return;
      case 'end':
        this.#enter('ending', now);
        return this.#end();
      case 'give-up':
        this.#problem = step.phase === 'leaving' ? notLeft : (this.#refusal ?? notEnded(this.#wants.run));
        this.#usedAt = now;
        this.#enter('on', now);
        return;
      default:
        throw new Error(`no such step: ${JSON.stringify(step satisfies never)}`);
    }
  }

  #enter(phase: Phase, now: number): void {
    if (phase === this.#phase) return;
    this.#tools.log.log('info', 'idle', { from: this.#phase, to: phase, because: this.#stays?.what });
    this.#phase = phase;
    this.#phaseAt = now;
    this.#scene.changed();
  }

  async #end(): Promise<void> {
    const { command, log } = this.#tools;
    log.log('warn', 'nobody uses this machine: it is ended', { since: this.#idleSince(), ...this.#wants });
    this.#problem = undefined;
    this.#refusal = await endMachine(command, this.#wants.run).then(
      () => undefined,
      (error: unknown) => causeOf(error),
    );
    if (this.#refusal !== undefined) log.log('warn', 'the order to end failed', { ...this.#refusal });
  }

  async #uses(): Promise<readonly Use[]> {
    const { presence, engine, state } = this.#tools;
    const [people, containers] = await Promise.all([
      presence().catch((error: unknown) => [unknown('who is at work on the machine', causeOf(error))]),
      engine.running().then(
        (running) => otherContainers(running, state.owner),
        (error: unknown) => [unknown('which containers run', causeOf(error))],
      ),
    ]);
    const known = [...ownUses(this.#scene.own()), ...people, ...containers];
    return known.some(({ kind }) => kind === 'use') ? known : [...known, ...(await this.#waiting())];
  }

  /** Asked when it matters, else now and then so that the status can tell. */
  async #waiting(): Promise<readonly Use[]> {
    const { clock } = this.#tools;
    const now = clock.monotonic();
    const isDue = this.#idleMs() >= this.#wants.afterS * 1000;
    if (!isDue && now - this.#queueAt < clock.scaled(queueEveryMs)) return this.#queue;
    this.#queueAt = now;
    this.#queue = await this.#askQueues();
    return this.#queue;
  }

  async #askQueues(): Promise<readonly Use[]> {
    // Closed by this watch they are takers still: a job that comes now is one that they are there for.
    const pools = Map.groupBy(this.#scene.takers(), ({ pool }) => pool);
    const asked = await Promise.all(
      [...pools].map(async ([pool, takers]) => {
        const poolId = takers.find((taker) => taker.poolId !== undefined)?.poolId;
        if (poolId === undefined) return queueUnknown(pool, 'the pool has not been found');
        const ids = new Set(takers.flatMap(({ id }) => id ?? []));
        return this.#tools.azure.unfinishedRequests(poolId).then(
          (requests: readonly JobRequest[]) => jobWaiting(pool, requests, ids),
          (error: unknown) => queueUnknown(pool, causeOf(error).what),
        );
      }),
    );
    return asked.filter((use) => use !== undefined);
  }

  /** As the server says now: nothing is assigned to any of our agents, and nothing can be. */
  async #isClosed(): Promise<boolean> {
    if (!this.#scene.isEmpty()) return false;
    const found = await Promise.all(
      this.#scene
        .agents()
        .map(async ({ poolId, agent }) =>
          poolId === undefined ? undefined : this.#tools.azure.findAgent(poolId, agent),
        ),
    ).catch(() => 'unknown' as const);
    return found !== 'unknown' && found.every(takesNone);
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

function takesNone(agent: AzureAgent | undefined): boolean {
  return agent === undefined || (!agent.enabled && agent.assignedRequest === undefined);
}

function unknown(what: string, { what: why, next }: Cause): Use {
  return { key: what, kind: 'use', what: `${what} is not known: ${why}`, next };
}

const notLeft: Cause = {
  code: 'idle.not-ended',
  what: 'nobody uses this machine, but its agents could not be sent away within 10 min, and it stays on',
  next: 'see the agents in the status, and that the credential may disable them; it is tried again by itself',
};

function notEnded(run: string): Cause {
  return {
    code: 'idle.not-ended',
    what: `this machine was told to end (${run}) and still runs 10 min later; its agents work again`,
    next: 'see journalctl -u azp-fleet-idle on the host, and correct idle.run; it is tried again by itself',
  };
}
