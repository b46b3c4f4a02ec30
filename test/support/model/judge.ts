import type { NewAgent } from '../../../src/shared/azure/client.ts';
import type { ManagerConfig } from '../../../src/shared/contract/config.ts';
import type { DrainEntries } from '../../../src/manager/slots/drains.ts';
import { Capabilities, Labels } from '../../../src/shared/contract/paths.ts';
import type { Boundary } from './boundary.ts';
import type { Dockerd, ModelContainer } from './containers.ts';
import type { Disk } from './disk.ts';
import type { Entry, ModelServer } from './server.ts';
import type { Timeline } from './timeline.ts';

/** A launch that has begun when its slot is drained ends within this time, however slow the answers. */
const launchMs = 3 * 60_000;

/** Maximum time of the slowest answers and the work between them. */
const answerMs = 3 * 60_000;

/** Most requests to remove a container within a minute while Docker is removing it, also of a manager that is killed often. */
const mostAsks = 10;

interface Watched {
  readonly timeline: Timeline;
  readonly server: ModelServer;
  readonly dockerd: Dockerd;
  readonly disk: Disk;
  readonly boundary: Boundary;
  /** A user is logged in during this time. */
  readonly login: { readonly from: number; readonly until: number };
  readonly config: Pick<ManagerConfig, 'idle'>;
}

/** Records what the manager must not do, at the moment when it does it. */
export class Judge {
  readonly violations: string[] = [];
  /** The manager's own id. */
  owner = '';
  /** Names of configured agents, each with its pool's id. */
  configured: ReadonlySet<string> = new Set();
  /** When the current manager process started. */
  daemonStartedAt = 0;
  /** By slot, `*` for the host: when the manager confirmed the drain. */
  readonly #drainedAt = new Map<string, number>();
  #undrains = 0;
  /** Slots whose agent names a user has allowed to take over. */
  readonly adopted = new Set<string>();
  /** Entries of another owner. */
  readonly foreign = new Set<number>();
  readonly #world: Watched;
  /** By id of an entry: when the manager last read its current state. */
  readonly #readAt = new Map<number, number>();
  /** By pool and name: entries that were deleted while a user kept them disabled. */
  readonly #held = new Map<string, number>();
  /** By container: when the manager asked to remove it while Docker was removing it. */
  readonly #asks = new Map<string, readonly number[]>();

  constructor(world: Watched) {
    this.#world = world;
  }

