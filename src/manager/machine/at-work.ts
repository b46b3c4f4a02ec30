import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { foreignJson, foreignLine } from '../../shared/base/foreign-text.ts';
import { changeUnit } from '../../shared/contract/paths.ts';
import type { RunCommand } from './command.ts';
import { piecesOf, readText } from './files.ts';
import { Lines } from '../../shared/engine/frames.ts';
import { readerBounds } from '../../shared/base/reader-bounds.ts';
import { isObject } from '../../shared/base/objects.ts';
import { minuteOf } from '../../shared/contract/drain.ts';

/** A durable change in progress on this host, with or without its provision. */
interface RunningChange {
  readonly id: string;
  readonly title: string;
  /** ISO 8601, if known. */
  readonly since?: string;
}

const commandMs = 10_000;
/** Most characters of a title. */
const longestLine = 200;

/**
 * Lists changes with a title and no exit code whose unit runs. A unit counts as running while systemd stops it or does not
 * answer. A change with a dead unit was lost in a crash or a reboot.
 */
export async function runningChanges(folder: string, command: RunCommand): Promise<readonly RunningChange[]> {
  const found: RunningChange[] = [];
  for (const id of await readdir(folder).catch(() => [])) {
    const read = (name: string): Promise<string | undefined> => firstLine(join(folder, id, name));
    const [title, code, since] = [await read('title'), await read('code'), await read('since')];
    if (title === undefined || code !== undefined || !(await mayRun(changeUnit(id), command))) continue;
    found.push({ id, title, ...(since === undefined ? {} : { since }) });
  }
  return found;
}

async function mayRun(unit: string, command: RunCommand): Promise<boolean> {
  const { code, output } = await command('systemctl', ['show', '-p', 'SubState', unit], commandMs);
  return code !== 0 || !/^SubState=(?:dead|failed|exited)$/m.test(output);
}

/** Returns the first line of a file; undefined if the file is missing. */
async function firstLine(path: string): Promise<string | undefined> {
  const text = await readText(path).catch(() => undefined);
  return text === undefined ? undefined : foreignLine(text.split('\n', 1)[0] ?? '', longestLine);
}

/** Paths that show changes of this host. */
export interface WorkPaths {
  /** One folder for each durable change. */
  readonly changes: string;
  /** The lock for changes of the host. */
  readonly hostLock: string;
}

/** A change of this host in progress, by `provision` and other commands. */
export interface CurrentWork {
  readonly what: string;
  /** What to do to wait for its end: an imperative. */
  readonly next: string;
}

/** Most characters of a name. */
const longestWord = 200;

/** Returns a running change, else the command that holds the host's lock. Undefined: no change is in progress. */
export async function currentWork(places: WorkPaths, command: RunCommand): Promise<CurrentWork | undefined> {
  return (await runningChange(places.changes, command)) ?? (await holder(places.hostLock));
}

async function runningChange(changes: string, command: RunCommand): Promise<CurrentWork | undefined> {
  const [change] = await runningChanges(changes, command);
  if (change === undefined) return undefined;
  const { id, title, since } = change;
  const follow = `tail -f ${join(changes, id, 'output')}`;
  return {
    what: `"${title}" is in progress on the host as ${changeUnit(id)}${sinceWhen(since)}`,
    next: `wait for its end (\`${follow}\` on the host), or run \`azp-fleet provision\`, which follows it, checks the host and enables its agents again`,
  };
}

/** Returns whether a process holds flock of the file. Any process can make the list long: then it counts as held. */
export async function isHeld(
  { dev, ino }: { readonly dev: number; readonly ino: number },
  list = '/proc/locks',
): Promise<boolean> {
  const inode = ` ${device(dev)}:${ino} `;
  const lines = new Lines();
  let bytes = 0;
  for await (const piece of piecesOf(list)) {
    bytes += piece.length;
    if (bytes > readerBounds.kernelLocks.bytes) return true;
    if (lines.push(piece).some((line) => line.includes(' FLOCK ') && line.includes(inode))) return true;
  }
  return false;
}

/** Returns the command that holds the lock. The kernel reports whether it is held; the owner file may be stale. */
async function holder(lock: string): Promise<CurrentWork | undefined> {
  const file = await stat(lock).catch(() => undefined);
  if (file === undefined) return undefined;
  if (!(await isHeld(file).catch(() => false))) return undefined;
  const note = foreignJson((await readText(`${lock}.owner`).catch(() => '')).slice(0, 4096));
  const field = (key: string): string | undefined => {
    const value = isObject(note) ? note[key] : undefined;
    return typeof value === 'string' ? foreignLine(value, longestWord) : undefined;
  };
  const { who = 'another user', doing = 'a command' } = { who: field('who'), doing: field('command') };
  return {
    what: `${who} runs ${doing} on the host${sinceWhen(field('since'))}`,
    next: 'wait until it ends, or stop it there with Ctrl-C: it enables the agents again',
  };
}

/** Formats a device number as /proc/locks does. */
function device(dev: number): string {
  const [major, minor] = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)];
  return [major, minor].map((part) => part.toString(16).padStart(2, '0')).join(':');
}

function sinceWhen(since: string | undefined): string {
  const at = since === undefined ? undefined : minuteOf(since);
  return at === undefined ? '' : `, since ${at}`;
}
