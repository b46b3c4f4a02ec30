import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { usageError } from '../../base/errors.ts';
import type { ConnectionOptions } from '../config/resolve.ts';

export interface OpensshPlaces {
  /** Read instead of the usual files, when given. */
  readonly configFile: string | undefined;
  /** Holds the pinned keys; undefined: nothing is pinned. */
  readonly pinnedFile: string | undefined;
}

const option = (name: string, value: string | number): string[] => ['-o', `${name}=${value}`];

/**
 * The system ssh's arguments for a login: the inventory's values on top of the configuration that ssh reads
 * itself. Only what the inventory or our own defaults say is passed, so that ssh_config keeps its meaning.
 */
export function loginArguments(options: ConnectionOptions, places: OpensshPlaces): string[] {
  const { raw } = options;
  const inventory = (key: string): string | undefined => {
    const value = raw.get(key)?.[0];
    return value?.from === 'inventory' ? value.args[0] : undefined;
  };
  const jump = inventory('proxyjump');
  const flag = (name: string, value: string | undefined): string[] =>
    value === undefined ? [] : [name, value];
  return [
    ...flag('-F', places.configFile),
    ...flag('-p', inventory('port')),
    ...flag('-l', inventory('user')),
    ...flag('-i', inventory('identityfile')),
    ...(jump === undefined ? [] : option('ProxyJump', jump)),
    ...option('ConnectTimeout', Math.ceil(options.connectTimeoutMs / 1000)),
    ...option('ServerAliveInterval', Math.ceil(options.aliveIntervalMs / 1000)),
    ...option('ServerAliveCountMax', options.aliveCountMax),
    ...option('StrictHostKeyChecking', strictness(options)),
    ...(places.pinnedFile === undefined
      ? []
      : [
          ...option('UserKnownHostsFile', places.pinnedFile),
          ...option('GlobalKnownHostsFile', 'none'),
          ...option('HostKeyAlias', 'pinned'),
        ]),
  ];
}

/** The same for commands of ours over a multiplexing socket. */
export function opensshArguments(
  options: ConnectionOptions,
  places: OpensshPlaces,
  socket: string,
): string[] {
  return [
    ...loginArguments(options, places),
    ...option('ControlPath', socket),
    // Commands of ours must not start agents, forwardings or local commands that the configuration asks for.
    ...option('ClearAllForwardings', 'yes'),
    ...option('ForwardAgent', 'no'),
    ...option('PermitLocalCommand', 'no'),
    ...option('RemoteCommand', 'none'),
    ...option('RequestTTY', 'no'),
    ...option('EscapeChar', 'none'),
    ...option('LogLevel', 'ERROR'),
  ];
}

function strictness(options: ConnectionOptions): string {
  return options.pinned.length > 0 || options.hostKeyPolicy === 'strict' ? 'yes' : 'accept-new';
}

/** Pinned keys as a known_hosts file, under the alias that the arguments name. */
export function writePins(options: ConnectionOptions, folder: string): string | undefined {
  if (options.pinned.length === 0) return undefined;
  if (options.pinned.some((pin) => pin.startsWith('SHA256:'))) {
    throw usageError({
      code: 'ssh.pin',
      host: options.name,
      what: 'transport: openssh needs whole public keys under hostKeys, not fingerprints',
      next: `azp-fleet trust --limit ${options.name}   # collects them`,
    });
  }
  const file = join(folder, 'known_hosts');
  writeFileSync(file, options.pinned.map((pin) => `pinned ${pin}\n`).join(''), { mode: 0o600 });
  return file;
}