  /** Notes a user's drain; call the result when the manager confirms it. */
  drains(slot: string): () => void {
    const undrains = this.#undrains;
    return () => {
      if (this.#undrains === undrains) this.#drainedAt.set(slot, this.#world.timeline.now);
    };
  }

  /** Notes that a user ended all drains, whether or not the manager received the request. */
  undrains(): void {
    this.#undrains += 1;
    this.#drainedAt.clear();
  }

  /** The manager has started with these drains: a confirmed one is there, also after the state file was deleted. */
  knows(drains: DrainEntries): void {
    for (const slot of this.#drainedAt.keys())
      if ((slot === '*' ? drains.host : drains.slots[slot]) === undefined)
        this.breach(`the drain of ${slot === '*' ? 'the host' : slot} is lost`);
  }

  breach(what: string): void {
    this.violations.push(`${(this.#world.timeline.now / 1000).toFixed(3)} s: ${what}`);
  }

  read({ id }: Entry): void {
    const { server, timeline } = this.#world;
    if (server.staleUntil <= timeline.now) this.#readAt.set(id, timeline.now);
  }

  created(entry: Entry): void {
    const held = this.#held.get(keyOf(entry));
    if (held === undefined) return;
    this.#held.delete(keyOf(entry));
    if (entry.enabled) this.breach(`${entry.name}: disabled by a person, and registered again as enabled`);
    else entry.heldByPersonAt = held;
  }

  replaces(entry: Entry, { enabled = true }: NewAgent): void {
    for (const { id, process } of this.#world.dockerd.containers.values()) {
      const { agentId, key } = process?.identity ?? {};
      if (process?.over === false && agentId === entry.id && key === entry.key)
        this.breach(`${entry.name}: its key is replaced while container ${id} is running`);
    }
    this.#requireOurs(entry, 'its key is replaced');
    this.switches(entry, enabled);
  }

  switches(entry: Entry, enabled: boolean): void {
    this.#requireOurs(entry, 'it is enabled or disabled');
    const since = entry.heldByPersonAt;
    if (since === undefined || !enabled) return;
    entry.heldByPersonAt = undefined;
    if ((this.#readAt.get(entry.id) ?? 0) > since)
      this.breach(`${entry.name}: disabled by a person, and enabled`);
  }

  describes(entry: Entry, capabilities: Readonly<Record<string, string>>): void {
    this.#requireOurs(entry, 'its capabilities are written');
    const since = entry.heldByPersonAt;
    if (since === undefined || capabilities[Capabilities.drainReason] === undefined) return;
    entry.heldByPersonAt = undefined;
    if ((this.#readAt.get(entry.id) ?? 0) > since)
      this.breach(`${entry.name}: disabled by a person, and marked as disabled by the manager`);
  }

  deletes(entry: Entry): void {
    this.#requireOurs(entry, 'it is deleted');
    const isConfigured = this.configured.has(keyOf(entry));
    for (const { id, process } of this.#world.dockerd.containers.values()) {
      if (process?.over !== false || process.identity?.agentId !== entry.id) continue;
      if (isConfigured || process.runsJob)
        this.breach(`${entry.name}: deleted while container ${id} is running`);
    }
    if (isConfigured && entry.heldByPersonAt !== undefined)
      this.#held.set(keyOf(entry), entry.heldByPersonAt);
  }

  starts(container: ModelContainer): void {
    this.#requireOwn(container, 'started');
    const { identity, labels, name } = container;
    const others = [...this.#world.dockerd.containers.values()].filter(
      ({ process }) => process?.over === false && process.identity?.agentId === identity?.agentId,
    );
    if (identity !== undefined && others.length > 0)
      this.breach(`${name}: a second agent is started beside ${others.map(({ id }) => id).join(', ')}`);
    const { now } = this.#world.timeline;
    for (const slot of ['*', labels[Labels.slot] ?? '']) {
      const since = this.#drainedAt.get(slot);
      if (since !== undefined && (this.daemonStartedAt > since || now - since > launchMs))
        this.breach(`${name}: started although slot ${slot} is drained`);
    }
  }

  /** The machine powers off: no job may be lost or assigned. */
  ends(): void {
    const { dockerd, server, timeline, login, config } = this.#world;
    const { now } = timeline;
    if (now - this.daemonStartedAt < (config.idle?.afterS ?? 0) * 1000)
      this.breach('it powers off right after its start');
    if (login.from < now - answerMs && now < login.until) this.breach('it powers off under a login');
    for (const { name, process } of dockerd.containers.values())
      if (process?.over === false) this.breach(`${name}: it powers off while its agent is running`);
    for (const entry of server.entries) {
      const isOurs = entry.userCapabilities[Capabilities.owner] === this.owner;
      if (!isOurs || !this.configured.has(keyOf(entry)) || server.assigned(entry) === undefined) continue;
      if ((this.#readAt.get(entry.id) ?? 0) > (server.assigned(entry)?.assignedAt ?? now))
        this.breach(`${entry.name}: it powers off with a job that the server shows on it`);
    }
  }

  stops(container: ModelContainer): void {
    this.#requireOwn(container, 'stopped');
    if (container.process?.runsJob === true) this.breach(`${container.name}: stopped with a job`);
  }

  removes(container: ModelContainer): void {
    this.#requireOwn(container, 'removed');
    const { process, name, endedAt, labels } = container;
    if (process?.runsJob === true) this.breach(`${name}: removed with a job`);
    if (process === undefined || endedAt === undefined || labels[Labels.kind] !== 'agent') return;
    const { server, disk, boundary } = this.#world;
    const { poolId = 0, agentId = 0, key = '' } = process.identity ?? {};
    const entry = server.byId(poolId, agentId);
    const couldAsk = (boundary.failedAt.get('azure') ?? -1) < endedAt && server.staleUntil < endedAt;
    if (couldAsk && entry?.key === key && !this.foreign.has(agentId))
      this.breach(`${name}: removed, and the server still takes its key`);
    const folder = `/state/runs/${labels[Labels.slot]}`;
    const isKept =
      disk.has(folder) && disk.names(folder).some((file) => file.includes(labels[Labels.run] ?? '-'));
    if (!isKept && disk.refusedAt < endedAt) this.breach(`${name}: removed without evidence of its run`);
  }

  /** Docker refuses to remove the container, because a removal of it is in progress. */
  asksAgain({ id, name }: ModelContainer): void {
    const { now } = this.#world.timeline;
    const asks = [...(this.#asks.get(id) ?? []).filter((at) => at > now - 60_000), now];
    this.#asks.set(id, asks);
    if (asks.length > mostAsks)
      this.breach(`${name}: its removal is requested ${asks.length} times in a minute`);
  }

  /** A file is replaced: the record of a run keeps its output. */
  rewrites(path: string, before: Buffer, after: Buffer): void {
    if (!/^\/state\/runs\/.*\.json$/.test(path)) return;
    if (outputIn(before) > 0 && outputIn(after) === 0) this.breach(`${path} loses the output of its run`);
  }

  #requireOurs(entry: Entry, what: string): void {
    if (!this.foreign.has(entry.id)) return;
    if (this.adopted.size > 0 && entry.session === undefined) this.foreign.delete(entry.id);
    else this.breach(`${entry.name} belongs to another owner, and ${what}`);
  }

  #requireOwn({ name, labels }: ModelContainer, what: string): void {
    if (labels[Labels.owner] !== this.owner)
      this.breach(`container ${name} belongs to another owner, and ${what}`);
  }
}

/** Returns the number of lines that an agent printed; 0: none, or the record is torn. */
function outputIn(record: Buffer): number {
  try {
    const { log } = JSON.parse(record.toString()) as { readonly log: readonly string[] };
    return log.filter((line) => !line.startsWith('azp-fleet: ')).length;
  } catch {
    return 0;
  }
}

/** Agent names are unique only within their pool. */
export function keyOf({ poolId, name }: Pick<Entry, 'poolId' | 'name'>): string {
  return `${poolId}/${name.toLowerCase()}`;
}
