import { drainLine } from '../contract/drain.ts';
import type { SlotStatus, ManagerStatus } from '../contract/status.ts';
import type { RunRecord } from '../contract/runs.ts';
import { foldNames } from '../inventory/fold-names.ts';
import { alike } from './groups/alike.ts';

/** What is about to be taken over, and what that does to others. */
export function heldLines(
  hosts: readonly { readonly host: string; readonly value: readonly SlotStatus[] }[],
): readonly string[] {
  const said = hosts.map(({ host, value: slots }) => ({
    host,
    value: slots.map(({ slot, cause = '' }) => ({ slot, cause })),
  }));
  const lines = alike(said).flatMap(({ hosts: same, value }) =>
    value.map(({ slot, cause }) => `${foldNames(same)} slot ${slot}: ${cause}`),
  );
  if (lines.length === 0) return [];
  return [
    ...lines,
    'Taking a name over gives it a new key: whoever runs under it elsewhere is cut off from the pool.',
    'Names of an owner that is online, or that has a job, are not taken.',
  ];
}

/** One line a host: what its manager was told. */
export function adoptText(host: string, slots: readonly SlotStatus[]): string {
  if (slots.length === 0) return `${host}: nobody else holds a name of its agents\n`;
  return `${host}: takes over ${foldNames(slots.map(({ agent }) => agent))}; "azp-fleet status" shows when they are online\n`;
}

/** One line a host: which GPUs count as repaired. */
export function repairedText(host: string, gpus: readonly string[]): string {
  const what = gpus.includes('all') ? 'all GPUs' : gpus.join(', ');
  return `${host}: ${what} repaired; "azp-fleet status" shows what is still wrong\n`;
}

/** One line a host: its webhook has taken the test. */
export function webhookText(host: string): string {
  return `${host}: the webhook has taken a test message; look whether it has arrived\n`;
}

/** How many slots of a host are drained and which still have a job; then a line for each who keeps jobs away. */
export function drainText(host: string, status: ManagerStatus): string {
  const drained = status.slots.filter(({ state }) => state === 'drained').length;
  const busy = status.slots.filter(({ state }) => state === 'busy');
  const jobs = busy.map(({ slot, job, jobSince }) => {
    const since = jobSince === undefined ? '' : `, since ${jobSince.replace('T', ' ').slice(0, 16)} UTC`;
    return `slot ${slot}${job === undefined ? '' : ` (${job}${since})`}`;
  });
  const parts = [`${drained} of ${status.slots.length} slots drained`];
  if (jobs.length > 0) parts.push(`still running: ${jobs.join(', ')}`);
  const marks = (status.drains ?? []).map((drain) => `  ${drainLine(drain)}\n`);
  return `${host}: ${parts.join('; ')}\n${marks.join('')}`;
}

/** The last runs of one host, newest first: when, slot, how it ended, how long the job took and the agent had waited. */
export function runsText(host: string, runs: readonly RunRecord[]): string {
  if (runs.length === 0) return `${host}: no runs yet\n`;
  const rows = runs.map((run) => ({
    when: run.finishedAt.replace('T', ' ').slice(0, 19),
    slot: run.slot,
    result: run.oomKilled
      ? 'out of memory'
      : (run.result ?? run.cause?.code ?? `exit ${run.exitCode ?? '?'}`),
    took: seconds(run.durationS),
    waited: run.waitedS === undefined ? '' : `waited ${seconds(run.waitedS)}`,
    logs: run.diagnostics === true ? `(--diag --run ${run.run})` : '',
    job: [run.job, run.cause?.what].filter((said) => said !== undefined).join(': ') || 'no job',
  }));
  const width = (key: 'slot' | 'result' | 'took' | 'waited') =>
    Math.max(...rows.map((row) => row[key].length));
  const lines = rows.map((row) =>
    [
      `${host}/${row.slot.padEnd(width('slot'))}`,
      row.when,
      row.result.padEnd(width('result')),
      row.took.padStart(width('took')),
      // Managers of earlier versions do not tell it.
      ...(width('waited') === 0 ? [] : [row.waited.padEnd(width('waited'))]),
      row.job,
      ...(row.logs === '' ? [] : [row.logs]),
    ].join('  '),
  );
  return `${lines.join('\n')}\n`;
}

function seconds(duration: number | undefined): string {
  return duration === undefined ? '' : `${Math.round(duration)} s`;
}
