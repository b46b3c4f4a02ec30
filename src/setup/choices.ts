import type { SecretSource } from '../inventory/fleet.ts';

/** A host as setup and init know it before there is an inventory. */
export interface HostChoice {
  readonly name: string;
  /** Left out when ssh_config or the name itself says where the host is. */
  readonly address?: string;
  readonly user?: string;
  readonly port?: number;
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

/** The answers that an inventory is written from. */
export interface Choices {
  readonly organization: string;
  /** The ssh_config that is read instead of the usual ones: its absolute path, or `none`. */
  readonly sshConfig?: string;
  readonly token: SecretSource;
  readonly expires?: string;
  readonly projects: readonly string[];
  readonly pool: string;
  readonly agents: 'one-per-gpu' | number;
  readonly share: boolean;
  readonly hosts: readonly HostChoice[];
  readonly datasets: readonly DatasetChoice[];
}
