import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { minuteOf } from '../../shared/contract/drain.ts';
import type { Use } from './uses.ts';
import type { RunCommand } from '../machine/command.ts';
import { runningChanges } from '../machine/at-work.ts';
import { readHead } from '../machine/files.ts';
import type { ReadProcess } from '../machine/process.ts';
import { readerBounds } from '../../shared/base/reader-bounds.ts';

/** One process, with the facts by which logins are found. */
export interface SeenProcess {
  readonly pid: number;
  readonly parent: number;
  readonly comm: string;
  /** Real user id; undefined: not read. */
  readonly uid?: number;
  /** As in ProcessFacts. */
  readonly cgroups: readonly string[];
}

/** Sessions without a user: login screens and user service managers. */
const sessionsWithoutUser = /^(?:greeter|lock-screen|manager(?:-early)?)$/;
/** Background programs of a login, which may outlive it. */
const helpers =
  /^(?:\(sd-pam\)|systemd|dbus-(?:daemon|broker.*)|ssh-agent|gpg-agent|dirmngr|dconf-service|gvfs.*|pipewire.*|wireplumber|pulseaudio)$/;
const sshServers = /^(?:sshd|sshd-session|sshd-auth|dropbear)$/;
/** The first uid of users on every supported distribution. */
const firstUser = 1000;
/** Most programs that a message names for a closed session. */
const mostNamed = 3;

/**
 * Returns the logins in logind's session files (by id). A closed session counts while its programs run: `tmux` outlives its
 * login. Pure.
 */
export function sessionLogins(
  sessions: ReadonlyMap<string, string>,
  processes: readonly SeenProcess[],
): readonly Use[] {
  return [...sessions].flatMap(([id, text]) => {
    const { USER: user = 'a user', CLASS: kind = '', STATE: state, REALTIME: since } = variables(text);
    if (sessionsWithoutUser.test(kind)) return [];
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

/** Returns SSH connections without a logind session, by their user or their processes. Pure. */
export function sshLogins(processes: readonly SeenProcess[]): readonly Use[] {
  const servers = new Set(processes.filter(({ comm }) => sshServers.test(comm)).map(({ pid }) => pid));
  const busy = new Set(processes.filter(({ pid }) => !servers.has(pid)).map(({ parent }) => parent));
  return processes
    .filter(({ pid, uid = 0 }) => servers.has(pid) && (uid >= firstUser || busy.has(pid)))
    .filter(({ cgroups }) => !cgroups.some((path) => /\/session-[^/]+\.scope/.test(path)))
    .flatMap(({ pid, uid = 0 }) => login(`ssh ${pid}`, `uid ${uid} is logged in over SSH (process ${pid})`));
}

/** Returns the shutdown inhibitors in logind's files (by name). Pure. */
export function inhibitors(files: ReadonlyMap<string, string>): readonly Use[] {
  return [...files].flatMap(([name, text]) => {
    const { WHAT: what = '', MODE: mode, WHO: who = 'a program', WHY: why = '' } = variables(text);
    if (mode !== 'block' || !what.split(':').includes('shutdown')) return [];
    const because = why === '' ? '' : `: ${why}`;
    return {
      key: `inhibitor ${name}`,
      kind: 'use' as const,
      what: `${who} inhibits the shutdown${because}`,
      next: 'wait until it ends; `systemd-inhibit --list` on the host shows it',
    };
  });
}

function login(key: string, what: string): readonly Use[] {
  const next = 'log out, or stop the programs that are left running';
  return [{ key, kind: 'visit', what, next }];
}

function sinceText(microseconds: string | undefined): string {
  const at = Number(microseconds) / 1000;
  const minute = at > 0 && at < 8.64e15 ? minuteOf(new Date(at).toISOString()) : undefined;
  return minute === undefined ? '' : ` since ${minute}`;
}

/** Parses lines of `KEY=value`, as systemd writes them. */
function variables(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\n').map((line) => /^([A-Z_]+)="?(.*?)"?$/.exec(line));
  return Object.fromEntries(lines.flatMap((match) => (match === null ? [] : [[match[1], match[2]]])));
}

/** Reads uses of this machine by others than the agents, and changes in progress. */
export type ReadPresence = () => Promise<readonly Use[]>;

interface PresencePaths {
  /** `/run/systemd`, with logind's files of sessions and inhibitors. */
  readonly systemd: string;
  readonly proc: string;
  /** One folder for each durable change. */
  readonly changes: string;
}

interface PresenceTools {
  readonly command: RunCommand;
  readonly process: ReadProcess;
}

/** Reads the uses of the machine. */
export async function readPresence(paths: PresencePaths, tools: PresenceTools): Promise<readonly Use[]> {
  const sessions = await filesIn(join(paths.systemd, 'sessions'));
  // A closed session needs the users and control groups of all processes.
  const all = [...sessions.values()].some((text) => text.includes('STATE=closing'));
  const processes = await processesIn(paths.proc, tools.process, all);
  return [
    ...sessionLogins(sessions, processes),
    ...sshLogins(processes),
    ...inhibitors(await filesIn(join(paths.systemd, 'inhibit'))),
    ...(await changesInProgress(paths.changes, tools.command)),
  ];
}

/** Returns the start of each regular file of a folder by name; none if it is missing. Any user can make an inhibitor. */
async function filesIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  const found = new Map<string, string>();
  for (const name of files) {
    const head = readHead(join(folder, name), readerBounds.loginFile.bytes);
    const text = await head.then(String, () => '');
    if (text !== '') found.set(name, text);
  }
  return found;
}

/** Lists processes. `all`: with user and control groups of all, not only of SSH servers. */
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
    const more = all || sshServers.test(comm) ? await process(pid) : undefined;
    found.push({ pid, parent, comm, cgroups: [], ...more });
  }
  return found;
}

async function changesInProgress(folder: string, command: RunCommand): Promise<readonly Use[]> {
  const changes = await runningChanges(folder, command);
  return changes.map(({ id, title }) => ({
    key: `change ${id}`,
    kind: 'use',
    what: `"${title}" of azp-fleet is in progress`,
    next: 'run `azp-fleet provision`, which follows it to its end',
  }));
}
