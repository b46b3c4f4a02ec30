import { readFileSync } from 'node:fs';

/** Returns the most that bench/floor.json allows of a count. */
export function countLimit(row: string): number {
  const { counts } = JSON.parse(readFileSync('bench/floor.json', 'utf8')) as {
    readonly counts: Readonly<Record<string, number>>;
  };
  const most = counts[row];
  if (most === undefined) throw new Error(`bench/floor.json has no count "${row}"`);
  return most;
}
