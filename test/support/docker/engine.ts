import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tar } from '../../../src/shared/base/tar.ts';
import { answerBuild, answerImages } from './images.ts';
import { createFault, runtimes } from './mounts.ts';
import { listed } from './listed.ts';
import { answerNetworks, type StandInNetwork } from './networks.ts';
import { frame, json, labelFilter } from './reply.ts';
import { newContainer, type Call, type StandInContainer, type StandInImage } from './state.ts';

/**
 * A stand-in for dockerd: the part of its HTTP interface that we use, on a real unix socket. Containers are entries in
 * a table; the test decides their output and when they exit.
 */
export class StandInEngine {
  readonly directory = mkdtempSync(join(tmpdir(), 'stand-in-docker-'));
  readonly socketPath = join(this.directory, 'docker.sock');
  readonly containers = new Map<string, StandInContainer>();
  readonly images: StandInImage[] = [];
  readonly calls: Call[] = [];
  /** Builds and pushes, in order. */
  readonly builds: { readonly tag: string; readonly args: Readonly<Record<string, string>> }[] = [];
  readonly pushed: string[] = [];
  /** Errors for the next matching requests. */
  readonly faults: {
    readonly path: RegExp;
    readonly status: number;
    readonly message: string;
    times: number;
  }[] = [];
  /** Errors of the next builds. */
  failedBuild: readonly object[] | undefined;
  /** The same for builds on top of an agent image. */
  failedTop: readonly object[] | undefined;
  /** Called when a container starts; prints or ends it. */
  onStart: (container: StandInContainer) => void = () => undefined;
  /** Called when a container is removed. */
  onRemove: (container: StandInContainer) => void = () => undefined;
  /** Properties of its machine. */
  kernel = '6.8.0-45-generic';
  driverStatus = [['Backing Filesystem', 'extfs']];
  /** Its storage limits the size of containers: xfs with pquota. */
  storesSizes = false;
  /** /etc/passwd in every image. */
  passwd = 'root:x:0:0:root:/root:/bin/bash\nagent:x:4000:4000::/home/agent:/bin/bash\n';
  /** Requests that match are not answered. */
  stall: RegExp | undefined;
  readonly #events = new Set<ServerResponse>();
  readonly #followers = new Map<string, Set<ServerResponse>>();
  readonly #waiters = new Map<string, ServerResponse[]>();
  readonly networks: StandInNetwork[] = [];
  /** `default-network-opts` of daemon.json, for bridges. */
  networkDefaults: Readonly<Record<string, string>> = {};
  #server = createServer();

  async start(): Promise<this> {
    this.#server = createServer((request, response) => void this.#answer(request, response));
    await new Promise<void>((resolve) => {
      this.#server.listen(this.socketPath, resolve);
    });
    return this;
  }

