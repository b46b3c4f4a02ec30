import type { ManagerStatus } from '../contract/status.ts';

/** One line a host: how many slots are drained, and which still have a job. */
export function drainText(host: string, status: ManagerStatus): string {
  const drained = status.slots.filter(({ state }) => state === 'drained').length;
  const busy = status.slots.filter(({ state }) => state === 'busy');
  const jobs = busy.map(({ slot, job }) => `slot ${slot}${job === undefined ? '' : ` (${job})`}`);
  const parts = [`${drained} of ${status.slots.length} slots drained`];
  if (jobs.length > 0) parts.push(`still running: ${jobs.join(', ')}`);
  return `${host}: ${parts.join('; ')}\n`;
}
