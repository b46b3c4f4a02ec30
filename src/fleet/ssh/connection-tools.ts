import type { Clock } from '../../shared/base/machine/clock.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { Secret } from '../../shared/base/secret.ts';
import type { SecretSource, SshSpec, UploadLimits } from '../inventory/fleet.ts';
import { Prompter, type Answerers } from './ask.ts';
import type { ConnectionOptions } from './config/connection-options.ts';
import { SshResolver } from './config/resolver.ts';
import type { JumpHost } from './config/way.ts';
import { Dialer } from './connect/dialer.ts';
import { HostKeyStore } from './host-keys/store.ts';
import { KeyRing } from './connect/keys.ts';
import type { Target } from './transport.ts';

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
  /** All hosts of the inventory: jump hosts are looked up among them. */
  readonly hosts: readonly Target[];
}

/** What connecting needs, shared by all connections of a run. */
export interface ConnectionTools {
  readonly prompter: Prompter;
  readonly dialer: Dialer;
  readonly hostKeys: HostKeyStore;
  resolve(name: string, spec: SshSpec): Promise<ConnectionOptions>;
  /** The jump hosts before a host, in the order they are passed. */
  wayTo(options: ConnectionOptions): Promise<readonly JumpHost[]>;
  /** Ends the connections to jump hosts, and what still asks for the configuration. */
  close(): void;
}

export function connectionTools(parts: TransportParts): ConnectionTools {
  const { env, log, notice } = parts;
  const resolver = new SshResolver(parts);
  const wayTo = (options: ConnectionOptions): Promise<readonly JumpHost[]> => resolver.wayTo(options);
  const prompter = new Prompter({ question: parts.ask, resolve: parts.resolveSecret });
  const hostKeys = new HostKeyStore();
  const keys = new KeyRing(prompter);
  const dialer = new Dialer({ wayTo, env, keys, hostKeys, prompter, log, notice });
  return {
    prompter,
    hostKeys,
    resolve: (name, spec) => resolver.resolve(name, spec),
    wayTo,
    dialer,
    close() {
      dialer.close();
      resolver.close();
    },
  };
}
