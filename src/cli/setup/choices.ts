import type { CredentialSource, Mirrors, SecretSource } from '../../fleet/inventory/fleet.ts';

/** A host as setup and init know it before there is an inventory. */
export interface HostChoice {
  readonly name: string;
  /** Left out when ssh_config or the name itself says where the host is. */
  readonly address?: string;
  readonly user?: string;
  readonly port?: number;
  /** Private key to log in with, where ssh does not find one by itself. */
  readonly identityFile?: string;
  /** The ssh_config that this host alone is reached by: its absolute path, or `none`. */
  readonly sshConfig?: string;
  /** Counted on the PCI bus. */
  readonly gpus?: number;
  readonly sudoPassword?: SecretSource;
}

export interface DatasetChoice {
  readonly name: string;
  readonly host: string;
  readonly container: string;
  readonly requireMount: boolean;
}

/** How a network is left whose machines do not reach the vendors directly. */
export interface NetworkChoice {
  /** For http and https alike. */
  readonly proxy?: string;
  readonly noProxy?: readonly string[];
  /** A PEM file on this machine. */
  readonly ca?: string;
  readonly mirrors?: Mirrors;
}

/** The answers that an inventory is written from. */
export interface Choices {
  readonly organization: string;
  /** Where editors find the inventory's schema: a path or URL; undefined: nowhere. */
  readonly schema?: string;
  /** The ssh_config that is read instead of the usual ones: its absolute path, or `none`. */
  readonly sshConfig?: string;
  readonly credential: CredentialSource;
  readonly projects: readonly string[];
  readonly pool: string;
  readonly agents: 'one-per-gpu' | number;
  readonly share: boolean;
  readonly hosts: readonly HostChoice[];
  readonly datasets: readonly DatasetChoice[];
  readonly network?: NetworkChoice;
}
