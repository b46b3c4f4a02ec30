import type { Agent } from 'node:http';
import type { Readable } from 'node:stream';
import Docker from 'dockerode';
import { foreignJson, foreignLine, foreignValue } from '../base/foreign-text.ts';
import { Labels } from '../contract/paths.ts';
import {
  answer,
  type Answer,
  boundAnswers,
  containerName,
  type Modem,
  neededFlag,
  neededList,
  neededNumber,
  neededText,
  number,
  text,
  texts,
  textsByName,
} from './answers.ts';
import { bounded, createFault, deadline, deadlines, engineFault, isEngineFault } from './fault.ts';
import type {
  Engine,
  EngineEvent,
  EngineInfo,
  FoundNetwork,
  OwnContainer,
  RegistryLogin,
  Removal,
} from './engine.ts';
import { FleetError } from '../base/errors.ts';
import { readerBounds } from '../base/reader-bounds.ts';
import { Lines, LogFrames, longestMessage, newestText } from './frames.ts';
import { archiveTails } from './tails.ts';
import { contextStream, followProgress } from './progress.ts';

/** Address of the engine: its socket on this machine, or an HTTP agent whose sockets end at it (the CLI over SSH). */
export type EngineAddress = { readonly socketPath: string } | { readonly agent: Agent };

/** Returns the engine at an address. It opens no connection; every call does, and has a deadline. */
export function createEngine(address: EngineAddress): Engine {
  const docker = new Docker(modemOptions(address));
  boundAnswers(docker.modem as unknown as Modem);
  const single = containerCalls(docker);
  return {
    ...single,
    ...imageCalls(docker),
    ...labelCalls(docker),
    ...networkCalls(docker),
    async version() {
      return get(docker, '/version', 'reading its version', (said) => ({
        version: neededText(said, 'Version'),
        apiVersion: text(said['ApiVersion']),
      }));
    },
    async info() {
      return get(docker, '/info', 'reading its settings', infoFrom);
    },
    async listOwn(filter = {}) {
      const label = Object.entries(filter).map(([key, value]) => `${key}=${value}`);
      const filters = { label: [Labels.kind, ...label] };
      return bounded('listing containers', deadlines.short, async (abortSignal) =>
        neededList(await docker.listContainers({ all: true, filters, abortSignal })).map(ownContainer),
      );
    },
    run: (name, options, deadlineMs) => runToEnd(single, name, options, deadlineMs),
    events: (signal) => dockerEvents(docker, signal),
  };
}

/** Returns options with a named host, so that dockerode neither searches for a socket nor reads DOCKER_HOST. */
function modemOptions(address: EngineAddress): Docker.DockerOptions & { agent?: Agent } {
  if ('agent' in address) return { protocol: 'http', host: 'docker', port: 80, agent: address.agent };
  return { protocol: 'http', socketPath: address.socketPath, host: undefined };
}

/** Reads a path of the engine; dockerode's own version() and info() take no signal. */
function get<T>(docker: Docker, path: string, doing: string, read: (found: Answer) => T): Promise<T> {
  return bounded(doing, deadlines.short, async (abortSignal) => {
    const request = { path, method: 'GET', abortSignal, statusCodes: { 200: true, 500: 'server error' } };
    const found = await new Promise<unknown>((resolve, reject) => {
      docker.modem.dial(request, (error, body) => (error ? reject(error) : resolve(body)));
    });
    return read(answer(found));
  });
}

function infoFrom(info: Answer): EngineInfo {
  return {
    cgroupDriver: text(info['CgroupDriver']),
    cgroupVersion: text(info['CgroupVersion']),
    cdiSpecDirs: texts(info['CDISpecDirs']),
    rootDir: text(info['DockerRootDir']),
    runtimes: Object.keys(answer(info['Runtimes'])),
    kernel: text(info['KernelVersion']),
    storage: {
      driver: text(info['Driver']),
      byContainerd: JSON.stringify(info['DriverStatus'] ?? null).includes('io.containerd.snapshotter'),
    },
    mountOptions: mountOptionsOf(info),
    now: Date.parse(text(info['SystemTime'])),
  };
}

/** Returns the mount options of the default runtime: JSON in a string (Engine 25 and newer). */
function mountOptionsOf(info: Answer): readonly string[] | undefined {
  const { status } = answer(answer(info['Runtimes'])[text(info['DefaultRuntime'])]);
  const features = answer(status)['org.opencontainers.runtime-spec.features'];
  const { mountOptions } = answer(foreignJson(text(features)));
  return Array.isArray(mountOptions) ? texts(mountOptions) : undefined;
}

