import type Docker from 'dockerode';
import type { FileTail, TailLimits } from './tails.ts';
import type { Secret } from '../base/secret.ts';

/** One container with azp-fleet's labels, in any state. */
export interface OwnContainer {
  readonly id: string;
  readonly name: string;
  readonly state: 'created' | 'running' | 'paused' | 'restarting' | 'removing' | 'exited' | 'dead';
  readonly labels: Readonly<Record<string, string>>;
  readonly image: string;
  /** Seconds since the epoch. */
  readonly created: number;
}

/** Returns whether the processes of a container may exist: a paused one continues when it is unpaused. */
export function isUp({ state }: Pick<OwnContainer, 'state'>): boolean {
  return state === 'running' || state === 'paused' || state === 'restarting';
}

/**
 * The end of a removal. `running`: it runs, so it stays. `removing`: another removal of it has begun and not ended; until
 * its `destroy` event the list may show any state.
 */
export type Removal = 'removed' | 'running' | 'removing';

export interface ContainerExit {
  readonly code: number;
  readonly oomKilled: boolean;
  /** ISO 8601 */
  readonly startedAt: string;
  readonly finishedAt: string;
}

export interface EngineEvent {
  readonly type: 'container' | 'image' | 'daemon';
  /** `die`, `start`, `create`, `destroy`, `oom`, … */
  readonly action: string;
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface EngineInfo {
  readonly cgroupDriver: string;
  readonly cgroupVersion: string;
  /** Empty: CDI is disabled in the engine. */
  readonly cdiSpecDirs: readonly string[];
  readonly rootDir: string;
  readonly runtimes: readonly string[];
  /** As `uname -r` prints it. */
  readonly kernel: string;
  /** Its storage driver: `overlay2`, `btrfs`; with the image store of containerd a snapshotter. */
  readonly storage: { readonly driver: string; readonly byContainerd: boolean };
  /** Mount options that its default runtime supports; undefined: not known. */
  readonly mountOptions: readonly string[] | undefined;
  /** The clock of its machine, milliseconds since the epoch; NaN when not known. */
  readonly now: number;
}

export interface OwnImage {
  readonly id: string;
  readonly tags: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly bytes: number;
}

/** The login for a registry, sent as a header of the one call that needs it. */
export interface RegistryLogin {
  /** `docker.io`, or host and port. */
  readonly registry: string;
  readonly user: string;
  readonly secret: Secret;
}

/** A network as the engine describes it. */
export interface FoundNetwork {
  readonly id: string;
  readonly driver: string;
  readonly internal: boolean;
  readonly attachable: boolean;
  readonly ipv6: boolean;
  /** The driver that assigns its addresses: `default` is the engine. */
  readonly ipam: string;
  /** `172.18.0.0/16` */
  readonly subnets: readonly string[];
  readonly options: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

/** Containers and networks with a label, not only azp-fleet's. */
export interface Labelled {
  readonly containers: readonly {
    readonly id: string;
    readonly name: string;
    /** Mounted paths of the host. */
    readonly sources: readonly string[];
  }[];
  readonly networks: readonly { readonly id: string; readonly name: string }[];
}

/** A running container, not only azp-fleet's. */
interface RunningContainer {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The Docker Engine for manager and CLI. Every call has a deadline. */
export interface Engine {
  version(): Promise<{ readonly version: string; readonly apiVersion: string }>;
  info(): Promise<EngineInfo>;
  listOwn(filter?: Readonly<Record<string, string>>): Promise<readonly OwnContainer[]>;
  create(name: string, options: Docker.ContainerCreateOptions): Promise<string>;
  /** Unpacks a tar archive below `path` of a created container. */
  putArchive(id: string, path: string, tar: Buffer): Promise<void>;
  /** Returns a tar archive of one small file of a container, running or not; more than 1 MiB is `engine.file-too-large`. */
  getArchive(id: string, path: string): Promise<Buffer>;
  /** Returns the ends of files with accepted names below a folder of a container, running or not. */
  readTails(
    id: string,
    path: string,
    accepts: (name: string) => boolean,
    limits: TailLimits,
  ): Promise<readonly FileTail[]>;
  start(id: string): Promise<void>;
  /** Starts a container that was created with OpenStdin and StdinOnce, and writes its whole input. */
  startWithInput(id: string, input: string): Promise<void>;
  /** Returns the exit code, undefined when it still runs at the deadline. */
  awaitEnd(id: string, deadlineMs: number): Promise<number | undefined>;
  /** Sends the container's stop signal, and SIGKILL after the given seconds. */
  stop(id: string, timeoutS: number): Promise<void>;
  /** Inspects the container; the list can be wrong. */
  isRunning(id: string): Promise<boolean>;
  exit(id: string): Promise<ContainerExit>;
  /** Returns the last lines of stdout and stderr. */
  logs(id: string, tail: number): Promise<string>;
  /** Follows the output from its first line; ends with the container, the stream or the signal. */
  followLogs(id: string, signal: AbortSignal): AsyncIterable<string>;
  /** Removes a container, running or not. A missing container is no error. */
  remove(id: string): Promise<Removal>;
  /** Removes a container that does not run; the engine decides. A running container stays, without an error. */
  removeUnlessRunning(id: string): Promise<Removal>;
  /** Returns the digest (`sha256:…`) of a local image, undefined when absent. */
  imageId(reference: string): Promise<string | undefined>;
  /** Returns a label of a local image; undefined when it, or the image, is absent. */
  imageLabel(reference: string, label: string): Promise<string | undefined>;
  pull(reference: string, onProgress?: (line: string) => void, login?: RegistryLogin): Promise<void>;
  build(
    context: Buffer,
    options: {
      readonly tag: string;
      readonly args: Readonly<Record<string, string>>;
      readonly labels: Readonly<Record<string, string>>;
      /** Builds without the cache. */
      readonly fresh?: boolean;
      /** Pulls the base image again. */
      readonly lookUp?: boolean;
      /** For the base images of the build. */
      readonly logins?: readonly RegistryLogin[];
    },
    onProgress?: (line: string) => void,
  ): Promise<string>;
  /** Tags a local image and pushes it; returns its digest there, `REPOSITORY@sha256:…`. */
  push(
    id: string,
    reference: string,
    onProgress?: (line: string) => void,
    login?: RegistryLogin,
  ): Promise<string>;
  /** Lists images with azp-fleet's labels. */
  listOwnImages(): Promise<readonly OwnImage[]>;
  /** Removes an image, never forced: the engine refuses one that a container uses. */
  removeImage(id: string): Promise<void>;
  /** Lists networks with exactly this name. Older engines allow several. */
  networksNamed(name: string): Promise<readonly FoundNetwork[]>;
  /** Returns the id. */
  createNetwork(options: Docker.NetworkCreateOptions): Promise<string>;
  /** Frees the endpoint that the engine keeps in a network for a removed container of this name. */
  freeEndpoint(network: string, name: string): Promise<void>;
  /** Lists containers, running or not, and networks with this label, not only azp-fleet's. */
  withLabel(label: string): Promise<Labelled>;
  /** Lists all running and paused containers, not only azp-fleet's. */
  running(): Promise<readonly RunningContainer[]>;
  /** Removes a network, never forced: a network in use stays, without an error; a missing one is no error. */
  removeNetwork(id: string): Promise<void>;
  /**
   * Runs a container to its exit and returns its output; the container is removed, also after the deadline, unless it
   * hangs in the kernel. `isCut`: the start of the output was dropped.
   */
  run(
    name: string,
    options: Docker.ContainerCreateOptions,
    deadlineMs: number,
  ): Promise<{
    readonly code: number;
    readonly output: string;
    readonly timedOut: boolean;
    readonly isCut: boolean;
  }>;
  /** Follows events until the stream or the engine ends; the caller reopens it. */
  events(signal: AbortSignal): AsyncIterable<EngineEvent>;
}
