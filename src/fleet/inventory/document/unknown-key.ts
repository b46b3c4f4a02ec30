import type * as z from 'zod';

import type { Problem } from '../../../shared/base/errors.ts';
import { nearest } from '../../../shared/base/nearest.ts';
import type { Path } from './path.ts';
import { keysAt, placesOfKey } from './keys.ts';

/** What other tools call it, and people who come from them. */
const alsoCalled: Readonly<Record<string, readonly string[]>> = {
  address: ['host', 'hostname', 'ip', 'fqdn', 'ansible_host', 'ansible_ssh_host'],
  user: ['username', 'login', 'remote_user', 'ansible_user', 'ansible_ssh_user'],
  port: ['ssh_port', 'ansible_port', 'ansible_ssh_port'],
  identityFile: ['key', 'key_file', 'private_key', 'ssh_key', 'ansible_ssh_private_key_file'],
  jump: ['bastion', 'gateway', 'proxy_jump', 'proxyjump'],
  sudoPassword: ['become_password', 'ansible_become_password', 'sudo_password'],
  loginPassword: ['password', 'ssh_password', 'ansible_password'],
  gpus: ['gpu_count', 'num_gpus'],
  organization: ['org', 'url'],
  token: ['pat'],
  hosts: ['machines', 'servers', 'nodes', 'all'],
  vars: ['defaults', 'settings'],
};

/** So many are listed; of more the first, which are needed most. */
const listed = 8;
const needed = 6;

/** What could have been meant by a key that is not known at a path: another one there, the same elsewhere, or those there. */
export function knownKeys(
  key: string,
  path: Path,
  schema: z.core.$ZodType,
): Pick<Problem, 'expected' | 'next'> {
  const known = keysAt(schema, path);
  const other = known.find((each) => alsoCalled[each]?.includes(key.toLowerCase()) === true);
  const near = nearest(key, known) ?? other;
  if (near !== undefined) return { next: `did you mean "${near}"?` };
  const places = placesOfKey(schema, key);
  if (places.length > 0) return { next: `move it: ${key} can stand ${placesText(places)}` };
  if (known.length <= listed)
    return { expected: `one of ${known.join(', ')}`, next: 'use one of these, or take it out' };
  return {
    expected: `a key such as ${known.slice(0, needed).join(', ')}`,
    next: 'see docs/inventory.md for all of them, or take it out',
  };
}

function placesText(places: readonly string[]): string {
  if (places[0] === '') return 'at the top of the file';
  const first = places.slice(0, 3);
  return `under ${[first.slice(0, -1).join(', '), first.at(-1)].filter(Boolean).join(' or ')}`;
}
