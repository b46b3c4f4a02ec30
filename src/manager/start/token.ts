import { readFile, stat } from 'node:fs/promises';
import { FleetError } from '../../shared/base/errors.ts';
import type { Logger } from '../../shared/base/log.ts';
import { Secret } from '../../shared/base/secret.ts';

/**
 * Reads the credential from the newest of these files, every time it is asked: what systemd loaded at the start, until
 * the file that it came from is replaced. So a new token is taken up without a restart.
 */
export function tokenReader(paths: readonly string[], log: Logger): () => Promise<Secret> {
  return async () => {
    const files = await Promise.all(paths.map(read));
    const [newest] = files.flat().sort((one, other) => other.changedMs - one.changedMs);
    if (newest !== undefined) {
      const secret = new Secret(newest.text);
      log.redact(secret);
      return secret;
    }
    throw new FleetError({
      code: 'azure.auth',
      what: `there is no credential: ${paths.join(', ')} cannot be read or is empty`,
      next: 'write it with azp-fleet provision, or name it with --token-file',
    });
  };
}

/** The file's content and when it was written (ms); nothing where it cannot be read or is empty. */
async function read(path: string): Promise<readonly { readonly text: string; readonly changedMs: number }[]> {
  try {
    const text = (await readFile(path, 'utf8')).trim();
    return text === '' ? [] : [{ text, changedMs: (await stat(path)).mtimeMs }];
  } catch {
    return [];
  }
}

/** Where the credential may be: what systemd loaded, and the file that it came from. */
export function tokenPaths(
  given: string | undefined,
  credentialsDirectory: string | undefined,
  installed: string,
): readonly string[] {
  if (given !== undefined) return [given];
  return credentialsDirectory === undefined ? [installed] : [`${credentialsDirectory}/token`, installed];
}