const states = ['created', 'running', 'paused', 'restarting', 'removing', 'exited', 'dead'] as const;

/** Reads a container; an unknown state counts as running. */
function ownContainer(found: Answer): OwnContainer {
  return {
    id: neededText(found, 'Id'),
    name: containerName(found),
    state: states.find((state) => state === found['State']) ?? 'running',
    labels: textsByName(found['Labels']),
    image: text(found['ImageID']),
    created: seconds(found['Created']),
  };
}

/** The longest time that a Date can have. */
const lastSecond = 8.64e12;

/** Reads seconds since the epoch; 0: not a time. */
function seconds(value: unknown): number {
  const at = number(value);
  return Math.abs(at) <= lastSecond ? at : 0;
}

type SingleContainer = Pick<
  Engine,
  | 'create'
  | 'putArchive'
  | 'getArchive'
  | 'readTails'
  | 'start'
  | 'startWithInput'
  | 'awaitEnd'
  | 'stop'
  | 'isRunning'
  | 'exit'
  | 'logs'
  | 'followLogs'
  | 'remove'
  | 'removeUnlessRunning'
>;

/** Calls for one container. */
function containerCalls(docker: Docker): SingleContainer {
  return {
    async create(name, options) {
      return bounded(`creating container ${name}`, deadlines.normal, async (abortSignal) => {
        const { id } = await docker.createContainer({ ...options, name, abortSignal });
        return neededText({ id }, 'id');
      }).catch((error: unknown) => {
        throw createFault(error, name);
      });
    },
    async putArchive(id, path, archive) {
      await bounded('copying files into a container', deadlines.normal, (abortSignal) =>
        docker.getContainer(id).putArchive(archive, { path, noOverwriteDirNonDir: '1', abortSignal }),
      );
    },
    getArchive: (id, path) => getArchive(docker, id, path),
    async readTails(id, path, accepts, limits) {
      return bounded('reading logs in a container', deadlines.normal, async (abortSignal) => {
        const stream = await docker.getContainer(id).getArchive({ path, abortSignal });
        return archiveTails(stream as Readable, accepts, limits);
      });
    },
    async start(id) {
      await bounded('starting a container', deadlines.normal, (abortSignal) =>
        docker.getContainer(id).start({ abortSignal }),
      );
    },
    async startWithInput(id, input) {
      await bounded('writing the input of a container', deadlines.normal, async (abortSignal) => {
        const container = docker.getContainer(id);
        const stream = await container.attach({ stream: true, stdin: true, hijack: true, abortSignal });
        await container.start({ abortSignal });
        await new Promise<void>((resolve) => {
          stream.end(input, resolve);
        });
      });
    },
    awaitEnd: (id, deadlineMs) => awaitEnd(docker, id, deadlineMs),
    async stop(id, timeoutS) {
      await bounded('stopping a container', timeoutS * 1000 + deadlines.normal, (abortSignal) =>
        docker.getContainer(id).stop({ t: timeoutS, abortSignal }),
      ).catch(ignoreStopped);
    },
    async isRunning(id) {
      return bounded('inspecting a container', deadlines.short, async (abortSignal) =>
        neededFlag(stateOf(await docker.getContainer(id).inspect({ abortSignal })), 'Running'),
      );
    },
    async exit(id) {
      return bounded('reading the exit of a container', deadlines.short, async (abortSignal) => {
        const state = stateOf(await docker.getContainer(id).inspect({ abortSignal }));
        return {
          code: neededNumber(state, 'ExitCode'),
          oomKilled: state['OOMKilled'] === true,
          startedAt: text(state['StartedAt']),
          finishedAt: text(state['FinishedAt']),
        };
      });
    },
    async logs(id, tail) {
      return bounded('reading the output of a container', deadlines.short, async (abortSignal) =>
        newestText(await outputOf(docker, id, tail, abortSignal), readerBounds.containerOutput.bytes),
      );
    },
    followLogs: (id, signal) => followLogs(docker, id, signal),
    remove: (id) => remove(docker, id, true),
    removeUnlessRunning: (id) => remove(docker, id, false),
  };
}

/** Returns the last lines of a container's output as a stream: dockerode's own call reads them into memory first. */
function outputOf(docker: Docker, id: string, tail: number, abortSignal: AbortSignal): Promise<Readable> {
  const request = {
    path: `/containers/${id}/logs?`,
    method: 'GET',
    abortSignal,
    isStream: true,
    statusCodes: { 200: true, 404: 'no such container', 500: 'server error' },
    options: { stdout: true, stderr: true, tail, follow: false },
  };
  return new Promise((resolve, reject) => {
    docker.modem.dial(request, (error, stream) => (error ? reject(error) : resolve(stream as Readable)));
  });
}

