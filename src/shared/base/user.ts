import { userInfo } from 'node:os';

/** The user of this process. */
interface CurrentUser {
  readonly username: string;
  readonly homedir: string;
}

/**
 * Returns the user of this process from passwd. A uid without an entry, as in many containers, has the name and the home
 * folder of the environment, else its number and `/`.
 */
export function currentUser(
  env: Readonly<Record<string, string | undefined>>,
  read: () => CurrentUser = userInfo,
): CurrentUser {
  try {
    return read();
  } catch {
    return {
      username: env['USER'] || env['LOGNAME'] || String(process.getuid?.()),
      homedir: env['HOME'] || '/',
    };
  }
}
