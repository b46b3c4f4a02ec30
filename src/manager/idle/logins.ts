import { minuteOf } from '../../shared/contract/moment.ts';
import type { Use } from './use.ts';

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
