import { drainLine, type Drain } from '../../shared/contract/drain.ts';
import type { SlotStatus, ManagerStatus, RunRecord } from '../../shared/contract/status.ts';
import { foldNames } from '../../fleet/inventory/fold-names.ts';
import { alike } from './groups/alike.ts';
import { padded, widthOf } from './lines/width.ts';

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

/** What `drain` has come to: how far its slots are, which still have a job, then a line for each who keeps jobs away. */
export function drainText(host: string, status: ManagerStatus, chosen: readonly string[] = []): string {
  const slots = chosenOf(status, chosen);
  const far = (['drained', 'ending', 'held back already'] as const).flatMap((stage) => {
    const number = slots.filter((slot) => stageOf(slot) === stage).length;
    return number === 0 ? [] : [`${number} ${stage}`];
  });
  const jobs = slots
    .filter(({ state }) => state === 'busy')
    .map(({ slot, job, jobSince }) => {
      const since = jobSince === undefined ? '' : `, since ${jobSince.replace('T', ' ').slice(0, 16)} UTC`;
      return `slot ${slot}${job === undefined ? '' : ` (${job}${since})`}`;
    });
  const parts = [...far, ...(jobs.length === 0 ? [] : [`still running: ${jobs.join(', ')}`])];
  if (slots.length === 0) return `${host}: it has no slots\n${markLines(status)}`;
  const take = slots.length === 1 ? 'takes' : 'take';
  return `${host}: ${slotsText(slots, chosen)} ${take} no more jobs: ${parts.join('; ')}\n${markLines(status)}`;
}

/** A manager calls a slot stopping, too, while it tells the pool why there is nothing to stop. */
function stageOf({ state, container }: SlotStatus): string {
  return state === 'stopping' && container === undefined ? 'drained' : stages[state];
}

/** Where a slot that is to take no jobs stands; an idle agent is stopped once the server was asked whether it has a job. */
const stages: Readonly<Record<SlotStatus['state'], string>> = {
  drained: 'drained',
  starting: 'ending',
  idle: 'ending',
  stopping: 'ending',
  busy: 'still running',
  'backing-off': 'held back already',
  quarantined: 'held back already',
  waiting: 'held back already',
};

/** What `undrain` has come to. */
export interface Undrained extends ManagerStatus {
  /** The marks that it took back; undefined: the manager is of a version that does not tell. */
  readonly ended?: readonly Drain[];
}

/** What jobs may come to again, what keeps them from coming all the same, then the marks that are left. */
export function undrainText(host: string, status: Undrained, chosen: readonly string[] = []): string {
  const { ended } = status;
  const slots = chosenOf(status, chosen);
  if (slots.length === 0) return `${host}: it has no slots\n`;
  const take = slots.length === 1 ? 'takes' : 'take';
  const was = ended?.length === 0 ? 'nothing was drained; ' : '';
  const again = ended?.length === 0 ? '' : ' again';
  const held = slots.filter(({ state }) => stages[state] === 'held back already');
  const but =
    held.length === 0 ? '' : `; held back by something else: ${slotList(held)}, see azp-fleet status`;
  return `${host}: ${was}${slotsText(slots, chosen)} ${take} jobs${again}${but}\n${markLines(status)}`;
}

function chosenOf({ slots }: ManagerStatus, chosen: readonly string[]): readonly SlotStatus[] {
  return chosen.length === 0 ? slots : slots.filter(({ slot }) => chosen.includes(slot));
}

function slotsText(slots: readonly SlotStatus[], chosen: readonly string[]): string {
  if (chosen.length > 0) return slotList(slots);
  return slots.length === 1 ? 'its slot' : `its ${slots.length} slots`;
}

function slotList(slots: readonly SlotStatus[]): string {
  return `slot${slots.length === 1 ? '' : 's'} ${foldNames(slots.map(({ slot }) => slot))}`;
}

function markLines({ drains = [] }: ManagerStatus): string {
  return drains.map((drain) => `  ${drainLine(drain)}\n`).join('');
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
    Math.max(...rows.map((row) => widthOf(row[key])));
  const lines = rows.map((row) =>
    [
      `${host}/${padded(row.slot, width('slot'))}`,
      row.when,
      padded(row.result, width('result')),
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