async function getArchive(docker: Docker, id: string, path: string): Promise<Buffer> {
  return bounded('copying files out of a container', deadlines.normal, async (abortSignal) => {
    const stream = await docker.getContainer(id).getArchive({ path, abortSignal });
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of stream) {
      chunks.push(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      if (bytes > readerBounds.containerFile.bytes) throw tooLarge(path);
    }
    return Buffer.concat(chunks);
  });
}

function stateOf(inspected: unknown): Answer {
  return answer(answer(inspected)['State']);
}

/** Removes a container. 404: it is gone. 409: it is being removed ("removal of container ID is already in progress"), or runs. */
async function remove(docker: Docker, id: string, force: boolean): Promise<Removal> {
  try {
    await bounded('removing a container', deadlines.normal, (abortSignal) =>
      docker.getContainer(id).remove({ force, v: true, abortSignal }),
    );
    return 'removed';
  } catch (error) {
    if (isEngineFault(error, 'engine.not-found')) return 'removed';
    if (!isEngineFault(error, 'engine.conflict')) throw error;
    return /already in progress/i.test(error.problem.seen ?? '') ? 'removing' : 'running';
  }
}

async function* followLogs(docker: Docker, id: string, signal: AbortSignal): AsyncIterable<string> {
  const stream = await docker
    .getContainer(id)
    .logs({ stdout: true, stderr: true, follow: true, abortSignal: signal });
  const frames = new LogFrames();
  const lines = new Lines();
  for await (const chunk of stream) {
    for (const payload of frames.push(chunk as Buffer)) yield* lines.push(payload);
  }
  yield* lines.end();
}

function tooLarge(path: string): FleetError {
  return new FleetError({
    code: 'engine.file-too-large',
    what: `${path} in the container is too large`,
    expected: 'at most 1 MiB',
    next: 'check this file in the image, or build the image on the host',
  });
}

/** Ignores 304 (not running) and 404 (gone) of a stop. */
function ignoreStopped(error: unknown): void {
  if (isEngineFault(error, 'engine.not-found')) return;
  if (error instanceof Error && error.cause instanceof Error && 'statusCode' in error.cause) {
    if (error.cause.statusCode === 304) return;
  }
  throw error;
}

