import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { changeUnit } from '../../contract/paths.ts';
import type { RunCommand } from '../machine/command.ts';
import type { ReadProcess } from '../machine/process.ts';
import { inhibitors, sessionLogins, sshLogins, type SeenProcess } from './logins.ts';
import type { Use } from './use.ts';

/** Who is at work on this machine beside the agents, and what of ours is going on. */
export type ReadPresence = () => Promise<readonly Use[]>;

export interface PresencePlaces {
  /** `/run/systemd`: logind has its sessions and inhibitors there, a file each. */
  readonly systemd: string;
  readonly proc: string;
  /** A folder for each durable change. */
  readonly changes: string;
}

interface PresenceTools {
  readonly command: RunCommand;
  readonly process: ReadProcess;
}

/** Looked at with more than their names. */
const ofInterest = /^(?:sshd|sshd-session|sshd-auth|dropbear)$/;
const systemctlMs = 10_000;

/** One look at the machine. */
export async function readPresence(places: PresencePlaces, tools: PresenceTools): Promise<readonly Use[]> {
  const sessions = await filesIn(join(places.systemd, 'sessions'));
  // Of a session that is over it has to be seen whether anything of it still runs.
  const all = [...sessions.values()].some((text) => text.includes('STATE=closing'));
  const processes = await processesIn(places.proc, tools.process, all);
  return [
    ...sessionLogins(sessions, processes),
    ...sshLogins(processes),
    ...inhibitors(await filesIn(join(places.systemd, 'inhibit'))),
    ...(await changesGoingOn(places.changes, tools.command)),
  ];
}

/** By name; nothing where there is no such folder. What is no file, as the pipes beside the sessions, is left out. */
async function filesIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  const texts = await Promise.all(
    files.map(async (name) => [name, await readFile(join(folder, name), 'utf8').catch(() => '')] as const),
  );
  return new Map(texts.filter(([, text]) => text !== ''));
}

/** `all`: with user and control groups of all, not only of those by which logins are known. */
async function processesIn(
  proc: string,
  process: ReadProcess,
  all: boolean,
): Promise<readonly SeenProcess[]> {
  const pids = (await readdir(proc)).filter((name) => /^\d+$/.test(name)).map(Number);
  const found: SeenProcess[] = [];
  for (const pid of pids) {
    const stat = await readFile(`${proc}/${pid}/stat`, 'utf8').catch(() => '');
    const end = stat.lastIndexOf(')');
    if (end < 0) continue;
    const comm = stat.slice(stat.indexOf('(') + 1, end);
    const parent = Number(stat.slice(end + 2).split(' ')[1]);
    const more = all || ofInterest.test(comm) ? await process(pid) : undefined;
    found.push({ pid, parent, comm, cgroups: [], ...more });
  }
  return found;
}

/** A change has a `code` once it has ended; one whose unit is dead was lost in a crash or a reboot. */
async function changesGoingOn(folder: string, command: RunCommand): Promise<readonly Use[]> {
  const ids = await readdir(folder).catch(() => []);
  const uses: Use[] = [];
  for (const id of ids) {
    const title = await readFile(join(folder, id, 'title'), 'utf8').catch(() => undefined);
    if (title === undefined || (await isThere(join(folder, id, 'code')))) continue;
    const { output } = await command('systemctl', ['show', '-p', 'SubState', changeUnit(id)], systemctlMs);
    if (/^SubState=(?:dead|failed|exited)$/m.test(output)) continue;
    uses.push({
      key: `change ${id}`,
      kind: 'use',
      what: `"${title.trim()}" of azp-fleet goes on`,
      next: 'run "azp-fleet provision": it follows that to its end',
    });
  }
  return uses;
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
