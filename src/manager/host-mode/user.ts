import { sha256 } from '../../shared/base/digest.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { agentUsers } from '../../shared/contract/paths.ts';
import type { RunCommand } from '../machine/command.ts';

export interface HostUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

const commandMs = 60_000;

/**
 * Below those that systemd gives away itself (61184), above those of people's accounts in use, and none that images use, as
 * they do those from 999 downwards: all that lives under such a number is the agent's.
 */
const { first, last } = agentUsers.ids;
const ids = ['UID', 'GID'].flatMap((kind) => [`SYS_${kind}_MIN=${first}`, `SYS_${kind}_MAX=${last}`]);

/** The slot's name in the names of its unit and its folder, which no two slots share. */
export function slotFile(slot: string): string {
  const name = slot.replaceAll(/[^\w.-]|^\./g, '_');
  return name === slot ? name : `${name}-${mark(slot)}`;
}

/** Login names have at most 32 characters; no two slots share one, since its owner reads the agent's key. */
export function userName(slot: string): string {
  const whole = `${agentUsers.prefix}${slot}`;
  const name = whole
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]/g, '_')
    .slice(0, 32);
  return name === whole ? name : `${name.slice(0, 25)}-${mark(slot)}`;
}

/** Tells slots apart whose names are the same once they have been changed or cut. */
function mark(slot: string): string {
  return sha256(slot).slice(0, 6);
}

/** The slot's own user, made when there is none: by systemd, since this process may not write below /etc. */
export async function hostUser(command: RunCommand, slot: string): Promise<HostUser> {
  const name = userName(slot);
  const known = await find(command, name);
  if (known !== undefined) return known;
  const add = [
    'useradd',
    '--system',
    '--user-group',
    '--no-create-home',
    ...ids.flatMap((id) => ['-K', id]),
    '--shell',
    '/usr/sbin/nologin',
    name,
  ];
  const { output } = await command('systemd-run', ['--wait', '--pipe', '--quiet', ...add], commandMs);
  const made = await find(command, name);
  if (made !== undefined) return made;
  throw new FleetError({
    code: 'host-mode.no-user',
    what: `the user ${name} for agents on the host cannot be made`,
    seen: output.trim(),
    next: `make it by hand: useradd --system --user-group --no-create-home ${name}`,
  });
}

async function find(command: RunCommand, name: string): Promise<HostUser | undefined> {
  const { code, output } = await command('getent', ['passwd', name], commandMs);
  const [, , uid, gid] = output.trim().split(':');
  return code === 0 && uid !== undefined && gid !== undefined
    ? { name, uid: Number(uid), gid: Number(gid) }
    : undefined;
}