/** Waits for a container; `not-running` answers at once for one that has already exited. */
async function awaitEnd(docker: Docker, id: string, deadlineMs: number): Promise<number | undefined> {
  const { signal, clear } = deadline(deadlineMs);
  try {
    const waiting = docker.getContainer(id).wait({ condition: 'not-running', abortSignal: signal });
    return neededNumber(answer(await Promise.race([waiting, aborted(signal)])), 'StatusCode');
  } catch (error) {
    if (signal.aborted) return undefined;
    throw engineFault(error, 'waiting for a container');
  } finally {
    clear();
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

/** nvidia-smi -q -x prints 10,000 lines for eight GPUs. */
const mostLines = 50_000;

/**
 * Runs one container to its exit and removes it; after the deadline it is killed, and its output so far is returned.
 * `isCut`: it wrote more than the last 50,000 lines.
 */
async function runToEnd(
  single: Pick<Engine, 'create' | 'start' | 'awaitEnd' | 'logs' | 'remove'>,
  name: string,
  options: Docker.ContainerCreateOptions,
  deadlineMs: number,
): ReturnType<Engine['run']> {
  const id = await single.create(name, options);
  let timedOut = false;
  try {
    await single.start(id);
    const code = await single.awaitEnd(id, deadlineMs);
    timedOut = code === undefined;
    // The process may hang in the kernel: then the output is incomplete.
    const output = await single.logs(id, mostLines);
    const isCut = output.split('\n').length >= mostLines;
    return { code: code ?? -1, output, timedOut, isCut };
  } finally {
    // A container that hangs in the kernel cannot be removed; the timeout is the error to report.
    await single.remove(id).catch((error: unknown) => {
      if (!timedOut) throw error;
    });
  }
}

type Images = Pick<
  Engine,
  'imageId' | 'imageLabel' | 'pull' | 'push' | 'build' | 'listOwnImages' | 'removeImage'
>;

/** Calls for images. */
function imageCalls(docker: Docker): Images {
  async function inspect(reference: string): Promise<Answer | undefined> {
    try {
      return await bounded(`inspecting image ${reference}`, deadlines.short, async () =>
        answer(await docker.getImage(reference).inspect()),
      );
    } catch (error) {
      if (isEngineFault(error, 'engine.not-found')) return undefined;
      throw error;
    }
  }
  const imageId = async (reference: string): Promise<string | undefined> =>
    text((await inspect(reference))?.['Id']) || undefined;
  return {
    imageId,
    async imageLabel(reference, label) {
      const { Labels: labels } = answer((await inspect(reference))?.['Config']);
      return textsByName(labels)[label];
    },
    push: (...args) => push(docker, inspect, ...args),
    async pull(reference, onProgress, login) {
      await bounded(`pulling ${reference}`, deadlines.image, async (abortSignal) => {
        await followProgress(await pullStream(docker, reference, abortSignal, login), onProgress);
      });
    },
    async build(context, options, onProgress) {
      await bounded(`building ${options.tag}`, deadlines.image, async (abortSignal) => {
        const stream = await docker.buildImage(contextStream(context), {
          t: options.tag,
          buildargs: { ...options.args },
          labels: { ...options.labels },
          rm: true,
          forcerm: true,
          ...(options.fresh === true ? { nocache: true } : {}),
          ...(options.lookUp === true ? { pull: true } : {}),
          ...registryConfig(options.logins ?? []),
          abortSignal,
        });
        await followProgress(stream, onProgress);
      });
      const id = await imageId(options.tag);
      if (id === undefined) {
        throw new FleetError({
          code: 'engine.build-failed',
          what: `the build finished without the image ${options.tag}`,
        });
      }
      return id;
    },
    async listOwnImages() {
      return bounded('listing images', deadlines.short, async (abortSignal) =>
        neededList(await docker.listImages({ filters: { label: [Labels.kind] }, abortSignal })).map(
          (image) => ({
            id: neededText(image, 'Id'),
            tags: texts(image['RepoTags']),
            labels: textsByName(image['Labels']),
            created: number(image['Created']),
            bytes: number(image['Size']),
          }),
        ),
      );
    },
    async removeImage(id) {
      await bounded('removing an image', deadlines.normal, (abortSignal) =>
        docker.getImage(id).remove({ abortSignal }),
      ).catch((error: unknown) => {
        if (!isEngineFault(error, 'engine.not-found')) throw engineFault(error, 'removing an image');
      });
    },
  };
}

async function push(
  docker: Docker,
  inspect: (reference: string) => Promise<Answer | undefined>,
  ...[id, reference, onProgress, login]: Parameters<Engine['push']>
): Promise<string> {
  const at = reference.lastIndexOf(':');
  const [repo, tag] = [reference.slice(0, at), reference.slice(at + 1)];
  await bounded(`tagging an image ${reference}`, deadlines.short, () =>
    docker.getImage(id).tag({ repo, tag }),
  );
  await bounded(`pushing ${reference}`, deadlines.image, async (abortSignal) => {
    // Empty without a login: Docker up to 22 refuses a push without the header.
    const options = { tag, abortSignal, authconfig: login === undefined ? {} : authConfig(login) };
    await followProgress(await docker.getImage(repo).push(options), onProgress);
  });
  const digests = texts((await inspect(reference))?.['RepoDigests']);
  return digests.find((digest) => digest.startsWith(`${repo}@`)) ?? reference;
}

/** Pulls with the login as an own argument: as an option, dockerode would write it into the URL, and dockerd into its log. */
function pullStream(
  docker: Docker,
  reference: string,
  abortSignal: AbortSignal,
  login: RegistryLogin | undefined,
): Promise<NodeJS.ReadableStream> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, stream?: NodeJS.ReadableStream): void =>
      error === null && stream !== undefined ? resolve(stream) : reject(error ?? new Error('no answer'));
    docker.pull(reference, { abortSignal }, done, login && authConfig(login));
  });
}

/** The address of Docker Hub in logins. */
const hubAddress = 'https://index.docker.io/v1/';

function addressOf({ registry }: RegistryLogin): string {
  return registry === 'docker.io' ? hubAddress : registry;
}

function authConfig(login: RegistryLogin): Docker.AuthConfig {
  return { username: login.user, password: login.secret.reveal(), serveraddress: addressOf(login) };
}

/** Returns the logins for the base images of a build, which dockerode sends as a header. */
function registryConfig(logins: readonly RegistryLogin[]): Pick<Docker.ImageBuildOptions, 'registryconfig'> {
  if (logins.length === 0) return {};
  const entries = logins.map((login) => [
    addressOf(login),
    { username: login.user, password: login.secret.reveal() },
  ]);
  return { registryconfig: Object.fromEntries(entries) as Docker.RegistryConfig };
}

