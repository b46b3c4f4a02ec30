import { writeFileSync } from 'node:fs';

import type { ConnectionOptions } from '../config/connection-options.ts';
import { pinnedLines } from '../host-keys/pins.ts';

/** One option of ssh's configuration. */
export const option = (name: string, value: string | number): string[] => ['-o', `${name}=${value}`];

/**
 * The system ssh's arguments for a login: the inventory's values on top of the configuration that ssh reads
 * itself. Only what the inventory or our own defaults say is passed, so that ssh_config keeps its meaning.
 * Pinned keys are written to `pinnedFile`. `timeoutMs`: for the connection and the server's first word; 0: none.
 */
export function hostArguments(options: ConnectionOptions, pinnedFile: string, timeoutMs: number): string[] {
  return [
    ...options.arguments,
    ...option('ConnectTimeout', Math.ceil(timeoutMs / 1000)),
    ...option('ServerAliveInterval', Math.ceil(options.aliveIntervalMs / 1000)),
    ...option('ServerAliveCountMax', options.aliveCountMax),
    ...option('StrictHostKeyChecking', strictness(options)),
    ...(!writePins(options, pinnedFile)
      ? []
      : [
          ...option('UserKnownHostsFile', pinnedFile),
          ...option('GlobalKnownHostsFile', 'none'),
          ...option('HostKeyAlias', 'pinned'),
          ...option('VerifyHostKeyDNS', 'no'),
          // A connection that stands already was not held to the pin.
          ...option('ControlPath', 'none'),
          // Only where it is set: ssh before 8.5 does not know it.
          ...(options.unsupported.includes('knownhostscommand') ? option('KnownHostsCommand', 'none') : []),
        ]),
  ];
}

/** Connections of ours must not start agents, forwardings or local commands that the configuration asks for. */
export const nothingElse: readonly string[] = [
  ...option('ClearAllForwardings', 'yes'),
  ...option('ForwardAgent', 'no'),
  ...option('PermitLocalCommand', 'no'),
  ...option('RemoteCommand', 'none'),
  ...option('RequestTTY', 'no'),
  ...option('EscapeChar', 'none'),
];

function strictness(options: ConnectionOptions): string {
  if (options.pinned.length > 0 || options.hostKeyPolicy === 'strict') return 'yes';
  return options.hostKeyPolicy;
}

/** Pinned keys as a known_hosts file, under the alias that the arguments name. False: none are. */
function writePins(options: ConnectionOptions, file: string): boolean {
  if (options.pinned.length === 0) return false;
  writeFileSync(file, pinnedLines(options, 'pinned', 'transport: openssh'), { mode: 0o600 });
  return true;
}
