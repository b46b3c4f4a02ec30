/**
 * The inventory after groups, defaults, overrides and variables have been applied.
 * The zod schema in schema/ describes the file; resolve.ts turns the file into these types.
 */

import type { Share } from '../../shared/base/quantities.ts';
import type { Dataset } from '../../shared/contract/config.ts';
import type { IdleConfig } from '../../shared/contract/idle.ts';
import type { Agents, DriverCapabilities, SlotLimits } from '../../shared/contract/slots.ts';

/** A reference to a secret, never the secret itself. */
export type SecretSource =
  | { readonly env: string }
  | { readonly file: string }
  | { readonly cmd: string }
  | { readonly prompt: true };

/** How to authenticate against Azure DevOps. */
export type CredentialSource =
  | { readonly kind: 'pat'; readonly token: SecretSource; readonly expires?: string }
  | {
      readonly kind: 'service-principal';
      readonly clientId: string;
      readonly tenantId: string;
      /** Of the client secret, or of the certificate's file. */
      readonly secret: SecretSource;
      /** Undefined: a client secret. */
      readonly proof?: 'certificate';
      /** URL of the token endpoint, without tenant and trailing slash; undefined: Microsoft's public cloud. */
      readonly authority?: string;
      readonly expires?: string;
    };

/** How the managers log in where they store no secret; the CLI then has its own credential. */
export type HostIdentity =
  | {
      readonly kind: 'service-principal';
      readonly proof: 'federation';
      readonly clientId: string;
      readonly tenantId: string;
      /** Absolute path on each host. */
      readonly tokenFile: string;
      readonly authority?: string;
    }
  | { readonly kind: 'managed-identity'; readonly clientId?: string; readonly arc?: true };

export interface DriverSpec {
  /** False (`driver: none` in the file, or `method: none`) leaves the driver alone. */
  readonly install: boolean;
  /** e.g. `580`. */
  readonly branch: string;
  /** Exact version, e.g. `580.95.05`; undefined: the newest of the branch that the pinning package allows. */
  readonly version?: string;
  /** The inventory does not set the branch: an installed newer one is accepted. */
  readonly orNewer?: true;
  readonly flavor: 'auto' | 'open' | 'proprietary';
  /** Digest of the `.run` file of that version, if the inventory sets it. */
  readonly sha256?: string;
  /** NVIDIA's package repository, the distribution's packages, or NVIDIA's `.run` file. */
  readonly method: 'repo' | 'distro' | 'runfile';
}

export interface VersionSpec {
  /** Upstream's, without packaging suffix, e.g. `29.7.2`, `1.20.0`. */
  readonly version: string;
  /** The inventory does not set the version: an installed newer one is accepted. */
  readonly orNewer?: true;
  /** `none` in the file: the installed version is checked, but never changed. */
  readonly left?: true;
}

/** Mirrors in a closed network. Each value replaces the vendor's base URL. */
export interface Mirrors {
  /** Base of `…/compute/cuda/repos`. */
  readonly nvidiaDriver?: string;
  /** Base of `…/Linux-{x86_64,aarch64}/VERSION/FILE` of NVIDIA's `.run` files. */
  readonly nvidiaRunfile?: string;
  /** Base of `…/linux/{debian,ubuntu,rhel}` of Docker. */
  readonly docker?: string;
  /** Base of `…/libnvidia-container`. */
  readonly toolkit?: string;
  /** Base of EPEL's repositories: `BASE/9/Everything/x86_64`. */
  readonly epel?: string;
  /** Base of the agent's downloads: `BASE/agent/VERSION/FILE`. */
  readonly agent?: string;
  /** Base of Ubuntu's and Debian's archives during the build of the agent image: `BASE/ubuntu`, `BASE/debian`, … */
  readonly apt?: string;
  /** Registry prefix instead of `docker.io/`, for the CUDA bases and for images without a registry. */
  readonly images?: string;
  /** Registry of npm's packages, for the CLI. */
  readonly npm?: string;
}

/** A login to a registry. */
export interface RegistrySource {
  readonly user: string;
  readonly secret: SecretSource;
}

/** A webhook that receives the events of a host. */
export interface WebhookSpec {
  readonly url: SecretSource;
  /** Reports an agent that is offline longer than this. */
  readonly offlineS: number;
  /** Reports a job that waits longer than this. */
  readonly queueWaitS: number;
}

