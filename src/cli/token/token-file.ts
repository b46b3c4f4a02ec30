import {
  closeSync,
  fchownSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { usageError, whyNot } from '../../shared/base/errors.ts';
import type { Secret } from '../../shared/base/secret.ts';

/** A copy of an earlier token beside the token's file. It exists from before a new token is created until every host uses that. */
export interface KeptToken {
  readonly file: string;
  /** When the new token was created, as its name has it: `20261128T160102Z`. */
  readonly stamp: string;
  /** The new token has not replaced this one in the file: the run was cut before. */
  readonly isUnused: boolean;
}

/** Returns the copies beside a token's file, the oldest first. */
export function keptTokens(file: string): readonly KeptToken[] {
  try {
    const target = realpathSync(file);
    const start = `${basename(target)}.before-`;
    const present = readFileSync(target, 'utf8');
    return readdirSync(dirname(target))
      .filter((name) => name.startsWith(start) && /^\d{8}T\d{6}Z$/.test(name.slice(start.length)))
      .toSorted()
      .map((name) => {
        const kept = join(dirname(target), name);
        const isUnused = readFileSync(kept, 'utf8') === present;
        return { file: kept, stamp: name.slice(start.length), isUnused };
      });
  } catch {
    // The token itself is read afterwards, with an error that says why it cannot be.
    return [];
  }
}

/** Copies the present token, and returns the copy's file. Throws `inventory.token-write`. */
export function keepToken(file: string, stamp: string): string {
  return attempt(file, () => {
    const target = realpathSync(file);
    if (!lstatSync(target).isFile()) throw new Error('not a regular file');
    const kept = `${target}.before-${stamp}`;
    writeLike(target, kept, readFileSync(target));
    return kept;
  });
}

/** Replaces the content of the token's file at once: a reader gets the earlier token or the new one. Throws `inventory.token-write`. */
export function replaceToken(file: string, token: Secret): void {
  attempt(file, () => {
    const target = realpathSync(file);
    const written = `${target}.new-${process.pid}`;
    try {
      writeLike(target, written, `${token.reveal()}\n`);
      renameSync(written, target);
    } finally {
      rmSync(written, { force: true });
    }
    syncFolder(dirname(target));
  });
}

/** Writes a new file with mode 0600 and the owner of another, to the disk. */
function writeLike(like: string, file: string, content: string | Buffer): void {
  const { uid, gid } = lstatSync(like);
  const opened = openSync(file, 'wx', 0o600);
  try {
    if (uid !== process.getuid?.()) fchownSync(opened, uid, gid);
    writeFileSync(opened, content);
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
  syncFolder(dirname(file));
}

function syncFolder(folder: string): void {
  const opened = openSync(folder, 'r');
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}

function attempt<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw usageError(
      {
        code: 'inventory.token-write',
        step: 'token',
        what: `the token cannot be written to ${file}`,
        seen: error instanceof Error && !('code' in error) ? error.message : whyNot(error),
        next: 'name a regular file in a folder that you may write to, under "token:" of the inventory',
      },
      error,
    );
  }
}
