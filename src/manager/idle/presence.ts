import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { RunCommand } from '../machine/command.ts';
import { livingChanges } from '../machine/living-changes.ts';
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

async function changesGoingOn(folder: string, command: RunCommand): Promise<readonly Use[]> {
  const changes = await livingChanges(folder, command);
  return changes.map(({ id, title }) => ({
    key: `change ${id}`,
    kind: 'use',
    what: `"${title}" of azp-fleet goes on`,
    next: 'run "azp-fleet provision": it follows that to its end',
  }));
}
