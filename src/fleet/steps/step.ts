import type { HostRoot } from '../../shared/base/host-root.ts';
import type { CredentialSource, HostSpec, Mirrors, Proxy } from '../inventory/fleet.ts';
import type { Facts } from '../facts/facts.ts';
import type { Artifact, Change, Refusal, Shape, StepName } from './change.ts';
import type { Included } from './bundle/content.ts';

/** A team's folder, ready to be sent. */
export interface BuildFolder {
  /** Of the folder; part of the image's tag. */
  readonly name: string;
  /** How many. */
  readonly files: number;
  /** The archive of its files. */
  readonly artifact: Extract<Artifact, { kind: 'file' }>;
}

/** What is wanted on one host: its inventory entry and what the CLI brings along. */
export interface Desired {
  readonly host: HostSpec;
  readonly organization: string;
  readonly credential: CredentialSource;
  /** sha256 of the credential with the host's machine-id as salt is compared; undefined: leave the file alone. */
  readonly credentialDigest: ((machineId: string) => string) | undefined;
  readonly registries: {
    /** In the inventory. */
    readonly names: readonly string[];
    /** sha256 of what is to be on the host, salted as the credential's; undefined: it was not read. */
    readonly digest: ((machineId: string) => string) | undefined;
  };
  /** Of the address in the same way; undefined: it was not read, or there is none. */
  readonly webhookDigest: ((machineId: string) => string) | undefined;
  /** The host that builds this one's image, where the inventory names one. */
  readonly builder: HostSpec | undefined;
  readonly mirrors: Mirrors;
  readonly proxy: Proxy & { readonly caPem?: string };
  /** The Node runtime for this architecture and the manager bundle of this CLI. */
  readonly artifacts: {
    /** Undefined where no runtime exists for this `uname -m`. */
    runtime(arch: string): Artifact | undefined;
    readonly manager: Artifact;
    readonly context: readonly { readonly path: string; readonly artifact: Artifact }[];
    /** By the folder's path in the inventory. */
    readonly folders: ReadonlyMap<string, BuildFolder>;
    /** Text of units/azp-fleet-manager.service. */
    readonly unit: string;
    readonly nodeVersion: string;
  };
  /** In the place of the network; absent: what is missing comes from there. */
  readonly included?: Included;
  readonly version: string;
  readonly root: HostRoot;
}

export type Planned = Change | Shape;

/** One step: looks at facts, yields what is missing. Pure. Nothing missing: yields nothing. */
export interface Step {
  readonly name: StepName;
  plan(facts: Facts, desired: Desired): Iterable<Planned | Refusal>;
}