export interface Proxy {
  readonly http?: string;
  readonly https?: string;
  readonly noProxy: readonly string[];
  /** A PEM file on the admin's machine, trusted by the CLI, the manager and the agents. */
  readonly ca?: string;
}

export interface SshSpec {
  /** As in the inventory; undefined: ssh_config resolves the host's name. */
  readonly address?: string;
  /** Absolute path of the ssh_config to read instead of the default ones; `none`: reads none. */
  readonly sshConfig?: string;
  readonly port?: number;
  readonly user?: string;
  readonly identityFile?: string;
  /** `user@host:port,user@host:port` as in ProxyJump. */
  readonly jump?: string;
  readonly transport: 'builtin' | 'openssh';
  /** Public keys (`ssh-ed25519 AAAA…`) or SHA256 fingerprints; if set, no other key is accepted. */
  readonly hostKeys: readonly string[];
  readonly hostKeyPolicy: 'accept-new' | 'strict';
  readonly sudoPassword?: SecretSource;
  readonly loginPassword?: SecretSource;
}

/** Limits of all uploads of a run together. */
export interface UploadLimits {
  /** Bytes per second; undefined: no limit. */
  readonly bandwidth?: number;
  /** Uploads at the same time. */
  readonly parallel: number;
}

/** How many hosts one run may make unavailable at a time, and how many may fail. */
export interface WaveLimits {
  /** Share of the hosts of each pool. */
  readonly maxUnavailable: Share;
  /** Share of the hosts to change: after more failures the run starts no more hosts. */
  readonly maxFailures: Share;
}

/** A folder whose Dockerfile is built on top of the agent image. */
export interface DockerfileSpec {
  /** Absolute path on the admin's machine. */
  readonly folder: string;
  /** Host that builds the image for all; undefined: each host builds its own. */
  readonly builder?: string;
  /** Repository, without a tag, that the builder pushes to. Set if `builder` is. */
  readonly push?: string;
}

/** One host, with groups and defaults applied. */
export interface HostSpec {
  readonly name: string;
  readonly groups: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly ssh: SshSpec;
  readonly pool: string;
  readonly agents: Agents;
  /** Agents may share GPUs. */
  readonly share: boolean;
  /** Expected GPUs; undefined: as many as PCI shows. */
  readonly gpus?: number;
  /** Display cards, by PCI address or by device id: `0000:03:00.0`, `10de:128b`. */
  readonly ignoredGpus?: readonly string[];
  /** `{host}` and `{slot}` are filled in. Default `{host}-{slot}`. */
  readonly agentName: string;
  readonly limits: SlotLimits;
  /** For slots that the inventory does not list. */
  readonly driverCapabilities: DriverCapabilities;
  readonly driver: DriverSpec;
  readonly docker: VersionSpec;
  readonly toolkit: VersionSpec;
  /** Azure Pipelines agent: version and, per architecture, the sha256 of its tarball. */
  readonly agent: {
    readonly version: string;
    readonly sha256: Readonly<Record<'x64' | 'arm64', string | undefined>>;
  };
  /** A registry image; undefined: the host builds the image. */
  readonly image?: string;
  /** A team's additions to the built image. */
  readonly dockerfile?: DockerfileSpec;
  /** CUDA base instead of the chosen one, e.g. `nvidia/cuda:12.8.2-base-ubuntu24.04`. */
  readonly baseImage?: string;
  readonly datasets: readonly Dataset[];
  readonly jobs: { readonly sudo: boolean; readonly docker: boolean };
  readonly fence: 'best-effort' | 'required';
  readonly connectivityCheck: 'on' | 'off';
  readonly registration: 'rest' | 'config';
  readonly webhook?: WebhookSpec;
  /** How to stop an idle host; undefined: never. */
  readonly idle?: IdleConfig;
  /** User capabilities published for demands. */
  readonly capabilities: Readonly<Record<string, string>>;
}

export interface Fleet {
  /** Absolute path of the inventory file. */
  readonly file: string;
  /** Normalised: no trailing slash, no project. */
  readonly organization: string;
  /** Of the CLI; and of the managers, unless they have an identity of their own. */
  readonly credential: CredentialSource;
  readonly identity?: HostIdentity;
  readonly projects: readonly string[];
  readonly hosts: readonly HostSpec[];
  readonly mirrors: Mirrors;
  /** By host and port, as in image names. */
  readonly registries: Readonly<Record<string, RegistrySource>>;
  readonly proxy: Proxy;
  readonly uploads: UploadLimits;
  readonly waves: WaveLimits;
}
