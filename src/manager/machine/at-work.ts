import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { foreignJson, foreignLine } from '../../shared/base/foreign-text.ts';
import { changeUnit } from '../../shared/contract/paths.ts';
import type { RunCommand } from './command.ts';
import { isObject } from '../../shared/base/objects.ts';
import { minuteOf } from '../../shared/contract/drain.ts';

/** A durable change that goes on on this host, with its run or without. */
interface RunningChange {
  readonly id: string;
  readonly title: string;
  /** ISO 8601, where it is told. */
  readonly since?: string;
}

const commandMs = 10_000;
/** Characters of a word that is told. */
const longestLine = 200;

/**
 * What has a title and no exit code, and may live: what systemd does not tell of may, and a unit that is being stopped does.
 * One whose unit is dead was lost in a crash or a reboot.
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

/** Undefined: there is no such file. */
async function firstLine(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : foreignLine(text.split('\n', 1)[0] ?? '', longestLine);
}

/** Where what is done to this host leaves its traces. */
export interface WorkPaths {
  /** A folder for each durable change. */
  readonly changes: string;
  /** The lock of whoever changes the host. */
  readonly hostLock: string;
}

/** What is done to this host now, by `provision` and its like. */
export interface CurrentWork {
  readonly what: string;
  /** What whoever waits for its end can do: an imperative. */
  readonly next: string;
}

/** Characters of a name that is told. */
const longestWord = 200;

/** A change that lives, with its run or without; else a run that holds the host's lock. Undefined: nobody is at work. */
export async function currentWork(places: WorkPaths, command: RunCommand): Promise<CurrentWork | undefined> {
  return (await runningChange(places.changes, command)) ?? (await holder(places.hostLock));
}

async function runningChange(changes: string, command: RunCommand): Promise<CurrentWork | undefined> {
  const [change] = await runningChanges(changes, command);
  if (change === undefined) return undefined;
  const { id, title, since } = change;
  const look = `tail -f ${join(changes, id, 'output')}`;
  return {
    what: `"${title}" goes on on the host as ${changeUnit(id)}${sinceWhen(since)}`,
    next: `wait for its end, seen on the host with "${look}", or run "azp-fleet provision": it follows that, proves the host and gives its agents back`,
  };
}

/** Who holds the lock. A note may outlive its owner: the kernel knows. */
async function holder(lock: string): Promise<CurrentWork | undefined> {
  const file = await stat(lock).catch(() => undefined);
  if (file === undefined) return undefined;
  const place = ` ${device(file.dev)}:${file.ino} `;
  const held = await readFile('/proc/locks', 'latin1').catch(() => '');
  if (!held.split('\n').some((line) => line.includes(' FLOCK ') && line.includes(place))) return undefined;
  const note = foreignJson((await readFile(`${lock}.owner`, 'utf8').catch(() => '')).slice(0, 4096));
  const said = (key: string): string | undefined => {
    const value = isObject(note) ? note[key] : undefined;
    return typeof value === 'string' ? foreignLine(value, longestWord) : undefined;
  };
  const { who = 'somebody', doing = 'a command' } = { who: said('who'), doing: said('command') };
  return {
    what: `${who} is at work on the host with ${doing}${sinceWhen(said('since'))}`,
    next: 'wait for that run to end, or end it there with Ctrl-C: it gives the agents back by itself',
  };
}

/** As /proc/locks writes it. */
function device(dev: number): string {
  const [major, minor] = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)];
  return [major, minor].map((part) => part.toString(16).padStart(2, '0')).join(':');
}

function sinceWhen(since: string | undefined): string {
  const at = since === undefined ? undefined : minuteOf(since);
  return at === undefined ? '' : `, since ${at}`;
}
