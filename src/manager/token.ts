import { readFile } from 'node:fs/promises';
import { FleetError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { Secret } from '../base/secret.ts';

/**
 * Reads the credential from the first of these files that is there, every time it is asked: after a refusal by the
 * server a replaced token is taken up without a restart.
 */
export function tokenReader(paths: readonly string[], log: Logger): () => Promise<Secret> {
  return async () => {
    for (const path of paths) {
      const text = await readFile(path, 'utf8').catch(() => undefined);
      if (text === undefined || text.trim() === '') continue;
      const secret = new Secret(text.trim());
      log.redact(secret);
      return secret;
    }
    throw new FleetError({
      code: 'azure.auth',
      what: `there is no credential: ${paths.join(', ')} cannot be read or is empty`,
      next: 'Write it with azp-fleet provision or azp-fleet token rotate, or name it with --token-file.',
    });
  };
}

/** What systemd loaded comes first; the file it came from has a token that was replaced since the start. */
export function tokenPaths(
  given: string | undefined,
  credentialsDirectory: string | undefined,
  installed: string,
): readonly string[] {
  if (given !== undefined) return [given];
  return credentialsDirectory === undefined ? [installed] : [installed, `${credentialsDirectory}/token`];
}
