import type { ContainerCreateOptions, NetworkCreateOptions } from 'dockerode';
import { Labels } from '../../../src/shared/contract/paths.ts';
import {
  type ContainerExit,
  type EngineEvent,
  type FoundNetwork,
  isUp,
  type OwnContainer,
  type OwnImage,
} from '../../../src/shared/engine/engine.ts';
import { engineFault } from '../../../src/shared/engine/fault.ts';
import type { AgentProcess, Identity, Vessel } from './agent.ts';
import type { Chance } from './chance.ts';
import { Feed } from './feed.ts';
import type { Timeline } from './timeline.ts';

export interface ModelContainer extends Vessel {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Seconds since the epoch. */
  readonly created: number;
  state: OwnContainer['state'];
  /** A removal of it is in progress. */
  isBeingRemoved: boolean;
  /** It is listed as `removing`: from some point of a removal, and after one that failed. */
  isListedRemoving: boolean;
  exit: ContainerExit;
  readonly lines: string[];
  readonly output: Feed<string>;
  /** Time of its last output; milliseconds of the world. */
  outputAt: number;
  identity: Identity | undefined;
  process: AgentProcess | undefined;
  /** When it ended; milliseconds of the world. */
  endedAt: number | undefined;
}

/** Returns the error of a dockerd answer. */
export function dockerSays(statusCode: number, message: string): unknown {
  return engineFault(Object.assign(new Error(message), { statusCode }), 'working for the model');
}

/** Returns the error of a request without an answer. */
export function dockerSilent(): unknown {
  return engineFault(new DOMException('no answer in time', 'TimeoutError'), 'working for the model');
}

export function dockerGone(): unknown {
  return engineFault(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }), 'working for the model');
}

const never = '0001-01-01T00:00:00Z';
export const reference = 'registry.example/agent:1';

/** A removal that takes time, and then may fail. */
export interface SlowRemoval {
  readonly ms: number;
  readonly fails: boolean;
}

/** dockerd: its containers, images and events. The boundary decides which calls reach it. */
export class Dockerd {
  readonly containers = new Map<string, ModelContainer>();
  /** Image id of the tag in its registry. */
  registryImage = imageId(1);
  /** Images whose agents never listen. */
  readonly broken = new Set<string>();
  readonly networks: FoundNetwork[] = [];
  readonly images = new Map<string, { readonly created: number }>();
  /** Image id of the tag on this machine. */
  localImage: string | undefined;
  isUp = true;
  /** Events are lost until this time. */
  deafUntil = Number.NEGATIVE_INFINITY;
  /** Delay of container output until this time. */
  lag = { ms: 0, until: Number.NEGATIVE_INFINITY };
  events = new Feed<EngineEvent>();
  /** How the next removals end; others end at once. */
  readonly slowRemovals: SlowRemoval[] = [];
  /** Number of slow removals, and of pauses, that have begun. */
  removals = 0;
  pauses = 0;
  /** Processes of containers that dockerd has forgotten. */
  readonly lost = new Set<AgentProcess>();
  /** Called when a container is started; returns its process. */
  onStart: (container: ModelContainer) => AgentProcess | undefined = () => undefined;
  readonly #timeline: Timeline;
  readonly #chance: Chance;
  readonly #wall: () => number;
  #ids = 0;

  /** `wall`: the host's clock. */
  constructor(timeline: Timeline, chance: Chance, wall: () => number) {
    this.#timeline = timeline;
    this.#chance = chance;
    this.#wall = wall;
  }

  get(id: string): ModelContainer {
    const container = this.containers.get(id);
    if (container === undefined) throw dockerSays(404, `No such container: ${id}`);
    return container;
  }

  named(name: string): ModelContainer | undefined {
    return [...this.containers.values()].find((container) => container.name === name);
  }

  create(name: string, options: ContainerCreateOptions): ModelContainer {
    if (this.named(name) !== undefined)
      throw dockerSays(409, `Conflict. The container name "/${name}" is already in use`);
    const { Image: image = '', Labels: labels = {} } = options;
    if (!this.images.has(image)) throw dockerSays(404, `No such image: ${image}`);
    this.#ids += 1;
    const container: ModelContainer = {
      id: `c${String(this.#ids).padStart(11, '0')}`,
      name,
      image,
      labels,
      created: Math.floor(this.#wall() / 1000),
      state: 'created',
      isBeingRemoved: false,
      isListedRemoving: false,
      exit: { code: 0, oomKilled: false, startedAt: never, finishedAt: never },
      lines: [],
      output: new Feed(),
      outputAt: 0,
      identity: undefined,
      process: undefined,
      endedAt: undefined,
      say: (line) => {
        container.lines.push(line);
        this.#later(container, () => container.output.send(line));
      },
      ended: (code) => this.#end(container, code),
    };
    this.containers.set(container.id, container);
    this.#emit('create', container);
    return container;
  }

  start(container: ModelContainer): void {
    if (container.state === 'running') throw dockerSays(304, 'container already started');
    if (container.state !== 'created' || container.isBeingRemoved) throw dockerSays(409, 'cannot start');
    if (this.networks.length === 0) throw dockerSays(404, 'network azp-fleet not found');
    container.state = 'running';
    container.exit = { ...container.exit, startedAt: this.#now() };
    container.process = this.onStart(container);
    this.#emit('start', container);
  }

  /** Kills the container, and removes it at once or slowly. */
  remove(container: ModelContainer, slow = this.slowRemovals.shift()): void {
    container.process?.kill();
    container.isBeingRemoved = true;
    if (slow === undefined) return this.endRemoval(container);
    const { ms, fails } = slow;
    this.removals += 1;
    this.#timeline.after(this.#chance.between(0, 2 * ms), () => {
      if (container.isBeingRemoved) container.isListedRemoving = true;
    });
    this.#timeline.after(ms, () => this.endRemoval(container, fails));
  }

