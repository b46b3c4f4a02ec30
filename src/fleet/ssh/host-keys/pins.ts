import { usageError } from '../../../shared/base/errors.ts';
import type { ConnectionOptions } from '../config/connection-options.ts';

/**
 * Pinned keys as lines of a known_hosts file, filed under `alias`. Throws `ssh.pin` where a fingerprint is among them: ssh
 * compares keys.
 */
export function pinnedLines(
  { name, pinned }: Pick<ConnectionOptions, 'name' | 'pinned'>,
  alias: string,
  by: string,
): string {
  if (pinned.some((pin) => pin.startsWith('SHA256:'))) {
    throw usageError({
      code: 'ssh.pin',
      host: name,
      what: `${by} needs whole public keys under hostKeys, not fingerprints`,
      next: `azp-fleet trust --limit ${name}   # collects them`,
    });
  }
  return pinned.map((pin) => `${alias} ${pin.trim()}\n`).join('');
}
