import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { minuteOf } from '../../shared/contract/drain.ts';
import type { Use } from './uses.ts';
import type { RunCommand } from '../machine/command.ts';
import { runningChanges } from '../machine/at-work.ts';
import type { ReadProcess } from '../machine/process.ts';

/** One process, as a login is known by it. */
export interface SeenProcess {
  readonly pid: number;
  readonly parent: number;
  readonly comm: string;
  /** Real user id; undefined: it has not been looked at. */
  readonly uid?: number;
  /** As in ProcessFacts. */
  readonly cgroups: readonly string[];
}

/** Sessions of nobody: screens where one could log in, and the managers of users' services. */
const nobodys = /^(?:greeter|lock-screen|manager(?:-early)?)$/;
/** They live as long as a login, and often longer, and do nothing by themselves. */
const helpers =
  /^(?:\(sd-pam\)|systemd|dbus-(?:daemon|broker.*)|ssh-agent|gpg-agent|dirmngr|dconf-service|gvfs.*|pipewire.*|wireplumber|pulseaudio)$/;
const sshServers = /^(?:sshd|sshd-session|sshd-auth|dropbear)$/;
/** Users that are people begin here, on every distribution that we know. */
const firstPerson = 1000;
/** Programs that are named of a login that is over. */
const mostNamed = 3;

/**
 * Who is logged in, of the files in which logind keeps its sessions (by id). A session that is over and of which programs
 * still run is one, too: `tmux` outlives its login. Pure.
 */
export function sessionLogins(
  sessions: ReadonlyMap<string, string>,
  processes: readonly SeenProcess[],
): readonly Use[] {
  return [...sessions].flatMap(([id, text]) => {
    const { USER: user = 'somebody', CLASS: kind = '', STATE: state, REALTIME: since } = variables(text);
    if (nobodys.test(kind)) return [];
    if (state !== 'closing') return login(`session ${id}`, `${user} is logged in${sinceText(since)}`);
    const left = processes.filter(
      ({ comm, cgroups }) =>
        cgroups.some((path) => path.includes(`/session-${id}.scope`)) &&
        !helpers.test(comm) &&
        !sshServers.test(comm),
    );
    if (left.length === 0) return [];
    const names = [...new Set(left.map(({ comm }) => comm))];
    const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : '';
    return login(
      `session ${id}`,
      `${user} has logged out and left ${names.slice(0, mostNamed).join(', ')}${more} running`,
    );
  });
}

/** Connections to an SSH server that opens no session of logind: known by their user, or by what runs in them. Pure. */
export function sshLogins(processes: readonly SeenProcess[]): readonly Use[] {
  const servers = new Set(processes.filter(({ comm }) => sshServers.test(comm)).map(({ pid }) => pid));
  const busy = new Set(processes.filter(({ pid }) => !servers.has(pid)).map(({ parent }) => parent));
  return processes
    .filter(({ pid, uid = 0 }) => servers.has(pid) && (uid >= firstPerson || busy.has(pid)))
    .filter(({ cgroups }) => !cgroups.some((path) => /\/session-[^/]+\.scope/.test(path)))
    .flatMap(({ pid, uid = 0 }) =>
      login(`ssh ${pid}`, `somebody is logged in over SSH (uid ${uid}, process ${pid})`),
    );
}

/** What is being held up with systemd-inhibit, of the files in which logind keeps that (by name). Pure. */
export function inhibitors(files: ReadonlyMap<string, string>): readonly Use[] {
  return [...files].flatMap(([name, text]) => {
    const { WHAT: what = '', MODE: mode, WHO: who = 'somebody', WHY: why = '' } = variables(text);
    if (mode !== 'block' || !what.split(':').includes('shutdown')) return [];
    const because = why === '' ? '' : `: ${why}`;
    return {
      key: `inhibitor ${name}`,
      kind: 'use' as const,
      what: `${who} keeps it from powering off${because}`,
      next: 'let it end; systemd-inhibit --list on the host shows it',
    };
  });
}

function login(key: string, what: string): readonly Use[] {
  const next = 'log out, or end what was left running, when it may power off';
  return [{ key, kind: 'visit', what, next }];
}

function sinceText(microseconds: string | undefined): string {
  const at = Number(microseconds) / 1000;
  const minute = at > 0 && at < 8.64e15 ? minuteOf(new Date(at).toISOString()) : undefined;
  return minute === undefined ? '' : ` since ${minute}`;
}

/** Lines of `KEY=value`, as systemd writes them. */
function variables(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\n').map((line) => /^([A-Z_]+)="?(.*?)"?$/.exec(line));
  return Object.fromEntries(lines.flatMap((match) => (match === null ? [] : [[match[1], match[2]]])));
}

/** Who is at work on this machine beside the agents, and what of ours is going on. */
export type ReadPresence = () => Promise<readonly Use[]>;

interface PresencePaths {
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
export async function readPresence(places: PresencePaths, tools: PresenceTools): Promise<readonly Use[]> {
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
  const changes = await runningChanges(folder, command);
  return changes.map(({ id, title }) => ({
    key: `change ${id}`,
    kind: 'use',
    what: `"${title}" of azp-fleet goes on`,
    next: 'run "azp-fleet provision": it follows that to its end',
  }));
}
