import path from 'node:path';

import type { CredentialSource, Fleet, Mirrors, SecretSource } from '../../fleet/inventory/fleet.ts';
import { expandHome } from '../../fleet/ssh/config/options.ts';
import type { Question } from '../../fleet/ssh/questions.ts';
import type { Target, Transport } from '../../fleet/ssh/transport.ts';
import type { AzureClient } from '../../shared/azure/client.ts';
import type { FirstLook } from '../../shared/azure/first-look.ts';
import type { Context } from '../../shared/base/context.ts';
import type { Secret } from '../../shared/base/secret.ts';
import { wrap } from '../render/lines.ts';
import type { Prompts } from './question.ts';

/** How the organization's server is reached. */
interface AzureWay {
  readonly organization: string;
  readonly credential: CredentialSource;
  readonly network: NetworkChoice;
  /** Of the token, or of the service principal. */
  readonly secret: Secret;
}

/** What the server is asked; nothing is changed there. */
export type AzureQuestions = Pick<
  AzureClient,
  'listPools' | 'findProject' | 'parallelJobs' | 'isQueueAuthorized'
> &
  FirstLook;

/** What the questions of setup need of the outside. */
export interface Wizard {
  readonly context: Context;
  readonly prompts: Prompts;
  /** Absolute path of the ssh_config that is read instead of the usual ones, or `none`. */
  readonly sshConfig?: string;
  /**
   * A new one for each round of tests, so that no answer of the round before is remembered. `inventory`: the hosts that
   * are there already; jump hosts may be among them.
   */
  readonly openTransport: (
    ask: ((question: Question) => Promise<Secret>) | undefined,
    inventory: readonly Target[],
  ) => Transport;
  /** Reads a secret once; a prompt is asked once. `again` forgets what was read before. */
  readonly secret: (source: SecretSource, purpose: string, again?: 'again') => Promise<Secret>;
  /** Hides the secrets of an inventory that is there already: from the log, and from programs that are started. */
  readonly know: (fleet: Fleet) => void;
  readonly azure: (way: AzureWay) => AzureQuestions;
  /** What the transport had to tell since the last call: new host keys, options that are not honoured. */
  readonly notices: () => readonly string[];
  /** Prints lines for the reader. */
  readonly say: (...lines: string[]) => void;
}

/** A path as it was typed here, whole: the inventory may lie in another folder. */
export function typedPath({ context }: Pick<Wizard, 'context'>, text: string): string {
  return path.resolve(context.cwd, expandHome(text, context.home));
}

/** Columns for text, one kept free at the edge. */
export function lineWidth({ context }: Pick<Wizard, 'context'>): number {
  return (context.stdout.columns ?? 80) - 1;
}

/** Says a sentence in lines that fit, those after the first indented by two. */
export function tell(wizard: Pick<Wizard, 'context' | 'say'>, text: string): void {
  wizard.say(...wrap(text, lineWidth(wizard), 0, 2));
}

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
