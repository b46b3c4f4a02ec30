import type { AzureAgent, JobRequest, NewAgent } from '../../../src/shared/azure/client.ts';
import type { Chance } from './chance.ts';
import type { Timeline } from './timeline.ts';

type Named = Readonly<Record<string, string>>;

/** An agent of a pool. */
export interface Entry {
  readonly id: number;
  readonly poolId: number;
  readonly name: string;
  version: string;
  enabled: boolean;
  userCapabilities: Named;
  systemCapabilities: Named;
  /** Modulus of its public key. */
  key: string;
  statusChangedOn: string | undefined;
  session: Session | undefined;
  /** When a user disabled it; milliseconds of the world. */
  heldByPersonAt: number | undefined;
}

/** A session of an agent. */
export interface Session {
  /** Time of its last poll; undefined: it polls continuously. */
  silentSince: number | undefined;
  /** Delivers a job. */
  offer(job: Job): void;
  /** Its agent was deleted. */
  forbid(): void;
}

export interface Job {
  readonly id: number;
  /** Name of the agent that it demands. */
  readonly agent: string;
  readonly takesMs: number;
  entry: Entry | undefined;
  /** When it was assigned to an agent; milliseconds of the world. */
  assignedAt: number | undefined;
  received: boolean;
  lockedUntil: number;
  result: string | undefined;
}

const sessionMs = 5 * 60_000;
const lockMs = 10 * 60_000;
const lockGraceMs = 4 * 60_000;
/** Maximum time until a message reaches an agent that polls. */
const messageMs = 2_000;

export const epoch = Date.parse('2026-11-21T02:00:00Z');

/** Pools, agents, sessions and jobs, by the rules of the service that matter to the manager. */
export class ModelServer {
  readonly pools = [
    { id: 1, name: 'gpu-lab' },
    { id: 2, name: 'nightly' },
  ] as const;
  readonly entries: Entry[] = [];
  readonly jobs: Job[] = [];
  /** Lists can filter by owner; older servers list all. */
  readonly filtersByOwner: boolean;
  /** Reads see a write this much later; less than the manager waits between disabling an agent and stopping it. */
  settleMs = 0;
  /** Headers of the next answers that ask for a pause. */
  pause: { left: number; readonly headers: Named } = { left: 0, headers: {} };
  /** Number of answers that have asked for a pause. */
  pauses = 0;
  readonly #stale = new Map<number, { readonly until: number; readonly before: AzureAgent | undefined }>();
  readonly #timeline: Timeline;
  readonly #chance: Chance;
  #ids = 10;
  #staleUntil = Number.NEGATIVE_INFINITY;

  constructor(timeline: Timeline, chance: Chance) {
    this.#timeline = timeline;
    this.#chance = chance;
    this.filtersByOwner = chance.is(0.5);
  }

  /** Returns the headers of an answer that concern a pause. */
  pauseHeaders(): Headers {
    const { pause } = this;
    if (pause.left <= 0) return new Headers();
    pause.left -= 1;
    this.pauses += 1;
    return new Headers(pause.headers);
  }

  named(poolId: number, name: string): Entry | undefined {
    return this.entries.find((entry) => entry.poolId === poolId && isNamed(entry, name));
  }

  byId(poolId: number, id: number): Entry | undefined {
    return this.entries.find((entry) => entry.poolId === poolId && entry.id === id);
  }

