import { occupied } from '../../fleet/apply/drain.ts';
import type { ManagerClient } from '../../fleet/client/manager-client.ts';
import { heldNames, refusedNames, takeNames } from '../../fleet/client/take-names.ts';
import { foldNames } from '../../fleet/inventory/fold-names.ts';
import { everyHost } from '../../fleet/inventory/select.ts';
import type { Context } from '../../shared/base/context.ts';
import { FleetError, usageError } from '../../shared/base/errors.ts';
import { type Drain, drainLine } from '../../shared/contract/drain.ts';
import type { ManagerStatus, RunRecord, SlotStatus } from '../../shared/contract/status.ts';
import { confirm } from '../ask.ts';
import type { CommandInput } from '../command.ts';
import { alike } from '../render/alike.ts';
import { askedOutput, padded, say, widthOf } from '../render/lines.ts';
import { declined, type Result } from '../result.ts';
import { ownerName } from '../run/hosts.ts';
import { answered, askEach, withManagers } from '../run/managers.ts';

const pollMs = 2000;

/** Makes agents stop taking jobs. Running jobs go on. */
export async function runDrain(context: Context, input: CommandInput): Promise<Result> {
  const { options } = input;
  if (!(await agreesToAll(context, input, 'Drain every host of the inventory?'))) return declined;
  const slots = options.list('slot');
  const order = { reason: options.string('reason') ?? '', owner: ownerName(context) };
  const deadline = context.clock.monotonic() + (options.duration('drainTimeout') ?? 0);
  const answers = await askEach(context, input, input.positionals, async (manager) => {
    await manager.drain(order, slots);
    return options.flag('wait') ? settled(manager, slots, deadline, context) : manager.status();
  });
  return answered(answers, (host, status) => drainText(host, status, slots));
}

/** Resolves when no job is left on the slots in question. */
async function settled(
  manager: ManagerClient,
  slots: readonly string[],
  deadline: number,
  context: Context,
): Promise<ManagerStatus> {
  for (;;) {
    const status = await manager.status();
    const left = occupied(status).filter(({ slot }) => slots.length === 0 || slots.includes(slot));
    if (left.length === 0) return status;
    if (context.clock.monotonic() >= deadline) {
      throw new FleetError({
        code: 'drain.timeout',
        step: 'manager',
        what: 'jobs still run; the slots stay drained and take no new ones',
        seen: left.map(({ slot, job }) => `slot ${slot}${job === undefined ? '' : `: ${job}`}`).join(', '),
        next: 'run it again to wait on, or take it back with "azp-fleet undrain"',
      });
    }
    await pause(pollMs, context.signal, 'the slots stay drained');
  }
}

/** Lets agents take jobs again. An agent that somebody disabled by hand in Azure DevOps stays disabled. */
export async function runUndrain(context: Context, input: CommandInput): Promise<Result> {
  if (!(await agreesToAll(context, input, 'Let every host of the inventory take jobs again?')))
    return declined;
  const slots = input.options.list('slot');
  const answers = await askEach(context, input, input.positionals, async (manager): Promise<Undrained> => {
    const { drains: before } = await manager.status();
    await manager.undrain(slots);
    const status = await manager.status();
    const left = new Set(status.drains.map((drain) => JSON.stringify(drain)));
    const ended = before.filter((drain) => !left.has(JSON.stringify(drain)));
    return { ...status, ended };
  });
  return answered(answers, (host, status) => undrainText(host, status, slots));
}

/** Tells managers that GPUs were reset or replaced: what the kernel said of them before closes no slot any more. */
export async function runRepaired(context: Context, input: CommandInput): Promise<Result> {
  const named = input.options.list('gpu');
  const gpus = named.length === 0 ? ['all'] : named;
  const answers = await askEach(context, input, input.positionals, async (manager) => {
    for (const gpu of gpus) await manager.repaired(gpu);
    return gpus;
  });
  return answered(answers, repairedText);
}

/** Has managers send a test message to their webhooks. */
export async function runWebhook(context: Context, input: CommandInput): Promise<Result> {
  const answers = await askEach(context, input, input.positionals, async (manager) => {
    await manager.testWebhook();
    return 'taken';
  });
  return answered(answers, webhookText);
}

/** Takes over agent names that another owner holds: looks which, says what it means, asks, tells the managers. */
export async function runAdopt(context: Context, input: CommandInput): Promise<Result> {
  const chosen = input.options.list('slot');
  return withManagers(context, input, input.positionals, async (managers) => {
    const looks = await managers.ask(async (manager) => heldNames(await manager.status(), chosen));
    const held = looks.filter((look) => 'value' in look).filter(({ value }) => value.length > 0);
    say(
      context.stderr,
      heldLines(held)
        .map((line) => `${line}\n`)
        .join(''),
    );
    const asks = held.length > 0 && !input.options.flag('yes');
    if (asks && !(await confirm(context, 'Take these names over?'))) return declined;
    const told = await managers.ask(
      async (manager, { name }) => {
        const value = held.find(({ host }) => host === name)?.value ?? [];
        const slots = value.map(({ slot }) => slot);
        const { refused } = await takeNames(manager, slots, {
          clock: context.clock,
          sleep: (ms) => pause(ms, context.signal, 'the manager continues by itself'),
        });
        if (refused.length > 0) throw refusedNames(name, refused);
        return value;
      },
      held.map(({ host }) => host),
    );
    const answers = looks.map((look) => told.find(({ host }) => host === look.host) ?? look);
    return answered(answers, adoptText);
  });
}

/**
 * `HOST` lists the last runs, `HOST/SLOT` prints the output of the slot's container or of its last run, with `--diag` what
 * the agent itself wrote about a failed one.
 */