  /** Ends a removal that is in progress. If it fails, the container is dead, and can be removed again. */
  endRemoval(container: ModelContainer, fails = false): void {
    if (!container.isBeingRemoved) return;
    container.isBeingRemoved = false;
    if (fails) {
      Object.assign(container, { state: 'dead', isListedRemoving: true });
      return;
    }
    this.containers.delete(container.id);
    this.#emit('destroy', container);
  }

  /** Freezes the processes of a container. */
  pause(container: ModelContainer): void {
    if (container.state !== 'running') return;
    container.state = 'paused';
    this.pauses += 1;
    container.process?.pause();
    this.#emit('pause', container);
  }

  unpause(container: ModelContainer): void {
    if (container.state !== 'paused') return;
    container.state = 'running';
    container.process?.resume();
    this.#emit('unpause', container);
  }

  /** Forgets the container; its process continues. */
  lose(container: ModelContainer): void {
    this.containers.delete(container.id);
    container.output.end();
    if (container.process !== undefined) this.lost.add(container.process);
  }

  pull(): void {
    this.localImage = this.registryImage;
    this.images.set(this.registryImage, { created: Math.floor(this.#wall() / 1000) });
  }

  ownImages(): readonly OwnImage[] {
    return [];
  }

  networksNamed(name: string): readonly FoundNetwork[] {
    return this.networks.filter(({ id }) => id === name);
  }

  createNetwork({
    Name: name,
    Driver = 'bridge',
    Options = {},
    Labels: labels = {},
  }: NetworkCreateOptions): string {
    const exists = this.networksNamed(name).length > 0;
    if (exists) throw dockerSays(409, `network with name ${name} already exists`);
    const open = {
      internal: false,
      attachable: false,
      ipv6: false,
      ipam: 'default',
      subnets: ['172.18.0.0/16'],
    };
    this.networks.push({ id: name, driver: Driver, options: Options, labels, ...open });
    return name;
  }

  removeImage(id: string): void {
    if ([...this.containers.values()].some(({ image }) => image === id))
      throw dockerSays(409, 'conflict: unable to delete, image is being used');
    this.images.delete(id);
    if (this.localImage === id) this.localImage = undefined;
  }

  list(filter: Readonly<Record<string, string>>): readonly OwnContainer[] {
    return [...this.containers.values()]
      .filter(({ labels }) => labels[Labels.kind] !== undefined)
      .filter(({ labels }) => Object.entries(filter).every(([key, value]) => labels[key] === value))
      .map(({ id, name, state, isListedRemoving, labels, image, created }) => ({
        id,
        name,
        state: isListedRemoving ? 'removing' : state,
        labels,
        image,
        created,
      }));
  }

  /** Breaks every stream; containers keep running unless `withContainers`. */
  goDown(withContainers: boolean): void {
    this.isUp = false;
    this.events.end();
    this.events = new Feed();
    for (const container of this.containers.values()) {
      container.output.breakOff();
      // A restarted dockerd does not continue a removal.
      if (container.isBeingRemoved) {
        this.endRemoval(container, true);
        container.isListedRemoving = false;
      }
      if (withContainers) container.process?.kill(this.#chance.is(0.5) ? 137 : 0);
    }
  }

  /** Cuts the machine's power and starts it again. */
  cutPower(): void {
    this.goDown(false);
    for (const container of this.containers.values()) container.process?.kill(255);
    for (const process of this.lost) process.kill();
    this.lost.clear();
    this.isUp = true;
  }

  #end(container: ModelContainer, code: number): void {
    if (container.process !== undefined) this.lost.delete(container.process);
    if (!isUp(container)) return;
    container.state = 'exited';
    container.endedAt = this.#timeline.now;
    container.exit = { ...container.exit, code, finishedAt: this.#now() };
    this.#later(container, () => container.output.end());
    this.#emit('die', container);
  }

  #emit(action: string, { id, labels }: ModelContainer): void {
    if (this.#timeline.now < this.deafUntil) return;
    const times = this.#chance.is(0.05) ? 2 : 1;
    for (let time = 0; time < times; time += 1) this.events.send({ type: 'container', action, id, labels });
  }

  /** Sends output in the order in which it was printed. */
  #later(container: ModelContainer, send: () => void): void {
    const { now } = this.#timeline;
    container.outputAt = Math.max(container.outputAt, now < this.lag.until ? now + this.lag.ms : now);
    if (container.outputAt <= now) send();
    else this.#timeline.after(container.outputAt - now, send);
  }

  #now(): string {
    return new Date(this.#wall()).toISOString();
  }
}

export function imageId(number: number): string {
  return `sha256:${String(number).padStart(64, '0')}`;
}