  /** Stops dockerd: every connection breaks. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    this.#events.clear();
    this.#followers.clear();
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  addImage(reference: string, labels: Record<string, string> = {}): StandInImage {
    const image = {
      id: `sha256:${randomBytes(32).toString('hex')}`,
      reference,
      labels,
      created: Math.floor(Date.now() / 1000),
      bytes: 1_000_000,
    };
    this.images.push(image);
    return image;
  }

  get(name: string): StandInContainer | undefined {
    return [...this.containers.values()].find(
      (container) => container.name === name || container.id === name,
    );
  }

  /** A line of a container's output. */
  say(name: string, line: string): void {
    const container = this.get(name);
    if (container === undefined) throw new Error(`no container ${name}`);
    container.lines.push(line);
    for (const follower of this.#followers.get(container.id) ?? []) follower.write(frame(`${line}\n`));
  }

  /**
   * Ends the main process of a container. `isUnwritten`: the list does not report it; `isTakenDown`: the event was sent,
   * the end of the output was not.
   */
  end(
    name: string,
    exitCode: number,
    how: {
      readonly oomKilled?: boolean;
      readonly isUnwritten?: boolean;
      readonly isTakenDown?: boolean;
    } = {},
  ): void {
    const container = this.get(name);
    if (container === undefined || !isUp(container)) return;
    container.state = 'exited';
    if (how.isUnwritten === true) container.listedAs = 'running';
    container.exitCode = exitCode;
    container.oomKilled = how.oomKilled ?? false;
    container.finishedAt = new Date().toISOString();
    if (how.isTakenDown !== true) {
      for (const follower of this.#followers.get(container.id) ?? []) follower.end();
      this.#followers.delete(container.id);
    }
    for (const waiter of this.#waiters.get(container.id) ?? []) json(waiter, 200, { StatusCode: exitCode });
    this.#emit('die', container);
  }

  /** Cuts off followers of the container's output while it runs. */
  breakOff(name: string): void {
    const { id } = this.get(name) ?? { id: '' };
    for (const follower of this.#followers.get(id) ?? []) follower.end();
    this.#followers.delete(id);
  }

  /** `docker pause`, `docker unpause`: the processes of a paused container are frozen. */
  pause(name: string, isPaused = true): void {
    const container = this.get(name);
    if (container === undefined || container.state !== (isPaused ? 'running' : 'paused')) return;
    container.state = isPaused ? 'paused' : 'running';
    this.#emit(isPaused ? 'pause' : 'unpause', container);
  }

  /**
   * Begins a removal by another client that takes until `endRemoval`, as on a slow disk or a busy device. dockerd lists the
   * container as before, and once it has ended it, as `removing`.
   */
  beginRemoval(name: string, listedAs?: 'removing'): void {
    const container = this.get(name);
    if (container === undefined) return;
    container.isBeingRemoved = true;
    if (listedAs === undefined) return;
    this.end(name, 137);
    container.state = 'dead';
    container.listedAs = listedAs;
  }

  /** Ends a removal. If it `failed`, the container is dead, and the list shows `removing` until it is removed again. */
  endRemoval(name: string, how: 'removed' | 'failed' = 'removed'): void {
    const container = this.get(name);
    if (container === undefined) return;
    container.isBeingRemoved = false;
    if (how === 'removed') this.#remove(container);
    else Object.assign(container, { state: 'dead', listedAs: 'removing' });
  }

  #remove(container: StandInContainer): void {
    this.containers.delete(container.id);
    this.onRemove(container);
    this.#emit('destroy', container);
  }

  fail(path: RegExp, status: number, message: string, times = 1): void {
    this.faults.push({ path, status, message, times });
  }

  #emit(action: string, container: StandInContainer): void {
    const event = {
      Type: 'container',
      Action: action,
      Actor: { ID: container.id, Attributes: { ...container.body.Labels, name: container.name } },
    };
    for (const listener of this.#events) listener.write(`${JSON.stringify(event)}\n`);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://docker');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const path = url.pathname;
    const { method = '', headers } = request;
    this.calls.push({ method, path, url: request.url ?? '', headers });
    if (this.stall?.test(`${request.method} ${path}`) === true) return;
    const fault = this.faults.find(
      (candidate) => candidate.times > 0 && candidate.path.test(`${request.method} ${path}`),
    );
    if (fault !== undefined) {
      fault.times -= 1;
      return json(response, fault.status, { message: fault.message });
    }
    const [, kind, id, verb] = path.split('/');
    if (kind === 'version') return json(response, 200, { Version: '28.0.0', ApiVersion: '1.48' });
    if (kind === 'info')
      return json(response, 200, {
        CgroupDriver: 'systemd',
        CgroupVersion: '2',
        KernelVersion: this.kernel,
        ...runtimes,
        Driver: 'overlay2',
        DriverStatus: this.driverStatus,
        DockerRootDir: this.directory,
        SystemTime: new Date().toISOString(),
      });
    if (kind === 'networks') return answerNetworks(this, request.method ?? '', id, url, body, response);
    if (kind === 'events') return this.#stream(response, this.#events);
    if (kind === 'images') return answerImages(this, request.method ?? '', path, url, response);
    if (kind === 'build') return answerBuild(this, url, response);
    if (path === '/containers/json') return json(response, 200, this.#list(url));
    if (path === '/containers/create') return this.#create(url, body, response);
    const container = this.containers.get(id ?? '');
    if (container === undefined) return json(response, 404, { message: `No such container: ${id}` });
    return this.#single(container, `${request.method} ${verb ?? ''}`.trim(), url, body, response);
  }

  #single(container: StandInContainer, what: string, url: URL, body: Buffer, response: ServerResponse): void {
    switch (what) {
      case 'GET json':
        return json(response, 200, {
          State: {
            Running: isUp(container),
            Paused: container.state === 'paused',
            ExitCode: container.exitCode,
            OOMKilled: container.oomKilled,
            StartedAt: container.startedAt,
            FinishedAt: container.finishedAt,
          },
        });
      case 'PUT archive':
        container.archives.push({ path: url.searchParams.get('path') ?? '', tar: body });
        return json(response, 200, {});
      case 'GET archive':
        return void this.#give(container, url, response);
      case 'POST start': {
        const refusal = startRefusal(container);
        if (refusal !== undefined) return json(response, 409, { message: refusal });
        const network = this.#missingNetwork(container);
        if (network !== undefined) return json(response, 404, { message: `network ${network} not found` });
        container.state = 'running';
        container.startedAt = new Date().toISOString();
        response.writeHead(204).end();
        this.#emit('start', container);
        this.onStart(container);
        return;
      }
      case 'POST stop':
        this.end(container.id, 0);
        return void response.writeHead(204).end();
      case 'POST wait': {
        if (!isUp(container)) return json(response, 200, { StatusCode: container.exitCode });
        const waiting = this.#waiters.get(container.id) ?? [];
        this.#waiters.set(container.id, [...waiting, response]);
        return;
      }
      case 'GET logs':
        return this.#logs(container, url, response);
      case 'DELETE': {
        const refusal = removalRefusal(container, url.searchParams.get('force') === 'true');
        if (refusal !== undefined) return json(response, 409, { message: refusal });
        this.#remove(container);
        return void response.writeHead(204).end();
      }
      default:
        return json(response, 501, { message: `the stand-in does not support ${what}` });
    }
  }

  #missingNetwork({ body: { HostConfig } }: StandInContainer): string | undefined {
    const mode = HostConfig?.['NetworkMode'];
    if (typeof mode !== 'string' || ['none', 'host', 'bridge', 'default'].includes(mode)) return undefined;
    return this.networks.some(({ Id, Name }) => mode === Id || mode === Name) ? undefined : mode;
  }

  async #give(container: StandInContainer, url: URL, response: ServerResponse): Promise<void> {
    const isUsers = url.searchParams.get('path') === '/etc/passwd';
    const users = { path: 'passwd', content: Buffer.from(this.passwd), mode: 0o644 };
    const archive = isUsers ? await tar([users]) : container.outgoing;
    response.writeHead(200, { 'content-type': 'application/x-tar' }).end(archive);
  }

  #logs(container: StandInContainer, url: URL, response: ServerResponse): void {
    if (container.state === 'dead' || container.isBeingRemoved === true)
      return json(response, 409, {
        message: 'can not get logs from container which is dead or marked for removal',
      });
    response.writeHead(200);
    const tail = Number(url.searchParams.get('tail') ?? Number.POSITIVE_INFINITY);
    const lines = Number.isFinite(tail) ? container.lines.slice(-tail) : container.lines;
    for (const line of lines) response.write(frame(`${line}\n`));
    if (url.searchParams.get('follow') !== 'true' || !isUp(container)) return void response.end();
    response.flushHeaders();
    const followers = this.#followers.get(container.id) ?? new Set();
    followers.add(response);
    this.#followers.set(container.id, followers);
  }

