import type { Agent } from 'node:http';
import Docker from 'dockerode';
import { Labels } from '../contract/paths.ts';
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
      const answer = await get(docker, '/version', 'asking its version');
      return { version: String(answer['Version']), apiVersion: String(answer['ApiVersion']) };
    },
    async info() {
      return infoFrom(await get(docker, '/info', 'asking its settings'));
    },
    async listOwn(filter = {}) {
      const label = Object.entries(filter).map(([key, value]) => `${key}=${value}`);
      const found = await bounded('listing containers', deadlines.short, (abortSignal) =>
        docker.listContainers({ all: true, filters: { label: [Labels.kind, ...label] }, abortSignal }),
      );
      return found.map(ownContainer);
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
function get(docker: Docker, path: string, doing: string): Promise<Readonly<Record<string, unknown>>> {
  return bounded(
    doing,
    deadlines.short,
    (abortSignal) =>
      new Promise((resolve, reject) => {
        const request = { path, method: 'GET', abortSignal, statusCodes: { 200: true, 500: 'server error' } };
        docker.modem.dial(request, (error, answer) => {
          if (error) reject(error);
          else resolve(answer as Readonly<Record<string, unknown>>);
        });
      }),
  );
}

function infoFrom(info: Readonly<Record<string, unknown>>): EngineInfo {
  const text = (key: string): string => (typeof info[key] === 'string' ? info[key] : '');
  return {
    cgroupDriver: text('CgroupDriver'),
    cgroupVersion: text('CgroupVersion'),
    cdiSpecDirs: Array.isArray(info['CDISpecDirs']) ? info['CDISpecDirs'].map(String) : [],
    rootDir: text('DockerRootDir'),
    runtimes: Object.keys(info['Runtimes'] ?? {}),
    kernel: text('KernelVersion'),
    storage: {
      driver: text('Driver'),
      byContainerd: JSON.stringify(info['DriverStatus'] ?? null).includes('io.containerd.snapshotter'),
    },
    mountOptions: mountOptionsOf(info),
    now: Date.parse(text('SystemTime')),
  };
}

/** The default runtime's features as the engine hands them on: JSON in a string (Engine 25 and newer). */
function mountOptionsOf(info: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const runtimes = Object(info['Runtimes']) as Readonly<Record<string, unknown>>;
  const { status } = Object(runtimes[String(info['DefaultRuntime'])]) as { readonly status?: unknown };
  const told = (Object(status) as Readonly<Record<string, unknown>>)[
    'org.opencontainers.runtime-spec.features'
  ];
  try {
    const { mountOptions } = Object(JSON.parse(String(told))) as { readonly mountOptions?: unknown };
    return Array.isArray(mountOptions) ? mountOptions.map(String) : undefined;
  } catch {
    return undefined;
  }
}

function ownContainer(found: Docker.ContainerInfo): OwnContainer {
  return {
    id: found.Id,
    name: (found.Names[0] ?? '').replace(/^\//, ''),
    state: found.State as OwnContainer['state'],
    labels: found.Labels,
    image: found.ImageID,
    created: found.Created,
  };
}
