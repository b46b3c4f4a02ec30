import path from 'node:path';

import type { CredentialSource, Fleet, Mirrors, SecretSource } from '../../fleet/inventory/fleet.ts';
import { expandHome } from '../../fleet/ssh/config/options.ts';
import type { Question } from '../../fleet/ssh/questions.ts';
import type { Target, Transport } from '../../fleet/ssh/transport.ts';
import type { AzureClient } from '../../shared/azure/client.ts';
import type { TokenPermissions } from '../../shared/azure/token-permissions.ts';
import type { Context } from '../../shared/base/context.ts';
import type { Secret } from '../../shared/base/secret.ts';
import { wrap } from '../render/lines.ts';
import type { Prompts } from './question.ts';

/** Access to the organization's server. */
interface AzureAccess {
  readonly organization: string;
  readonly credential: CredentialSource;
  readonly network: NetworkChoice;
  /** Of the token, or of the service principal. */
  readonly secret: Secret;
}

/** The requests to the server, all read-only. */
export type AzureReader = Pick<
  AzureClient,
  'listPools' | 'findProject' | 'parallelJobs' | 'isQueueAuthorized'
> &
  TokenPermissions;

/** The dependencies of setup's questions. */
export interface Wizard {
  readonly context: Context;
  readonly prompts: Prompts;
  /** Absolute path of the ssh_config that replaces the default ones, or `none`. */
  readonly sshConfig?: string;
  /**
   * Opens a transport; a new one for each round of tests, so that no answer is reused. `inventory`: the existing hosts,
   * which may include jump hosts.
   */
  readonly openTransport: (
    ask: ((question: Question) => Promise<Secret>) | undefined,
    inventory: readonly Target[],
  ) => Transport;
  /** Reads a secret once; a prompt is asked once. `again` forgets what was read before. */
  readonly secret: (source: SecretSource, purpose: string, again?: 'again') => Promise<Secret>;
  /** Hides the secrets of an existing inventory from the log and from child processes. */
  readonly know: (fleet: Fleet) => void;
  readonly azure: (access: AzureAccess) => AzureReader;
  /** Returns the transport's notices since the last call: new host keys, ignored options. */
  readonly notices: () => readonly string[];
  /** Prints lines. */
  readonly say: (...lines: string[]) => void;
}

/** Returns the absolute path of a typed path: the inventory may be in another folder. */
export function typedPath({ context }: Pick<Wizard, 'context'>, text: string): string {
  return path.resolve(context.cwd, expandHome(text, context.home));
}

/** Returns the columns for text, one less than the terminal's. */
export function lineWidth({ context }: Pick<Wizard, 'context'>): number {
  return (context.stdout.columns ?? 80) - 1;
}

/** Prints a sentence, wrapped, with continuation lines indented by two. */
export function print(wizard: Pick<Wizard, 'context' | 'say'>, text: string): void {
  wizard.say(...wrap(text, lineWidth(wizard), 0, 2));
}

/** A host in setup and init, before it is in an inventory. */
export interface HostChoice {
  readonly name: string;
  /** Undefined if ssh_config or the name itself is the address. */
  readonly address?: string;
  readonly user?: string;
  readonly port?: number;
  /** Private key for the login, if it is not one of ssh's defaults. */
  readonly identityFile?: string;
  /** The ssh_config of this host only: its absolute path, or `none`. */
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

/** Internet access through a proxy or mirrors. */
export interface NetworkChoice {
  /** For http and https. */
  readonly proxy?: string;
  readonly noProxy?: readonly string[];
  /** A PEM file on this machine. */
  readonly ca?: string;
  readonly mirrors?: Mirrors;
}

/** The answers that an inventory is written from. */
export interface Choices {
  readonly organization: string;
  /** Path or URL of the inventory's schema for editors. */
  readonly schema?: string;
  /** The ssh_config that replaces the default ones: its absolute path, or `none`. */
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
