import { randomBytes } from 'node:crypto';

/** Sorts by time: 9 digits of base-36 milliseconds, then chance. */
export function runId(now: number): string {
  return `${now.toString(36).padStart(9, '0')}-${randomBytes(3).toString('hex')}`;
}
