import type { ManagerClient } from '../../fleet/client/manager-client.ts';
import type { Context } from '../../shared/base/context.ts';
import { FleetError, usageError } from '../../shared/base/errors.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import { minuteOf } from '../../shared/contract/drain.ts';
import type { ManagerStatus, RunRecord, SlotStatus } from '../../shared/contract/status.ts';
import { columns } from '../render/table.ts';

const pollMs = 1000;
/** How long the record of an ended run is waited for: the manager collects it within seconds. */
const recordMs = 30_000;
/** Lines that each look reads: a job that prints more between two looks leaves a gap. */
const windowLines = 2000;

/** A job that runs now. */
export interface RunningJob {
  readonly host: string;
  readonly slot: string;
  /** Id of its run. */
  readonly run: string;
  readonly job: string;
  /** ISO 8601 */
  readonly since: string;
}

/** Returns the jobs that run in these slots; no slots: in all. `run`: only the one with this id. Pure. */
export function runningJobs(
  host: string,
  { slots }: Pick<ManagerStatus, 'slots'>,
  chosen: readonly string[],
  run?: string,
): readonly RunningJob[] {
  return slots.flatMap((slot) => {
    if (!isRunning(slot) || (chosen.length > 0 && !chosen.includes(slot.slot))) return [];
    if (run !== undefined && slot.run.id !== run) return [];
    const { job = 'a job', jobSince = slot.since } = slot;
    return [{ host, slot: slot.slot, run: slot.run.id, job, since: jobSince }];
  });
}

function isRunning(slot: SlotStatus): slot is SlotStatus & Required<Pick<SlotStatus, 'run'>> {
  return slot.state === 'busy' && slot.run !== undefined;
}

/** Returns one line a run, in columns with a heading. Pure. */
export function runHeader(jobs: readonly RunningJob[], width: number): string {
  if (jobs.length === 0) return '';
  const rows = jobs.map(({ host, slot, run, job, since }) => [
    `${host}/${slot}`,
    minuteOf(since)?.replace(' UTC', '') ?? '?',
    run,
    job,
  ]);
  return `${columns([['SLOT', 'SINCE (UTC)', 'RUN', 'JOB'], ...rows], width).join('\n')}\n`;
}

/**
 * Returns the lines that were added since an earlier look at the end of the same output. `isGap`: lines between the two are not in
 * either. `key`: what makes two lines the same. Linear, whatever the lines are. Pure.
 */
export function newLines(
  before: readonly string[],
  now: readonly string[],
  key = (line: string): string => line,
): { readonly lines: readonly string[]; readonly isGap: boolean } {
  // The longest end of `before` that `now` begins with, by Knuth, Morris and Pratt.
  const keys = now.map(key);
  const borders = [0];
  const step = (length: number, line: string | undefined): number => {
    let known = length;
    while (known > 0 && (known === keys.length || keys[known] !== line)) known = borders[known - 1] ?? 0;
    return keys[known] === line ? known + 1 : 0;
  };
  for (let at = 1; at < keys.length; at += 1) borders.push(step(borders[at - 1] ?? 0, keys[at]));
  const known = now.length === 0 ? 0 : before.reduce((length, line) => step(length, key(line)), 0);
  return { lines: now.slice(known), isGap: before.length > 0 && known === 0 && now.length > 0 };
}

/** Returns a line as its record has it, without colors and cut, to compare both. */
function lineKey(line: string): string {
  return foreignLine(line, 300).trim();
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

interface FollowTools {
  readonly manager: Pick<ManagerClient, 'status' | 'logs' | 'runs'>;
  readonly clock: Context['clock'];
  readonly signal: AbortSignal;
  /** Lines of the output so far that are shown. */
  readonly tail: number;
  readonly write: (lines: readonly string[]) => void;
}

/**
 * Writes the output of a running job until it ends; returns its record. Undefined: the manager has not recorded the run in time. Rejects
 * with `interrupted` after Ctrl-C.
 */
export async function followJob(
  { slot, run }: Pick<RunningJob, 'slot' | 'run'>,
  { manager, clock, signal, tail, write }: FollowTools,
): Promise<RunRecord | undefined> {
  let seen: readonly string[] | undefined;
  const show = (now: readonly string[]): void => {
    const { lines, isGap } =
      seen === undefined ? { lines: now.slice(-tail), isGap: false } : newLines(seen, now, lineKey);
    if (isGap) write(['… lines that the job printed too fast are left out']);
    if (lines.length > 0) write(lines);
    seen = now;
  };
  const pause = async (): Promise<void> => {
    await clock.wait(pollMs, signal);
    if (signal.aborted) throw usageError({ code: 'interrupted', what: 'canceled; the job continues' });
  };
  for (;;) {
    const output = await manager.logs(slot, windowLines);
    // After the output: while the same run has the slot, the output is of this run.
    const { slots } = await manager.status();
    const current = slots.find((each) => each.slot === slot);
    if (current?.run?.id !== run || current.state !== 'busy') break;
    show(linesOf(output));
    await pause();
  }
  const deadline = clock.monotonic() + clock.scaled(recordMs);
  for (;;) {
    const record = (await manager.runs({ slot, limit: 20 })).find((each) => each.run === run);
    if (record !== undefined) show(record.log);
    if (record !== undefined || clock.monotonic() >= deadline) return record;
    await pause();
  }
}

/** Returns `h200-1/0: train ended: succeeded`. `result`: how the list of runs shows it. */
export function endLine(
  { host, slot, job }: RunningJob,
  record: RunRecord | undefined,
  result: (record: RunRecord) => string,
): string {
  const how =
    record === undefined
      ? `its result is not known yet; run "azp-fleet logs ${host}/${slot} --runs"`
      : [result(record), record.cause?.what].filter(Boolean).join(': ');
  return `${host}/${slot}: ${job} ended: ${how}\n`;
}

/** Returns a writer of lines of one slot among several: each begins with its name. One slot: lines as they are. Pure but for `out`. */
export function slotWriter(
  { host, slot }: Pick<RunningJob, 'host' | 'slot'>,
  all: readonly Pick<RunningJob, 'host' | 'slot'>[],
  out: (text: string) => void,
): (lines: readonly string[]) => void {
  const longest = Math.max(...all.map((each) => `${each.host}/${each.slot}`.length));
  const prefix = all.length > 1 ? `${`${host}/${slot}`.padEnd(longest)} | ` : '';
  return (lines) => out(lines.map((line) => `${prefix}${line}\n`).join(''));
}

/** Returns the record of a run; throws if there is none. `slots`: where to look; none: in all. */
export async function recordOf(
  manager: Pick<ManagerClient, 'runs'>,
  host: string,
  slots: readonly string[],
  run: string,
): Promise<RunRecord> {
  const limit = 1000;
  const lists =
    slots.length === 0
      ? [await manager.runs({ limit })]
      : await Promise.all(slots.map((slot) => manager.runs({ slot, limit })));
  const record = lists.flat().find((each) => each.run === run);
  if (record !== undefined) return record;
  throw new FleetError({
    code: 'runs.unknown',
    what: `${host} has no run ${run}`,
    expected: 'the id of a run that is running, or among the last ones of its slot',
    next: `list the runs: azp-fleet logs ${host}`,
  });
}
