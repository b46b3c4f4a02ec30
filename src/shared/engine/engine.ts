import type Docker from 'dockerode';
import type { FileTail, TailLimits } from './tails.ts';
import type { Secret } from '../base/secret.ts';

/** One container that carries our labels, whatever its state. */
export interface OwnContainer {
  readonly id: string;
  readonly name: string;
  readonly state: 'created' | 'running' | 'paused' | 'restarting' | 'removing' | 'exited' | 'dead';
  readonly labels: Readonly<Record<string, string>>;
  readonly image: string;
  /** Seconds since the epoch. */
  readonly created: number;
}

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
  /** Empty: the engine's CDI support is off. */
  readonly cdiSpecDirs: readonly string[];
  readonly rootDir: string;
  readonly runtimes: readonly string[];
  /** As `uname -r` has it. */
  readonly kernel: string;
  /** Its storage: `overlay2`, `btrfs`; with the image store of containerd the name of a snapshotter. */
  readonly storage: { readonly driver: string; readonly byContainerd: boolean };
  /** What its default runtime can do to mounts; undefined: it does not tell. */
  readonly mountOptions: readonly string[] | undefined;
  /** Its machine's clock, milliseconds since the epoch; NaN when it does not say. */
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

/** Who we are to a registry. It travels in a header of the one call that needs it. */
export interface RegistryLogin {
  /** `docker.io`, or host and port. */
  readonly registry: string;
  readonly user: string;
  readonly secret: Secret;
}

/** A network as the engine describes it, whoever made it. */
export interface FoundNetwork {
  readonly id: string;
  readonly driver: string;
  readonly internal: boolean;
  readonly attachable: boolean;
  readonly ipv6: boolean;
  /** Who gives out its addresses: `default` is the engine. */
  readonly ipam: string;
  /** `172.18.0.0/16` */
  readonly subnets: readonly string[];
  readonly options: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

/** What carries one label, whoever made it. */
export interface Labelled {
  readonly containers: readonly {
    readonly id: string;
    readonly name: string;
    /** Paths of the host that are mounted in it. */
    readonly sources: readonly string[];
  }[];
  readonly networks: readonly { readonly id: string; readonly name: string }[];
}

/** A container that runs, whoever made it. */
interface RunningContainer {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The Docker Engine as we use it. Every call has a deadline. The manager and the CLI share this. */
export interface Engine {
  version(): Promise<{ readonly version: string; readonly apiVersion: string }>;
  info(): Promise<EngineInfo>;
  listOwn(filter?: Readonly<Record<string, string>>): Promise<readonly OwnContainer[]>;
  create(name: string, options: Docker.ContainerCreateOptions): Promise<string>;
  /** Unpacks a tar archive below `path` of a created container. */
  putArchive(id: string, path: string, tar: Buffer): Promise<void>;
  /** A tar archive of one small file of a container, running or not; more than 1 MiB is `engine.file-too-large`. */
  getArchive(id: string, path: string): Promise<Buffer>;
  /** The ends of the files below a folder of a container, running or not, whose name is accepted. */
  readTails(
    id: string,
    path: string,
    accepts: (name: string) => boolean,
    limits: TailLimits,
  ): Promise<readonly FileTail[]>;
  start(id: string): Promise<void>;
  /** Starts a container that was created with OpenStdin and StdinOnce, and gives it this as its whole input. */
  startWithInput(id: string, input: string): Promise<void>;
  /** The exit code, undefined when it has not ended by the deadline. */
  awaitEnd(id: string, deadlineMs: number): Promise<number | undefined>;
  /** The container's own stop signal, then SIGKILL after the given seconds. */
  stop(id: string, timeoutS: number): Promise<void>;
  /** As the container itself says; the list can be wrong. */
  isRunning(id: string): Promise<boolean>;
  exit(id: string): Promise<ContainerExit>;
  /** The last lines of stdout and stderr. */
  logs(id: string, tail: number): Promise<string>;
  /** Lines as they are written, the earlier ones first; ends with the container, the stream or the signal. */
  followLogs(id: string, signal: AbortSignal): AsyncIterable<string>;
  /** Ends it if it runs. A container that is already gone is no error. */
  remove(id: string): Promise<void>;
  /** Only if it does not run: the engine itself decides, at that moment. One that runs stays; that is no error. */
  removeUnlessRunning(id: string): Promise<void>;
  /** Digest (`sha256:…`) of a local image, undefined when absent. */
  imageId(reference: string): Promise<string | undefined>;
  /** A label of a local image; undefined when it, or the image, is absent. */
  imageLabel(reference: string, label: string): Promise<string | undefined>;
  pull(reference: string, onProgress?: (line: string) => void, login?: RegistryLogin): Promise<void>;
  build(
    context: Buffer,
    options: {
      readonly tag: string;
      readonly args: Readonly<Record<string, string>>;
      readonly labels: Readonly<Record<string, string>>;
      /** Nothing from the cache. */
      readonly fresh?: boolean;
      /** What it starts from is looked up again in its registry. */
      readonly lookUp?: boolean;
      /** For images that the build starts from. */
      readonly logins?: readonly RegistryLogin[];
    },
    onProgress?: (line: string) => void,
  ): Promise<string>;
  /** Gives a local image this name too, and sends it to the registry of it; its digest there, `REPOSITORY@sha256:…`. */
  push(
    id: string,
    reference: string,
    onProgress?: (line: string) => void,
    login?: RegistryLogin,
  ): Promise<string>;
  /** Images that carry our labels. */
  listOwnImages(): Promise<readonly OwnImage[]>;
  /** Never forced: the engine keeps an image that a container uses, and says so. */
  removeImage(id: string): Promise<void>;
  /** With exactly this name. Older engines allow several. */
  networksNamed(name: string): Promise<readonly FoundNetwork[]>;
  /** The id. */
  createNetwork(options: Docker.NetworkCreateOptions): Promise<string>;
  /** Frees the place in a network that the engine keeps for a container of this name which is gone. */
  freeEndpoint(network: string, name: string): Promise<void>;
  /** Containers, running or not, and networks with this label, also those that are not ours. */
  withLabel(label: string): Promise<Labelled>;
  /** All containers that run or are paused, also those that are not ours. */
  running(): Promise<readonly RunningContainer[]>;
  /** Never forced: a network that a container is on stays; that, and one that is gone, is no error. */
  removeNetwork(id: string): Promise<void>;
  /**
   * Runs a container to its end and returns its output; the container is removed, also after the deadline, unless it
   * hangs in the kernel. `isCut`: the beginning of the output was not kept.
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
  /** Ends when the stream or the engine ends; the caller reopens it. */
  events(signal: AbortSignal): AsyncIterable<EngineEvent>;
}
