/**
 * What the inventory means once groups, defaults, overrides and variables have been applied.
 * The zod schema in schema/ describes the file; resolve.ts turns the file into these types.
 */

import type { Share } from '../../shared/base/quantities.ts';
import type { Dataset } from '../../shared/contract/config.ts';
import type { IdleConfig } from '../../shared/contract/idle.ts';
import type { Agents, DriverCapabilities, SlotLimits } from '../../shared/contract/slots.ts';

/** Where a secret comes from. Never the secret itself. */
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
      readonly secret: SecretSource;
      /** Of the token endpoint, without the tenant and a trailing slash; undefined: Microsoft's public cloud. */
      readonly authority?: string;
      readonly expires?: string;
    };

export interface DriverSpec {
  /** False (`driver: none` in the file, or `method: none`) leaves the driver alone. */
  readonly install: boolean;
  /** e.g. `580`. */
  readonly branch: string;
  /** Exact version, e.g. `580.95.05`; without it the newest of the branch that the pinning package gives. */
  readonly version?: string;
  /** Nobody asked for this branch: a newer one that is there does as well. */
  readonly orNewer?: true;
  readonly flavor: 'auto' | 'open' | 'proprietary';
  /** Of the `.run` file of that version, where the inventory has it. */
  readonly sha256?: string;
  /** NVIDIA's package source, the distribution's own, or NVIDIA's `.run` file. */
  readonly method: 'repo' | 'distro' | 'runfile';
}

export interface VersionSpec {
  /** Upstream's, without packaging suffix, e.g. `29.7.2`, `1.20.0`. */
  readonly version: string;
  /** Nobody asked for it: a newer one that is there does as well. */
  readonly orNewer?: true;
  /** `none` in the file: what is there is its owner's, and only looked at. */
  readonly left?: true;
}

/** A closed network's copies. Each value replaces the vendor's base URL. */
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
  /** Base of Ubuntu's and Debian's archives while the agent image is built: `BASE/ubuntu`, `BASE/debian`, … */
  readonly apt?: string;
  /** Registry prefix that replaces `docker.io/`: of the CUDA bases, and of images that name no registry. */
  readonly images?: string;
  /** Registry of npm's packages, for the CLI. */
  readonly npm?: string;
}

/** Who we are to a registry that asks. */
export interface RegistrySource {
  readonly user: string;
  readonly secret: SecretSource;
}

/** Who is told of what happens on a host. */
export interface WebhookSpec {
  readonly url: SecretSource;
  /** An agent is away longer than this. */
  readonly offlineS: number;
  /** A job has waited longer than this. */
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
  /** What the user wrote; without it the inventory name is looked up in ssh_config. */
  readonly address?: string;
  /** Absolute path of the ssh_config to read instead of the usual ones; `none`: none is read. */
  readonly sshConfig?: string;
  readonly port?: number;
  readonly user?: string;
  readonly identityFile?: string;
  /** `user@host:port,user@host:port` as in ProxyJump. */
  readonly jump?: string;
  readonly transport: 'builtin' | 'openssh';
  /** Public keys (`ssh-ed25519 AAAA…`) or SHA256 fingerprints; given, nothing else is accepted. */
  readonly hostKeys: readonly string[];
  readonly hostKeyPolicy: 'accept-new' | 'strict';
  readonly sudoPassword?: SecretSource;
  readonly loginPassword?: SecretSource;
}

/** What all uploads of a run may take together. */
export interface UploadLimits {
  /** Bytes per second; undefined: what the network gives. */
  readonly bandwidth?: number;
  /** Uploads at the same time. */
  readonly parallel: number;
}

/** How much of a fleet one run may take away at a time, and how much of it may go wrong. */
export interface WaveLimits {
  /** Of the hosts of each pool. */
  readonly maxUnavailable: Share;
  /** Of the hosts that the waves change: more failures than this, and nothing more is begun. */
  readonly maxFailures: Share;
}

/** A folder whose Dockerfile is built on top of the agent image. */
export interface DockerfileSpec {
  /** Absolute path on the admin's machine. */
  readonly folder: string;
  /** Name of the host that builds it for all; undefined: each host builds it for itself. */
  readonly builder?: string;
  /** Where that host pushes it: a repository without a tag. Given together with it. */
  readonly push?: string;
}

/** One host with everything that applies to it. */
export interface HostSpec {
  readonly name: string;
  readonly groups: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly ssh: SshSpec;
  readonly pool: string;
  readonly agents: Agents;
  /** Agents may share GPUs. */
  readonly share: boolean;
  /** How many GPUs the host should have; undefined: as many as PCI shows. */
  readonly gpus?: number;
  /** Cards for screens, by PCI address or by kind: `0000:03:00.0`, `10de:128b`. */
  readonly ignoredGpus?: readonly string[];
  /** `{host}` and `{slot}` are filled in. Default `{host}-{slot}`. */
  readonly agentName: string;
  readonly limits: SlotLimits;
  /** Of slots that are not written out. */
  readonly driverCapabilities: DriverCapabilities;
  readonly driver: DriverSpec;
  readonly docker: VersionSpec;
  readonly toolkit: VersionSpec;
  /** Azure Pipelines agent: version and, per architecture, the sha256 of its tarball. */
  readonly agent: {
    readonly version: string;
    readonly sha256: Readonly<Record<'x64' | 'arm64', string | undefined>>;
  };
  /** A registry image; without it the image is built on the host. */
  readonly image?: string;
  /** What a team adds to the image that is built. */
  readonly dockerfile?: DockerfileSpec;
  /** Overrides the CUDA base that would be chosen, e.g. `nvidia/cuda:12.8.2-base-ubuntu24.04`. */
  readonly baseImage?: string;
  readonly datasets: readonly Dataset[];
  readonly jobs: { readonly sudo: boolean; readonly docker: boolean };
  readonly fence: 'best-effort' | 'required';
  readonly registration: 'rest' | 'config';
  readonly webhook?: WebhookSpec;
  /** What ends the machine when nobody uses it; absent: nothing does. */
  readonly idle?: IdleConfig;
  /** User capabilities published for demands. */
  readonly capabilities: Readonly<Record<string, string>>;
}

export interface Fleet {
  /** Absolute path of the inventory file. */
  readonly file: string;
  /** Normalised: no trailing slash, no project. */
  readonly organization: string;
  readonly credential: CredentialSource;
  readonly projects: readonly string[];
  readonly hosts: readonly HostSpec[];
  readonly mirrors: Mirrors;
  /** By host and port, as images name the registry. */
  readonly registries: Readonly<Record<string, RegistrySource>>;
  readonly proxy: Proxy;
  readonly uploads: UploadLimits;
  readonly waves: WaveLimits;
}
