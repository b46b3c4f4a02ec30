import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import { changeUnit } from '../../shared/contract/paths.ts';
import type { RunCommand } from './command.ts';

/** A durable change that goes on on this host, with its run or without. */
export interface LivingChange {
  readonly id: string;
  readonly title: string;
  /** ISO 8601, where it is told. */
  readonly since?: string;
}

const commandMs = 10_000;
/** Characters of a word that is told. */
const longestWord = 200;

/**
 * What has a title and no exit code, and may live: what systemd does not tell of may, and a unit that is being stopped does.
 * One whose unit is dead was lost in a crash or a reboot.
 */
export async function livingChanges(folder: string, command: RunCommand): Promise<readonly LivingChange[]> {
  const found: LivingChange[] = [];
  for (const id of await readdir(folder).catch(() => [])) {
    const read = (name: string): Promise<string | undefined> => firstLine(join(folder, id, name));
    const [title, code, since] = [await read('title'), await read('code'), await read('since')];
    if (title === undefined || code !== undefined || !(await mayLive(changeUnit(id), command))) continue;
    found.push({ id, title, ...(since === undefined ? {} : { since }) });
  }
  return found;
}

async function mayLive(unit: string, command: RunCommand): Promise<boolean> {
  const { code, output } = await command('systemctl', ['show', '-p', 'SubState', unit], commandMs);
  return code !== 0 || !/^SubState=(?:dead|failed|exited)$/m.test(output);
}

/** Undefined: there is no such file. */
async function firstLine(path: string): Promise<string | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : foreignLine(text.split('\n', 1)[0] ?? '', longestWord);
}
