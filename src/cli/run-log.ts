import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { type Clock, timestamp } from '../shared/base/clock.ts';
import type { Problem } from '../shared/base/errors.ts';
import { createFileLogger, type FileLogger } from '../shared/base/file-log.ts';
import type { Redactor } from '../shared/base/redact.ts';
import type { OwnFolder } from './own-folders.ts';

/** Limits of the kept debug logs: number of files, and their total size in bytes. */
const keep = { files: 200, bytes: 256 * 1024 * 1024 };

export interface RunLog extends Omit<FileLogger, 'path'> {
  /** Undefined if the file cannot be written. */
  readonly path: string | undefined;
  /** The warning if there is no file. */
  readonly note?: Pick<Problem, 'what' | 'next'>;
}

/**
 * Opens the debug log of this run, in `logs` below the state folder, and removes the oldest ones beyond the limits. If
 * the folder is refused or cannot be written, it returns a log without a file, with a note.
 */
export function openRunLog(
  { path, refused }: OwnFolder,
  clock: Clock,
  pid: number,
  redactor: Redactor,
): RunLog {
  if (refused !== undefined)
    return { ...noRunLog(redactor), note: { ...refused, what: `no debug log: ${refused.what}` } };
  try {
    return createFileLogger(newPath(join(path, 'logs'), timestamp(clock), pid), clock, redactor);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === undefined) throw error;
    return {
      ...noRunLog(redactor),
      note: {
        what: `no debug log: ${path} cannot be written (${code})`,
        next: 'set XDG_STATE_HOME to a writable folder',
      },
    };
  }
}

/** Returns a log that writes nothing, and still redacts secrets. */
export function noRunLog(redactor: Redactor): RunLog {
  return {
    path: undefined,
    log: () => undefined,
    redact: (secret) => redactor.add(secret),
    close: () => undefined,
  };
}

function newPath(folder: string, at: string, pid: number): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const newestFirst = readdirSync(folder)
    .filter((name) => name.endsWith('.log'))
    .sort()
    .toReversed();
  let bytes = 0;
  for (const [index, name] of newestFirst.entries()) {
    // Up to 200 of them at each start: `join` would take as long as `statSync`.
    const path = `${folder}/${name}`;
    bytes += statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (index >= keep.files - 1 || bytes > keep.bytes) rmSync(path, { force: true });
  }
  const stamp = at.replaceAll(':', '').replace('.', '-');
  return join(folder, `${stamp}-${pid}.log`);
}
