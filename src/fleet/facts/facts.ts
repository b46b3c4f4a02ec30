import type { Release } from '../../shared/contract/release.ts';
import type { ManagerStatus } from '../../shared/contract/status.ts';
import type { SetAside } from '../packages/sources.ts';
import type { Vendor } from '../packages/vendors.ts';
import type { PackageRecord } from '../packages/package-record.ts';
import type { LockOwner } from '../ssh/transport.ts';

/** Facts that could not be read: the name of their probe, and why. */
export interface UnknownFact {
  /** `docker-info` */
  readonly fact: string;
  /** `no answer in 8 s` */
  readonly why: string;
}

/**
 * The facts of a host as they were gathered: `reading` and `withoutUnread` give those that may be unknown. Only the facts without
 * which nothing can be said about a host are read directly.
 */
export type GatheredFacts = Pick<
  Facts,
  | 'unknown'
  | 'os'
  | 'arch'
  | 'kernel'
  | 'machineId'
  | 'bootId'
  | 'time'
  | 'uptimeS'
  | 'platform'
  | 'systemd'
  | 'login'
  | 'memoryMiB'
  | 'cpus'
>;

/** The state of a host, read once by one script. For decisions, it comes from `withoutUnread`. */
export interface Facts {
  /** What was not read: the facts of these probes say nothing. */
  readonly unknown: readonly UnknownFact[];
  readonly os: {
    readonly id: string;
    readonly idLike: readonly string[];
    readonly versionId: string;
    readonly codename: string;
    readonly pretty: string;
  };
  /** `uname -m`: x86_64, aarch64, … */
  readonly arch: string;
  readonly kernel: string;
  readonly machineId: string;
  readonly bootId: string;
  /** The host's clock when the facts were read, in ms since the epoch. The host's timestamps are compared with it. */
  readonly time: number | undefined;
  /** Seconds since the machine booted. */
  readonly uptimeS: number | undefined;
  /** A machine whose GPU stack azp-fleet does not install: Jetson, Windows Subsystem for Linux, or DGX OS. */
  readonly platform: 'jetson' | 'wsl' | 'dgx' | undefined;
  /** Major version, undefined without systemd. */
  readonly systemd: number | undefined;
  readonly login: { readonly user: string; readonly uid: number };
  /** GPUs without those that the inventory ignores, and those of virtual machines. */
  readonly gpus: readonly PciGpu[];
  /** Display cards, by the inventory. */
  readonly ignoredGpus: readonly PciGpu[];
  /** GPUs that vfio-pci keeps for virtual machines. */
  readonly passedThrough: readonly PciGpu[];
  /** NVSwitches with their own PCI device. */
  readonly nvswitches: number;
  /**
   * Boards whose switches are managed over InfiniBand devices (HGX B200, B300): the number of these devices, and whether ib_umad is
   * loaded. `unread`: PCI addresses of devices that did not answer in time.
   */
  readonly nvlink5: {
    readonly switches: number;
    readonly umad: boolean;
    readonly unread?: readonly string[];
  };
  /** The running kernel, and the newest installed one if newer: that boots next. */
  readonly kernels: readonly InstalledKernel[];
  /** Missing programs that building a module for the running kernel needs: `make`, `gcc-12`. */
  readonly lacksToBuild: readonly string[];
  readonly driver: {
    /** /sys/module/nvidia/version */
    readonly loaded: string | undefined;
    readonly open: boolean | undefined;
    /** Version of the user-space library package, or of the installed `.run` file. */
    readonly userspace: string | undefined;
    /** nouveau, or its successor nova, is loaded. */
    readonly nouveau: boolean;
    readonly secureBoot: boolean | undefined;
    /** Existing certificates that DKMS may sign with. Read only when Secure Boot is on. */
    readonly keys: readonly {
      readonly path: string;
      /** DKMS's configuration names it. */
      readonly configured: boolean;
      /**
       * Enrolled as a machine owner's key, in the firmware's own list (`db`), or forbidden; `requested` waits for the console at
       * the next boot; `unclear`: another answer of mokutil; `unknown`: no mokutil.
       */
      readonly state: 'enrolled' | 'firmware' | 'blocked' | 'requested' | 'new' | 'unclear' | 'unknown';
    }[];
    /** Installed from a `.run` file, which is never mixed with packages. */
    readonly runfile: boolean;
    /** DKMS builds its modules for other kernels, or only their sources exist; absent: neither. */
    readonly dkms?: 'registered' | 'sources';
    /** The module is loaded and nvidia-smi is missing: the driver was removed since the last boot. */
    readonly wasRemoved: boolean;
    /** With `wasRemoved`: a program or a module of another package uses that module. */
    readonly inUse: boolean;
    /** Its installed services, with systemd's states: `enabled`, `inactive`. */
    readonly services: readonly {
      readonly unit: string;
      readonly file: string;
      readonly active: string;
      /** It runs with `--no-persistence-mode` and keeps no GPU initialised. */
      readonly forgets?: true;
    }[];
    /** The service that shows a driver of NVIDIA's vGPU software, of a guest or a host: `nvidia-gridd.service`. */
    readonly vgpu?: string;
    /** Seats with a desktop or its login screen, where a screen is connected to one of these GPUs. */
    readonly screens: readonly {
      /** `seat0` */
      readonly seat: string;
      /** `DP-1`, `HDMI-A-1` */
      readonly connectors: readonly string[];
      /** Empty: only the login screen. */
      readonly users: readonly string[];
    }[];
  };
  readonly docker: {
    /** Version of the engine that answered on the socket. */
    readonly serverVersion: string | undefined;
    /** dockerd is running. */
    readonly active: boolean;
    /** Its unit starts at boot. */
    readonly enabled: boolean;
    /** The running engine keeps containers while it restarts. */
    readonly liveRestore: boolean;
    readonly swarm: boolean;
    readonly snap: boolean;
    /** podman is installed. */
    readonly podman: boolean;
    /** Raw text of /etc/docker/daemon.json. */
    readonly daemonJson: string | undefined;
    /** References of the agents' images in the running engine. */
    readonly images: readonly string[];
    /** Names of the runtimes that the running engine knows. */
    readonly runtimes: readonly string[];
    readonly cgroupDriver: string | undefined;
    readonly rootDir: string;
    /** Of the running engine: overlay2, devicemapper, … */
    readonly storageDriver: string | undefined;
    /** containerd stores the images, below `containerdRoot`. */
    readonly byContainerd: boolean;
    /** daemon.json or an NVIDIA helper is newer than the running dockerd. */
    readonly restartNeeded: boolean;
  };
  readonly toolkit: {
    /** Version of the package. */
    readonly version: string | undefined;
    /** Installed, but not from a package. */
    readonly unpackaged: boolean;
    /** A CDI specification describes nvidia.com/gpu. The next facts are of those in use: /run before /etc. */
    readonly cdiSpec: boolean;
    /** The driver version of the specification. */
    readonly cdiDriver: string | undefined;
    /** Uses beyond computing that it has libraries for. */
    readonly cdiUses: readonly ('graphics' | 'video')[];
    /** Its MIG instances differ from the present ones. */
    readonly cdiMigDiffers: boolean;
    /** Files in /etc/cdi that also describe GPUs. */
    readonly cdiInEtc: readonly string[];
    /** A specification exists in /run, which has precedence over /etc. */
    readonly cdiInRun: boolean;
    /** The installed toolkit is newer than every such specification. */
    readonly cdiOlder: boolean;
  };
  /** Fully installed packages that a step uses: name → version. */
  readonly packages: Readonly<Record<string, string>>;
  /** Partly installed ones, after an interrupted installation or removal. */
  readonly unfinished: Readonly<Record<string, string>>;
  readonly held: readonly string[];
  /** sha256 of files that azp-fleet manages: path → digest; missing: absent. */
  readonly files: Readonly<Record<string, string>>;
  /**
   * Exact content of short text files among them: path → text. Untrusted: sanitise it before display. Files without a text are
   * compared by digest alone.
   */
  readonly texts: Readonly<Record<string, string>>;
  /** The host's programs trust the site's certificate authority. */
  readonly siteCaTrusted: boolean;
  readonly manager: {
    /** Target of /opt/azp-fleet/current. */
    readonly current: string | undefined;
    readonly unitActive: string | undefined;
    readonly unitEnabled: boolean;
    /** systemd has an older text of the unit in memory than on disk. Unknown is false. */
    readonly reloadNeeded: boolean;
    readonly credentialDigest: string | undefined;
    /** Digest of its registries' passwords; undefined: none. */
    readonly registriesDigest: string | undefined;
    /** Digest of its webhook's address; undefined: none. */
    readonly webhookDigest: string | undefined;
    /** Its installation id, which identifies the owner of its agents together with the machine-id; undefined: none yet. */
    readonly installation: string | undefined;
    /** sha256 of the build context beside the program, like `contextDigest`; undefined: none. */
    readonly context: string | undefined;
    /** sha256 of each uploaded archive of a Dockerfile's folder. */
    readonly folders: readonly string[];
    /** sha256 of each uploaded archive of the agent. */
    readonly archives: readonly string[];
    /** Paths of partial uploads and of a credential that is not in use yet. */
    readonly leftovers: readonly string[];
    readonly status: ManagerStatus | undefined;
    /** Release of the manager that wrote the status, even if the status cannot be read. */
    readonly release: Release | undefined;
  };
  /** Free bytes and file system by folder. */
  readonly disk: Readonly<Record<string, { readonly freeBytes: number; readonly mount: string }>>;
  /** The folder of containerd's images, by its configuration. */
  readonly containerdRoot: string;
  /** Bytes of the largest initramfs; 0: none. */
  readonly initramfsBytes: number;
  /** Files of a bundle on the host, complete or partial: path → bytes. They are not sent again. */
  readonly arrived: Readonly<Record<string, number>>;
  readonly memoryMiB: number;
  readonly cpus: number;
  readonly rebootRequired: boolean;
  /** Orchestrators that use the host as a node: they run there, or start at boot. */
  readonly orchestrators: readonly {
    readonly name: 'Kubernetes' | 'k3s' | 'RKE2' | 'Nomad' | 'Slurm';
    /** Their units: `kubelet.service`. Empty: only their work was found. */
    readonly units: readonly string[];
    readonly running: boolean;
    /** `pod default/train-0`, `job 4711`, `task web (8ba85cef)` */
    readonly work: readonly string[];
  }[];
  /** On such a node: names, with wildcards, of packages that apt's preferences pin to a version. */
  readonly pinned: readonly string[];
  /** Running containers of others, GPU processes outside this host's Docker Engine, logged-in users. */
  readonly others: {
    readonly containers: readonly string[];
    /** Running containers and virtual machines outside this host's Docker Engine: `container 0123456789ab of Podman`. */
    readonly elsewhere: readonly string[];
    readonly gpuProcesses: readonly string[];
    readonly logins: readonly string[];
  };
  /** What azp-fleet installed and other facts do not show. Only `remove` uses it. */
  readonly ours: {
    /** azp-fleet's folders with more than locks and records of changes. */
    readonly folders: readonly string[];
    /** Users that the manager created for slots with `mode: host`. */
    readonly users: readonly string[];
    /** Raw text of daemon.json before azp-fleet's first change; undefined: no backup. */
    readonly daemonJsonBefore: string | undefined;
    /** Files in /etc/cdi that azp-fleet made, and original names of files set aside. */
    readonly cdi: { readonly made: readonly string[]; readonly aside: readonly string[] };
    /** Disabled repositories of others that are for a vendor's packages or were disabled by azp-fleet. */
    readonly sources: readonly DisabledSource[];
    /** The driver that azp-fleet installed from a `.run` file, and whether with graphics. */
    readonly runfile?: { readonly version: string; readonly graphics: boolean };
    /** Undefined: no record. */
    readonly packages: PackageRecord | undefined;
  };
  /** Durable changes found on the host. */
  readonly changes: readonly {
    readonly id: string;
    readonly title: string;
    readonly owner: string;
    readonly state: 'running' | 'done' | 'dead';
    readonly code: number | undefined;
  }[];
  /** The process that holds the package database; undefined: none. */
  readonly packageLock: string | undefined;
  /** The run that holds the host's lock; undefined: none. */
  readonly hostLock: LockOwner | undefined;
}

export interface DisabledSource extends SetAside {
  /** The vendor whose repository azp-fleet uses instead; undefined: not recorded (earlier release, or another user). */
  readonly by: Vendor | undefined;
  /** Vendors whose repositories it contains. */
  readonly names: readonly Vendor[];
  /** A new file with its original name exists. */
  readonly taken: boolean;
}

export interface InstalledKernel {
  /** As `uname -r` prints it: `6.8.0-45-generic`. */
  readonly release: string;
  /** Its headers are installed. */
  readonly headers: boolean;
  /** It has an NVIDIA module. */
  readonly driver: boolean;
}

export interface PciGpu {
  /** `0000:83:00.0` */
  readonly address: string;
  /** Hex without prefix, `2335`. */
  readonly deviceId: string;
  /** Kernel driver bound to it: nvidia, nouveau, vfio-pci, … */
  readonly boundTo: string | undefined;
}
