import { join } from 'node:path';

/**
 * Where this program keeps what it remembers between runs (logs, the last outcome): `azp-fleet` below
 * $XDG_STATE_HOME. As the XDG specification has it, an empty variable counts as unset.
 */
export function stateFolder(env: Readonly<Record<string, string | undefined>>, home: string): string {
  return join(env['XDG_STATE_HOME'] || join(home, '.local/state'), 'azp-fleet');
}
