import { setTimeout as sleep } from 'node:timers/promises';

import { NodeSSH } from 'node-ssh';

import { algorithmsFor } from './connect/algorithms.ts';
import type { ConnectionOptions } from './config/options.ts';
import { connectionTools, type ConnectionTools, type TransportParts } from './create-transport.ts';
import { connectFailure, interrupted, ofHost } from './failures.ts';
import { filedName, type HostKey, hostKeyOf } from './connect/host-keys.ts';
import { checkHostKey, type HostKeyVerdict } from './connect/known-hosts.ts';
import type { Target } from './transport.ts';

/** Reads host keys without a login, except on jump hosts. */
export interface KeyScanner {
  /** Returns the current key of the host, and its state in known_hosts. */
  scan(
    target: Target,
    signal?: AbortSignal,
  ): Promise<{ readonly key: HostKey; readonly known: HostKeyVerdict['kind'] }>;
  close(): void;
}

export function createKeyScanner(parts: TransportParts): KeyScanner {
  const tools = connectionTools(parts);
  return {
    async scan({ name, ssh }, signal) {
      // Pinned keys must not limit the keys that the host may show.
      const options = await tools.resolve(name, { ...ssh, hostKeys: [] });
      const key = await shownKey(options, tools, signal).catch((error: unknown) => {
        throw ofHost(name, error);
      });
      const lines = await tools.hostKeys.lines(options);
      return { key, known: checkHostKey(lines, filedName(options), key).kind };
    },
    close: () => tools.close(),
  };
}

/** Runs the key exchange until the host sends its key. */
async function shownKey(
  options: ConnectionOptions,
  { dialer, hostKeys }: ConnectionTools,
  signal: AbortSignal | undefined,
): Promise<HostKey> {
  let key: HostKey | undefined;
  const lines = await hostKeys.lines(options);
  const stream = await dialer.stream(options, signal);
  const ssh = new NodeSSH();
  const late = new AbortController();
  try {
    const exchange = ssh.connect({
      sock: stream,
      username: options.user,
      algorithms: algorithmsFor(options, lines),
      readyTimeout: 0,
      hostVerifier: (blob: Buffer) => {
        key = hostKeyOf(blob);
        return false;
      },
    });
    ssh.connection?.on('error', () => undefined);
    const ends = AbortSignal.any([late.signal, ...(signal === undefined ? [] : [signal])]);
    const timeout = sleep(options.connectTimeoutMs || 60_000, undefined, { signal: ends }).then(() => {
      throw Object.assign(new Error('no key was shown'), { code: 'ETIMEDOUT' });
    });
    timeout.catch(() => undefined);
    await Promise.race([exchange, timeout]);
  } catch (error) {
    if (signal?.aborted === true) throw interrupted(options.name);
    if (key === undefined) throw connectFailure(options, error);
  } finally {
    late.abort();
    stream.destroy();
  }
  if (key === undefined) throw connectFailure(options, new Error('no key was shown'));
  return key;
}