export async function runLogs(context: Context, input: CommandInput): Promise<Result> {
  const [host = '', slot] = (input.positionals[0] ?? '').split('/');
  if (host === '' || slot === '')
    throw usageError({
      code: 'usage.target',
      what: 'logs need a host',
      expected: 'HOST or HOST/SLOT, e.g. h200-1/0',
      next: 'see hosts and slots: azp-fleet status',
    });
  const isDiag = input.options.flag('diag');
  checkDiag(slot, isDiag, input);
  if (slot === undefined || input.options.flag('runs')) {
    const limit = input.options.integer('last', { min: 1, max: 1000 }) ?? 20;
    const query = slot === undefined ? { limit } : { slot, limit };
    const answers = await askEach(context, input, [host], (manager) => manager.runs(query));
    return answered(answers, runsText);
  }
  const tail = input.options.integer('tail', { min: 1, max: 10_000 }) ?? 200;
  const answers = await askEach(context, input, [host], (manager) =>
    isDiag ? manager.diagnostics(slot, input.options.string('run')) : manager.logs(slot, tail),
  );
  const { to, clean } = askedOutput(context);
  const printed = () => answers.map((answer) => ('value' in answer ? clean(answer.value) : '')).join('');
  return { ...answered(answers, () => ''), text: printed, to };
}

/** Options that would mean nothing are refused. */
function checkDiag(slot: string | undefined, isDiag: boolean, { options }: CommandInput): void {
  if (isDiag && (slot === undefined || options.flag('runs')))
    throw usageError({
      code: 'usage.target',
      what: '--diag is about one slot, and about one run of it',
      expected: 'HOST/SLOT --diag, with --run ID for another than the last failed one',
      next: 'see the runs and their ids: azp-fleet logs HOST',
    });
  if (options.string('run') !== undefined && !isDiag)
    throw usageError({
      code: 'usage.option',
      what: '--run goes with --diag',
      next: 'leave it out, or add --diag',
    });
}

/** Asks before something is done to every host, which a forgotten name would mean. True where hosts are named. */
export async function agreesToAll(
  context: Context,
  { positionals, options }: CommandInput,
  question: string,
): Promise<boolean> {
  const isAll = [...positionals, ...options.list('limit')].every((pattern) => pattern === everyHost);
  return !isAll || options.flag('yes') || (await confirm(context, question));
}

/** Waits between two looks; an interruption ends it with what then goes on without us. */
export function pause(ms: number, signal: AbortSignal, goesOn: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(usageError({ code: 'interrupted', what: `interrupted; ${goesOn}` }));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal.addEventListener('abort', stop, { once: true });
  });
}

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
    'Taking a name over gives it a new key: an agent that runs elsewhere under this name loses its connection.',
    'Names whose agent is online or has a job are not taken over.',
  ];
}

/** One line a host: what its manager was told. */
export function adoptText(host: string, slots: readonly SlotStatus[]): string {
  if (slots.length === 0) return `${host}: agent names are free\n`;
  return `${host}: takes over ${foldNames(slots.map(({ agent }) => agent))}; "azp-fleet status" shows when they are online\n`;
}

/** One line a host: which GPUs count as repaired. */
export function repairedText(host: string, gpus: readonly string[]): string {
  const what = gpus.includes('all') ? 'all GPUs' : gpus.join(', ');
  return `${host}: ${what} repaired; "azp-fleet status" shows what is still wrong\n`;
}

/** One line a host: its webhook has taken the test. */
export function webhookText(host: string): string {
  return `${host}: the webhook accepted a test message; check that it arrived\n`;
}

/** What `drain` has come to: how far its slots are, which still have a job, then a line for each who keeps jobs away. */
export function drainText(host: string, status: ManagerStatus, chosen: readonly string[] = []): string {
  const slots = chosenOf(status, chosen);
  const far = (['drained', 'draining', 'waiting', 'quarantined'] as const).flatMap((stage) => {
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
  if (slots.length === 0) return `${host}: no slots\n${markLines(status)}`;
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
  starting: 'draining',
  idle: 'draining',
  stopping: 'draining',
  busy: 'still running',
  'backing-off': 'waiting',
  quarantined: 'quarantined',
  waiting: 'waiting',
};

/** What `undrain` has come to. */
export interface Undrained extends ManagerStatus {
  /** The drains that it ended. */
  readonly ended: readonly Drain[];
}

/** What jobs may come to again, what keeps them from coming all the same, then the marks that are left. */
export function undrainText(host: string, status: Undrained, chosen: readonly string[] = []): string {
  const { ended } = status;
  const slots = chosenOf(status, chosen);
  if (slots.length === 0) return `${host}: no slots\n`;
  const take = slots.length === 1 ? 'takes' : 'take';
  const was = ended.length === 0 ? 'nothing was drained; ' : '';
  const again = ended.length === 0 ? '' : ' again';
  const held = slots.filter(({ state }) => ['waiting', 'quarantined'].includes(stages[state]));
  const but =
    held.length === 0 ? '' : `; not available for another reason: ${slotList(held)}, check azp-fleet status`;
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

function markLines({ drains }: ManagerStatus): string {
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
      : (drawnResult(run.result) ?? run.cause?.code ?? `exit ${run.exitCode ?? '?'}`),
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
      ...(width('waited') === 0 ? [] : [row.waited.padEnd(width('waited'))]),
      row.job,
      ...(row.logs === '' ? [] : [row.logs]),
    ].join('  '),
  );
  return `${lines.join('\n')}\n`;
}

/** Azure DevOps has one word for a success with warnings. */
function drawnResult(result: string | undefined): string | undefined {
  return result?.toLowerCase() === 'succeededwithissues' ? 'succeeded (with issues)' : result;
}

function seconds(duration: number | undefined): string {
  return duration === undefined ? '' : `${Math.round(duration)} s`;
}