type Networks = Pick<Engine, 'networksNamed' | 'createNetwork' | 'removeNetwork' | 'freeEndpoint'>;

/** Calls for networks. */
function networkCalls(docker: Docker): Networks {
  return {
    async networksNamed(name) {
      // The engine's filter matches parts of names.
      return bounded('listing networks', deadlines.short, async (abortSignal) => {
        const found = neededList(await docker.listNetworks({ filters: { name: [name] }, abortSignal }));
        return found.filter((network) => network['Name'] === name).map(foundNetwork);
      });
    },
    async createNetwork(options) {
      // Without this an engine before 25 creates a second network of the name.
      const { id } = await bounded('creating the network of the agents', deadlines.normal, () =>
        docker.createNetwork({ CheckDuplicate: true, ...options }),
      );
      return text(id);
    },
    async removeNetwork(id) {
      await bounded('removing a network', deadlines.normal, (abortSignal) =>
        docker.getNetwork(id).remove({ abortSignal }),
      ).catch((error: unknown) => {
        if (!isUsedOrGone(error)) throw error;
      });
    },
    async freeEndpoint(network, name) {
      await bounded('freeing an endpoint in the network of the agents', deadlines.normal, (abortSignal) =>
        docker.getNetwork(network).disconnect({ Container: name, Force: true, abortSignal }),
      );
    },
  };
}

/** Reads a network. Any user of Docker may have chosen these texts, so they are cleaned. */
function foundNetwork(found: Answer): FoundNetwork {
  const ipam = answer(found['IPAM']);
  return foreignValue(
    {
      id: neededText(found, 'Id'),
      driver: text(found['Driver']),
      internal: found['Internal'] === true,
      attachable: found['Attachable'] === true,
      ipv6: found['EnableIPv6'] === true,
      ipam: text(ipam['Driver']),
      subnets: neededList(ipam['Config'] ?? [])
        .map(({ Subnet: subnet }) => text(subnet))
        .filter((subnet) => subnet !== ''),
      options: textsByName(found['Options']),
      labels: textsByName(found['Labels']),
    },
    (value) => foreignLine(value),
  );
}

/** 403: it has active endpoints; newer engines answer 409. 404: it is gone. */
function isUsedOrGone(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return (
    cause instanceof Error && 'statusCode' in cause && [403, 404, 409].includes(Number(cause.statusCode))
  );
}

/** Calls that also find containers and networks that azp-fleet did not create. */
function labelCalls(docker: Docker): Pick<Engine, 'withLabel' | 'running'> {
  return {
    async running() {
      return bounded('listing running containers', deadlines.short, async (abortSignal) =>
        neededList(await docker.listContainers({ abortSignal })).map((found) => ({
          name: containerName(found),
          labels: textsByName(found['Labels']),
        })),
      );
    },
    async withLabel(label) {
      return bounded('listing by a label', deadlines.short, async (abortSignal) => {
        const filters = { label: [label] };
        const [containers, networks] = await Promise.all([
          docker.listContainers({ all: true, filters, abortSignal }),
          docker.listNetworks({ filters, abortSignal }),
        ]);
        return {
          containers: neededList(containers).map((found) => ({
            id: neededText(found, 'Id'),
            name: containerName(found),
            sources: neededList(found['Mounts'] ?? []).map(({ Source: source }) => text(source)),
          })),
          networks: neededList(networks).map((found) => ({
            id: neededText(found, 'Id'),
            name: text(found['Name']),
          })),
        };
      });
    },
  };
}

/** Follows the engine's events of containers with azp-fleet's labels. */
async function* dockerEvents(docker: Docker, signal: AbortSignal): AsyncIterable<EngineEvent> {
  const lines = new Lines(longestMessage);
  try {
    const stream = await docker.getEvents({
      filters: { type: ['container'], label: [Labels.kind] },
      abortSignal: signal,
    });
    for await (const chunk of stream) {
      for (const line of lines.push(chunk as Buffer)) {
        const event = parseEvent(line);
        if (event !== undefined) yield event;
      }
    }
  } catch (error) {
    if (!signal.aborted) throw engineFault(error, 'reading its events');
  }
}

const types = ['container', 'image', 'daemon'] as const;

/** Parses one line of the stream; undefined: not an event of a known type. */
export function parseEvent(line: string): EngineEvent | undefined {
  const { Type: kind, Action: action, Actor: actor } = answer(foreignJson(line));
  const type = types.find((known) => known === kind);
  if (type === undefined || typeof action !== 'string') return undefined;
  const { ID: id, Attributes: labels } = answer(actor);
  return { type, action, id: text(id), labels: textsByName(labels) };
}
