import type { Release } from '../../shared/contract/release.ts';
import type { ManagerStatus } from '../../shared/contract/status.ts';
import type { SetAside } from '../packages/sources.ts';
import type { Vendor } from '../packages/vendors.ts';
import type { PackageRecord } from '../packages/package-record.ts';
import type { LockOwner } from '../ssh/transport.ts';

/** What a host is, read once by one script. Unknown is undefined, never a guess. */
export interface Facts {
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
  /** Its wall clock when it was read, right or wrong: milliseconds since the epoch. What it dates is compared with it. */
  readonly time: number | undefined;
  /** Seconds since the machine booted. */
  readonly uptimeS: number | undefined;
  /** A machine whose GPU stack is not ours to install: Jetson, Windows' Linux subsystem, or DGX OS. */
  readonly platform: 'jetson' | 'wsl' | 'dgx' | undefined;
  /** Major version, undefined without systemd. */
  readonly systemd: number | undefined;
  readonly login: { readonly user: string; readonly uid: number };
  /** Without those that the inventory ignores. */
  readonly gpus: readonly PciGpu[];
  /** Cards that are there for screens, as the inventory says. */
  readonly ignoredGpus: readonly PciGpu[];
  /** Those with a PCI device of their own. */
  readonly nvswitches: number;
  /**
   * Boards whose switches are managed over InfiniBand devices (HGX B200, B300): how many of these, and ib_umad is loaded.
   * `unread`: PCI addresses of such devices that did not say in time whether they are.
   */
  readonly nvlink5: {
    readonly switches: number;
    readonly umad: boolean;
    readonly unread?: readonly string[];
  };
  /** The running kernel, and the newest one that is installed beside it and newer, if any: that boots next. */
  readonly kernels: readonly InstalledKernel[];
  /** Programs that it takes to build a module for the running kernel, and that are not there: `make`, `gcc-12`. */
  readonly lacksToBuild: readonly string[];
  readonly driver: {
    /** /sys/module/nvidia/version */
    readonly loaded: string | undefined;
    readonly open: boolean | undefined;
    /** Version of the user-space library package, else of what a `.run` file has installed. */
    readonly userspace: string | undefined;
    /** nouveau, or its successor nova, is loaded. */
    readonly nouveau: boolean;
    readonly secureBoot: boolean | undefined;
    /** Certificates that DKMS may sign with and that are there. Read only when Secure Boot is on. */
    readonly keys: readonly {
      readonly path: string;
      /** DKMS's configuration names it. */
      readonly configured: boolean;
      /**
       * Enrolled as a machine owner's key, or in the firmware's own list (`db`), or in a list of what is forbidden; `requested`
       * waits for the console at the next boot; `unclear`: mokutil says something else; `unknown`: there is no mokutil.
       */
      readonly state: 'enrolled' | 'firmware' | 'blocked' | 'requested' | 'new' | 'unclear' | 'unknown';
    }[];
    /** A runfile installation: never mixed with packages. */
    readonly runfile: boolean;
    /** Whether DKMS builds its modules for other kernels, too, or has their sources to do so; absent: neither. */
    readonly dkms?: 'registered' | 'sources';
    /** The module is loaded, and nvidia-smi is not there: the rest of the driver has been taken away since the last boot. */
    readonly wasRemoved: boolean;
    /** Then also: something uses that module, a program or a module that is none of the driver's. */
    readonly inUse: boolean;
    /** Its services that are installed, with systemd's words: `enabled`, `inactive`. */
    readonly services: readonly {
      readonly unit: string;
      readonly file: string;
      readonly active: string;
      /** It keeps no GPU initialised: it is told not to. */
      readonly forgets?: true;
    }[];
  };
  readonly docker: {
    /** Of the engine that answered on the socket. */
    readonly serverVersion: string | undefined;
    /** dockerd runs. With serverVersion undefined it does not answer. */
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
    /** daemon.json or an NVIDIA helper is newer than the running dockerd. */
    readonly restartNeeded: boolean;
  };
  readonly toolkit: {
    /** Of the package. */
    readonly version: string | undefined;
    /** It is there, and came in no package that the system knows. */
    readonly unpackaged: boolean;
    /** Some CDI specification describes nvidia.com/gpu. What follows is of those that win: /run's before /etc's. */
    readonly cdiSpec: boolean;
    /** The driver version that it was written for. */
    readonly cdiDriver: string | undefined;
    /** What else than computing it gives containers the libraries for. */
    readonly cdiUses: readonly ('graphics' | 'video')[];
    /** It describes other MIG instances than there are. */
    readonly cdiMigDiffers: boolean;
    /** Files in /etc/cdi that describe GPUs, too. */
    readonly cdiInEtc: readonly string[];
    /** There is one in /run: those lose against it. */
    readonly cdiInRun: boolean;
    /** The installed toolkit is newer than every such specification. */
    readonly cdiOlder: boolean;
  };
  /** Fully installed packages that some step looks at: name → version. */
  readonly packages: Readonly<Record<string, string>>;
  /** Of such names those that are there in part, because their installation or removal was cut. */
  readonly unfinished: Readonly<Record<string, string>>;
  readonly held: readonly string[];
  /** sha256 of files we manage: path → digest; missing: absent. */
  readonly files: Readonly<Record<string, string>>;
  /**
   * What stands in them, to the letter, as far as it is text and all of it is short: path → text. It is others': clean it
   * before it is shown. What lacks here is judged by its digest alone.
   */
  readonly texts: Readonly<Record<string, string>>;
  /** The certificate authority of the site that lies on the host is among those that its programs trust. */
  readonly siteCaTrusted: boolean;
  readonly manager: {
    /** Target of /opt/azp-fleet/current. */
    readonly current: string | undefined;
    readonly unitActive: string | undefined;
    readonly unitEnabled: boolean;
    /** systemd has an older text of the unit in memory than lies on the disk. Unknown is no. */
    readonly reloadNeeded: boolean;
    readonly credentialDigest: string | undefined;
    /** Of what it knows of registries; undefined: nothing. */
    readonly registriesDigest: string | undefined;
    /** Of the address that it sends messages to; undefined: none. */
    readonly webhookDigest: string | undefined;
    /** What makes it the owner of its agents, with the machine-id; undefined: the next manager will be a new one. */
    readonly installation: string | undefined;
    /** sha256 over the build context beside the program, as `contextDigest` has it; undefined: there is none. */
    readonly context: string | undefined;
    /** sha256 of each archive of a Dockerfile's folder that it has. */
    readonly folders: readonly string[];
    /** sha256 of each archive of the agent that was brought to it. */
    readonly archives: readonly string[];
    /** Paths of what was sent and never put in place: parts of uploads, and the next credential. */
    readonly leftovers: readonly string[];
    readonly status: ManagerStatus | undefined;
    /** Of the manager that wrote the status, also where that cannot be read. */
    readonly release: Release | undefined;
  };
  /** By folder: what is free there, and the file system that it is on. */
  readonly disk: Readonly<Record<string, { readonly freeBytes: number; readonly mount: string }>>;
  /** Of the largest one; 0: there is none. */
  readonly initramfsBytes: number;
  /** Files of a bundle that lie on it, in whole or in part: path → bytes. They are not sent again. */
  readonly arrived: Readonly<Record<string, number>>;
  readonly memoryMiB: number;
  readonly cpus: number;
  readonly rebootRequired: boolean;
  /** Running containers that are not ours, GPU processes outside containers, logged-in users. */
  readonly others: {
    readonly containers: readonly string[];
    readonly gpuProcesses: readonly string[];
    readonly logins: readonly string[];
  };
  /** What we have put there and nothing else tells. Only undoing asks for it. */
  readonly ours: {
    /** Our folders that hold more than locks and the notes of changes. */
    readonly folders: readonly string[];
    /** Users that the manager has made for agents straight on the host. */
    readonly users: readonly string[];
    /** Raw text of daemon.json as it was before we first wrote it; undefined: nothing is kept. */
    readonly daemonJsonBefore: string | undefined;
    /** Files in /etc/cdi: made for us, and, by the names that they had, set aside. */
    readonly cdi: { readonly made: readonly string[]; readonly aside: readonly string[] };
    /** Package sources of others that are switched off, and are for a vendor's repositories or were noted by us. */
    readonly sources: readonly SwitchedOff[];
    /** The driver that we have installed from a `.run` file, and whether with what draws. */
    readonly runfile?: { readonly version: string; readonly graphics: boolean };
    /** Undefined: nothing is noted, by us or by an earlier release. */
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
  /** Who holds the package database, if anybody. */
  readonly packageLock: string | undefined;
  /** Which run works on the host, if any: who holds its lock. */
  readonly hostLock: LockOwner | undefined;
}

export interface SwitchedOff extends SetAside {
  /** For whose source we did that; undefined: nobody noted it, an earlier release of ours or somebody else. */
  readonly by: Vendor | undefined;
  /** Whose repositories it names. */
  readonly names: readonly Vendor[];
  /** There is another file of its name by now. */
  readonly taken: boolean;
}

export interface InstalledKernel {
  /** As `uname -r` has it: `6.8.0-45-generic`. */
  readonly release: string;
  /** What modules are built for it with is there. */
  readonly headers: boolean;
  /** An NVIDIA module for it is there. */
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