  #create(url: URL, body: Buffer, response: ServerResponse): void {
    const name = url.searchParams.get('name') ?? randomBytes(4).toString('hex');
    const holder = this.get(name);
    if (holder !== undefined) {
      const message = `Conflict. The container name "/${name}" is already in use by container "${holder.id}". You have to remove (or rename) that container to be able to reuse that name.`;
      return json(response, 409, { message });
    }
    const asked = JSON.parse(body.toString()) as StandInContainer['body'];
    // Tests that do not start containers name an image that does not exist.
    if (asked.Image?.startsWith('sha256:') && !this.images.some(({ id }) => id === asked.Image))
      return json(response, 404, { message: `No such image: ${asked.Image}` });
    const fault = createFault(asked.HostConfig, this.storesSizes);
    if (fault !== undefined) return json(response, fault.status, { message: fault.message });
    const container = newContainer(name, asked);
    this.containers.set(container.id, container);
    this.#emit('create', container);
    return json(response, 201, { Id: container.id });
  }

  #list(url: URL): unknown {
    const matches = labelFilter(url);
    const all = ['1', 'true'].includes(url.searchParams.get('all') ?? '');
    return [...this.containers.values()]
      .filter((container) => matches(container.body.Labels) && (all || isUp(container)))
      .map(listed);
  }

  #stream(response: ServerResponse, listeners: Set<ServerResponse>): void {
    response.writeHead(200);
    response.flushHeaders();
    listeners.add(response);
    response.on('close', () => listeners.delete(response));
  }
}

function isUp({ state }: StandInContainer): boolean {
  return state === 'running' || state === 'paused';
}

/** Returns why dockerd refuses to remove a container, in the words of Docker 25 and newer. */
function removalRefusal(container: StandInContainer, force: boolean): string | undefined {
  const { id, state } = container;
  if (container.isBeingRemoved === true) return `removal of container ${id} is already in progress`;
  if (!isUp(container) || force) return undefined;
  const why =
    state === 'paused'
      ? 'container is paused and must be unpaused first'
      : 'container is running: stop the container before removing or force remove';
  return `cannot remove container "${id}": ${why}`;
}

function startRefusal(container: StandInContainer): string | undefined {
  if (container.isBeingRemoved === true || container.state === 'dead')
    return 'container is marked for removal and cannot be started';
  return container.state === 'paused' ? 'cannot start a paused container, try unpause instead' : undefined;
}
