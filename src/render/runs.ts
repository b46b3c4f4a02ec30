import type { RunRecord } from '../contract/runs.ts';

/** The last runs of one host, newest first: when, slot, job, how it ended, how long it took. */
export function runsText(host: string, runs: readonly RunRecord[]): string {
  if (runs.length === 0) return `${host}: no runs yet\n`;
  const rows = runs.map((run) => ({
    when: run.finishedAt.replace('T', ' ').slice(0, 19),
    slot: run.slot,
    result: run.oomKilled
      ? 'out of memory'
      : (run.result ?? run.cause?.code ?? `exit ${run.exitCode ?? '?'}`),
    took: run.durationS === undefined ? '' : `${Math.round(run.durationS)} s`,
    job: run.job ?? run.cause?.what ?? 'no job',
  }));
  const width = (key: 'slot' | 'result' | 'took') => Math.max(...rows.map((row) => row[key].length));
  const lines = rows.map(
    (row) =>
      `${host}/${row.slot.padEnd(width('slot'))}  ${row.when}  ${row.result.padEnd(width('result'))}  ${row.took.padStart(width('took'))}  ${row.job}`,
  );
  return `${lines.join('\n')}\n`;
}
