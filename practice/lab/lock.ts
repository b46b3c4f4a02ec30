import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

import { join } from 'node:path';

import { inState } from './paths.ts';
import { alive, until } from './run.ts';

/** Runs `work` while no other process of this machine runs work under the same name in the folder. */
export async function withLock<T>(
  name: string,
  work: () => Promise<T>,
  folder: string = inState('locks'),
): Promise<T> {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const file = join(folder, name);
  const mine = `${file}.${process.pid}.${randomUUID()}`;
  writeFileSync(mine, String(process.pid));
  await until(`lock ${file}`, () => Promise.resolve(take(mine, file)), {
    timeoutMs: 3_600_000,
    everyMs: 300,
  });
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
    rmSync(mine, { force: true });
  }
}

function take(mine: string, file: string): boolean {
  try {
    linkSync(mine, file);
    return true;
  } catch {
    const holder = Number(readHolder(file));
    if (holder === process.pid) return false;
    if (!Number.isInteger(holder) || holder <= 0 || !alive(holder)) rmSync(file, { force: true });
    return false;
  }
}

function readHolder(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
