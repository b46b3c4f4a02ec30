import type { Clock } from '../base/machine/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Secret } from '../base/secret.ts';
import type { SecretSource, SshSpec, UploadLimits } from '../inventory/fleet.ts';
import { Prompter, type Answerers } from './ask.ts';
import type { ConfigFiles, ConfigWorld } from './config/outside.ts';
import { type ConnectionOptions, resolveConnection } from './config/resolve.ts';
import { realWorld } from './config/world.ts';
import { Dialer } from './connect/dialer.ts';
import { HostKeyStore } from './host-keys/store.ts';
import { KeyRing } from './connect/keys.ts';

export interface TransportParts {
  readonly home: string;
  readonly user: string;
  /** Also what ssh, ProxyCommand and `Match exec` get: without the fleet's secrets. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  readonly clock: Clock;
  /** Asks the person at the terminal; undefined where there is none. */
  readonly ask: Answerers['question'];
  /** Gives the value behind a reference of the inventory. */
  readonly resolveSecret: (source: SecretSource) => Promise<Secret>;
  /** One line for the person: a new host key, an option that is not honoured. */
  readonly notice: (line: string) => void;
  readonly uploads: UploadLimits;
  /** Default: `~/.ssh/config` and /etc/ssh/ssh_config. */
  readonly configFiles?: ConfigFiles;
  readonly world?: ConfigWorld;
}

/** What connecting needs, shared by all connections of a run. */
export interface ConnectionTools {
  readonly prompter: Prompter;
  readonly dialer: Dialer;
  readonly hostKeys: HostKeyStore;
  resolve(name: string, spec: SshSpec): ConnectionOptions;
}

export function connectionTools(parts: TransportParts): ConnectionTools {
  const { home, user, env } = parts;
  const files = parts.configFiles ?? { user: `${home}/.ssh/config`, system: '/etc/ssh/ssh_config' };
  const world = parts.world ?? realWorld(home, user, env);
  const prompter = new Prompter({ question: parts.ask, resolve: parts.resolveSecret });
  const hostKeys = new HostKeyStore();
  const resolve = (name: string, spec: SshSpec): ConnectionOptions =>
    resolveConnection(name, spec, files, world, env);
  const keys = new KeyRing(prompter);
  const { log, notice } = parts;
  return {
    prompter,
    hostKeys,
    resolve,
    dialer: new Dialer({ resolve, env, keys, hostKeys, prompter, log, notice }),
  };
}