  /** Returns the agent as a read shows it, which may be stale; undefined: not shown. */
  read(entry: Entry): AzureAgent | undefined {
    const stale = this.#stale.get(entry.id);
    if (stale !== undefined && stale.until > this.#timeline.now) return stale.before;
    return this.shown(entry);
  }

  /** Reads may be stale until this time; milliseconds of the world. */
  get staleUntil(): number {
    return this.#staleUntil;
  }

  add(poolId: number, agent: NewAgent): Entry {
    const entry: Entry = {
      id: (this.#ids += 1),
      poolId,
      name: agent.name,
      ...ofRegistration(agent),
      userCapabilities: agent.userCapabilities ?? {},
      statusChangedOn: undefined,
      session: undefined,
      heldByPersonAt: undefined,
    };
    this.#age(entry.id, undefined);
    this.entries.push(entry);
    return entry;
  }

  change(entry: Entry, change: () => void): void {
    this.#age(entry.id, this.shown(entry));
    change();
    this.assign();
  }

  replace(entry: Entry, agent: NewAgent): void {
    this.change(entry, () =>
      Object.assign(entry, ofRegistration(agent), { userCapabilities: agent.userCapabilities ?? {} }),
    );
  }

  delete(entry: Entry): void {
    this.#age(entry.id, this.shown(entry));
    const { session } = entry;
    this.end(entry, session);
    session?.forbid();
    this.entries.splice(this.entries.indexOf(entry), 1);
  }

  /** Returns the unfinished job of the agent. */
  assigned(entry: Entry): Job | undefined {
    return this.jobs.find((job) => job.entry === entry && job.result === undefined);
  }

  /** Begins a session; false: the agent already has one. */
  begin(entry: Entry, session: Session): boolean {
    this.#expire();
    if (entry.session !== undefined) return false;
    entry.session = session;
    this.#noteStatus(entry);
    this.#timeline.after(this.#chance.between(1, 500), () => this.assign());
    return true;
  }

  /** Ends the session; a job that it has not received returns to the queue. */
  end(entry: Entry, session: Session | undefined): void {
    if (session === undefined || entry.session !== session) return;
    entry.session = undefined;
    this.#noteStatus(entry);
    const job = this.assigned(entry);
    if (job !== undefined && !job.received) job.entry = undefined;
  }

  queue(agent: string, takesMs: number): Job {
    const id = (this.#ids += 1);
    const job: Job = {
      id,
      agent,
      takesMs,
      entry: undefined,
      assignedAt: undefined,
      received: false,
      lockedUntil: 0,
      result: undefined,
    };
    this.jobs.push(job);
    this.assign();
    return job;
  }

  /** Renews the job's lock; the agent has received it. */
  renew(job: Job): void {
    job.received = true;
    job.lockedUntil = this.#timeline.now + lockMs;
  }

  finish(job: Job, result: string): void {
    job.result ??= result;
  }

  /** Assigns waiting jobs to agents that listen and may work. */
  assign(): void {
    this.#expire();
    for (const job of this.jobs) {
      if (job.result !== undefined || job.entry !== undefined) continue;
      const entry = this.entries.find(
        (each) => isNamed(each, job.agent) && each.enabled && each.session && !this.assigned(each),
      );
      if (entry?.session === undefined) continue;
      const { session } = entry;
      job.entry = entry;
      job.assignedAt = this.#timeline.now;
      job.received = false;
      job.lockedUntil = this.#timeline.now + lockMs;
      this.#timeline.after(this.#chance.between(5, messageMs), () => {
        if (job.entry === entry && entry.session === session && session.silentSince === undefined)
          session.offer(job);
      });
    }
  }

  /** Ends sessions without polls and jobs without renewals. */
  #expire(): void {
    const { now } = this.#timeline;
    for (const entry of this.entries) {
      const { session } = entry;
      if (session?.silentSince !== undefined && session.silentSince + sessionMs <= now)
        this.end(entry, session);
    }
    for (const job of this.jobs) {
      if (job.result !== undefined || job.entry === undefined) continue;
      if (job.lockedUntil + lockGraceMs <= now) this.finish(job, 'abandoned');
    }
  }

  /** Returns the agent's current state. */
  shown(entry: Entry): AzureAgent {
    this.#expire();
    const { id, name, version, enabled, userCapabilities, systemCapabilities, statusChangedOn } = entry;
    const job = this.assigned(entry);
    return {
      id,
      name,
      version,
      enabled,
      status: entry.session === undefined ? 'offline' : 'online',
      userCapabilities,
      systemCapabilities,
      authorization: {
        clientId: `client-${id}`,
        authorizationUrl: 'https://vssps.dev.azure.com/_apis/oauth2/token',
      },
      ...(statusChangedOn === undefined ? {} : { statusChangedOn }),
      ...(job === undefined ? {} : { assignedRequest: requestOf(job) }),
    };
  }

  #age(id: number, before: AzureAgent | undefined): void {
    if (this.settleMs === 0) return;
    const known = this.#stale.get(id);
    if (known !== undefined && known.until > this.#timeline.now) return;
    this.#staleUntil = this.#timeline.now + this.settleMs;
    this.#stale.set(id, { until: this.#staleUntil, before });
  }

  #noteStatus(entry: Entry): void {
    entry.statusChangedOn = new Date(epoch + this.#timeline.now).toISOString();
  }
}

export function requestOf(job: Job): JobRequest {
  const time = new Date(epoch + job.lockedUntil).toISOString();
  return {
    requestId: job.id,
    jobName: `job-${job.id}`,
    ...(job.entry === undefined ? {} : { assignTime: time, lockedUntil: time }),
    ...(job.received ? { receiveTime: time } : {}),
  };
}

function ofRegistration({ version, enabled = true, systemCapabilities, publicKey }: NewAgent) {
  return { version, enabled, systemCapabilities, key: publicKey.modulus };
}

function isNamed({ name }: Entry, other: string): boolean {
  return name.toLowerCase() === other.toLowerCase();
}
