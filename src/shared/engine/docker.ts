import type { Agent } from 'node:http';
import Docker from 'dockerode';
import { foreignJson } from '../base/foreign-text.ts';
import { Labels } from '../contract/paths.ts';
import {
  answer,
  containerName,
  neededList,
  neededText,
  number,
  text,
  texts,
  textsByName,
  type Answer,
} from './answers.ts';
import { containers } from './containers.ts';
import { dockerEvents } from './events.ts';
import { bounded, deadlines } from './deadline.ts';
import { images } from './images.ts';
import { labelled } from './labelled.ts';
import { networks } from './networks.ts';
import { runToEnd } from './run.ts';
import type { Engine, EngineInfo, OwnContainer } from './engine.ts';

/** Where the engine is: its socket on this machine, or an HTTP agent whose sockets end at it (the CLI over SSH). */
export type EngineAddress = { readonly socketPath: string } | { readonly agent: Agent };

/** Opens no connection by itself; every call does, and ends by its deadline. */
export function createEngine(address: EngineAddress): Engine {
  const docker = new Docker(modemOptions(address));
  const single = containers(docker);
  return {
    ...single,
    ...images(docker),
    ...labelled(docker),
    ...networks(docker),
    async version() {
      return get(docker, '/version', 'asking its version', (said) => ({
        version: neededText(said, 'Version'),
        apiVersion: text(said['ApiVersion']),
      }));
    },
    async info() {
      return get(docker, '/info', 'asking its settings', infoFrom);
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

/** A named host keeps dockerode from looking for a socket; DOCKER_HOST of the caller must not win over the address. */
function modemOptions(address: EngineAddress): Docker.DockerOptions & { agent?: Agent } {
  if ('agent' in address) return { protocol: 'http', host: 'docker', port: 80, agent: address.agent };
  return { protocol: 'http', socketPath: address.socketPath, host: undefined };
}

/** dockerode's own version() and info() take no signal. */
function get<T>(docker: Docker, path: string, doing: string, read: (said: Answer) => T): Promise<T> {
  return bounded(doing, deadlines.short, async (abortSignal) => {
    const request = { path, method: 'GET', abortSignal, statusCodes: { 200: true, 500: 'server error' } };
    const said = await new Promise<unknown>((resolve, reject) => {
      docker.modem.dial(request, (error, told) => (error ? reject(error) : resolve(told)));
    });
    return read(answer(said));
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

/** The default runtime's features as the engine hands them on: JSON in a string (Engine 25 and newer). */
function mountOptionsOf(info: Answer): readonly string[] | undefined {
  const { status } = answer(answer(info['Runtimes'])[text(info['DefaultRuntime'])]);
  const told = answer(status)['org.opencontainers.runtime-spec.features'];
  const { mountOptions } = answer(foreignJson(text(told)));
  return Array.isArray(mountOptions) ? texts(mountOptions) : undefined;
}

const states = ['created', 'running', 'paused', 'restarting', 'removing', 'exited', 'dead'] as const;

/** In a state that we do not know it may be alive: it counts as running. */
function ownContainer(found: Answer): OwnContainer {
  return {
    id: neededText(found, 'Id'),
    name: containerName(found),
    state: states.find((state) => state === found['State']) ?? 'running',
    labels: textsByName(found['Labels']),
    image: text(found['ImageID']),
    created: number(found['Created']),
  };
}
