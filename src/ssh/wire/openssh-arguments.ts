import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { usageError } from '../../base/errors.ts';
import type { ConnectionOptions } from '../config/connection-options.ts';

const option = (name: string, value: string | number): string[] => ['-o', `${name}=${value}`];

/**
 * The system ssh's arguments for a login: the inventory's values on top of the configuration that ssh reads
 * itself. Only what the inventory or our own defaults say is passed, so that ssh_config keeps its meaning.
 * `pinnedFile` holds the pinned keys; undefined: nothing is pinned.
 */
export function loginArguments(options: ConnectionOptions, pinnedFile: string | undefined): string[] {
  return [
    ...options.arguments,
    ...option('ConnectTimeout', Math.ceil(options.connectTimeoutMs / 1000)),
    ...option('ServerAliveInterval', Math.ceil(options.aliveIntervalMs / 1000)),
    ...option('ServerAliveCountMax', options.aliveCountMax),
    ...option('StrictHostKeyChecking', strictness(options)),
    ...(pinnedFile === undefined
      ? []
      : [
          ...option('UserKnownHostsFile', pinnedFile),
          ...option('GlobalKnownHostsFile', 'none'),
          ...option('HostKeyAlias', 'pinned'),
        ]),
  ];
}

/** The same for commands of ours over a multiplexing socket. */
export function opensshArguments(
  options: ConnectionOptions,
  pinnedFile: string | undefined,
  socket: string,
): string[] {
  return [
    ...loginArguments(options, pinnedFile),
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
  if (options.pinned.length > 0 || options.hostKeyPolicy === 'strict') return 'yes';
  return options.hostKeyPolicy;
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
