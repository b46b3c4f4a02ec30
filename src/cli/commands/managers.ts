import type { ManagerClient } from '../../fleet/client/manager-client.ts';
import { namedSlots } from '../../fleet/client/named-slots.ts';
import { heldNames, refusedNames, takeNames } from '../../fleet/client/take-names.ts';
import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import { foldNames } from '../../fleet/inventory/fold-names.ts';
import { everyHost, readTargets, type Targets } from '../../fleet/inventory/select.ts';
import type { Context } from '../../shared/base/context.ts';
import { FleetError, usageError } from '../../shared/base/errors.ts';
import { defined } from '../../shared/base/objects.ts';
import { type Drain, drainLine, minuteOf, stillDrained } from '../../shared/contract/drain.ts';
import {
  occupied,
  type ManagerStatus,
  type RunRecord,
  type SlotStatus,
} from '../../shared/contract/status.ts';
import { confirm } from '../ask.ts';
import type { CommandInput } from '../command.ts';
import { alike } from '../render/alike.ts';
import { requestedOutput, say } from '../render/lines.ts';
import { warn } from '../render/problem.ts';
import { useText } from '../render/run-use.ts';
import { endLine, followJob, recordOf, runHeader, runningJobs, slotWriter } from './follow-logs.ts';
import { columns } from '../render/table.ts';
import { declined, type Result } from '../result.ts';
import { ownerName } from '../run/hosts.ts';
import { answered, askEach, withManagers } from '../run/managers.ts';

const pollMs = 2000;

/** Stops agents from taking jobs. Running jobs continue. */
export async function runDrain(context: Context, input: CommandInput): Promise<Result> {
  const { options } = input;
  if (!(await agreesToAll(context, input, 'Drain every host of the inventory?'))) return declined;
  const targets = readTargets(input.positionals);
  const until = endOf(context, input);
  const order = { reason: options.string('reason') ?? '', owner: ownerName(context), ...defined({ until }) };
  const deadline = context.clock.monotonic() + (options.duration('drainTimeout') ?? 0);
  const wait = options.flag('wait') ? { deadline, until } : undefined;
  const answers = await askEach(context, input, targets.hosts, async (manager, host) => {
    const chosen = await chosenSlots(manager, host, targets, input);
    await manager.drain(order, chosen);
    const status = await (wait === undefined
      ? manager.status()
      : settled(host.name, manager, chosen, wait, context));
    const isKept =
      hasEnded(until, Date.parse(status.at)) || status.drains.some((drain) => drain.until === until);
    if (until !== undefined && !isKept) throw withoutEnd(host.name, status.version);
    return { ...status, chosen };
  });
  return answered(answers, (host, status) => drainText(host, status, status.chosen));
}

/** Returns when the drain ends, as ISO 8601; says so if that is tomorrow. */
function endOf({ clock, stderr }: Context, { options }: CommandInput): string | undefined {
  const end = options.timeOfDay('until', clock.wall());
  if (end === undefined) return undefined;
  const until = end.at.toISOString();
  if (end.isTomorrow && !options.flag('json'))
    warn(stderr, {
      what: `${options.string('until')} is past today: the drain ends tomorrow, ${minuteOf(until)}`,
    });
  return until;
}

function hasEnded(until: string | undefined, now: number): boolean {
  return until !== undefined && Date.parse(until) <= now;
}

/** A manager of the release before drains without an end. */
function withoutEnd(host: string, version: string): FleetError {
  return new FleetError({
    code: 'manager.release',
    host,
    step: 'manager',
    what: `the manager is ${version}, which does not end drains: it stays drained`,
    next: `run "azp-fleet provision ${host}" and drain again, or run "azp-fleet undrain ${host}" later`,
  });
}

/** Returns the slots of a host that the command line names, by its target or by --slot; none: the whole host. */
async function chosenSlots(
  manager: Pick<ManagerClient, 'status'>,
  host: HostSpec,
  { namesOn }: Targets,
  { options }: CommandInput,
): Promise<readonly string[]> {
  const names = [...namesOn(host), ...options.list('slot')];
  return names.length === 0 ? [] : namedSlots(await manager.status(), names);
}

/** Resolves when no job runs on the chosen slots. */
async function settled(
  host: string,
  manager: ManagerClient,
  slots: readonly string[],
  { deadline, until }: { readonly deadline: number; readonly until: string | undefined },
  context: Context,
): Promise<ManagerStatus> {
  for (;;) {
    const status = await manager.status();
    const left = occupied(status).filter(({ slot }) => slots.length === 0 || slots.includes(slot));
    if (left.length === 0) return status;
    const isOver = hasEnded(until, context.clock.wall());
    if (isOver || context.clock.monotonic() >= deadline) {
      throw new FleetError({
        code: 'drain.timeout',
        step: 'manager',
        what: isOver
          ? 'jobs still ran when the drain ended; the slots take jobs again'
          : 'jobs still run; the slots stay drained and take no new jobs',
        seen: left.map(({ slot, job }) => `slot ${slot}${job === undefined ? '' : `: ${job}`}`).join(', '),
        next: isOver
          ? 'drain again with a later --until, or without it'
          : `run it again to continue waiting, or undo it with "azp-fleet undrain ${host}"`,
      });
    }
    await pause(pollMs, context.signal, 'the slots stay drained');
  }
}

/** Lets agents take jobs again. An agent that a user disabled in Azure DevOps stays disabled. */
export async function runUndrain(context: Context, input: CommandInput): Promise<Result> {
  if (!(await agreesToAll(context, input, 'Let every host of the inventory take jobs again?')))
    return declined;
  const targets = readTargets(input.positionals);
  const of = input.options.string('of');
  if (of === '')
    throw usageError({
      code: 'usage.option',
      what: '--of names no user',
      next: 'use a user that status names: for ann@laptop, --of ann',
    });
  const answers = await askEach(context, input, targets.hosts, async (manager, host) => {
    const chosen = await chosenSlots(manager, host, targets, input);
    const { drains: before } = await manager.status();
    const order = { slots: chosen, owner: ownerName(context), ...defined({ of }) };
    await manager.undrain(order);
    const status = await manager.status();
    const left = new Set(status.drains.map((drain) => JSON.stringify(drain)));
    const ended = before.filter((drain) => !left.has(JSON.stringify(drain)));
    const problem = stillDrained(host.name, order, { drains: status.drains, ended: ended.length });
    if (problem !== undefined) throw new FleetError(problem);
    return { ...status, ended, chosen };
  });
  return answered(answers, (host, status) => undrainText(host, status, status.chosen));
}

/** Reports GPUs as repaired to the managers, so that earlier kernel errors no longer close their slots. */
export async function runRepaired(context: Context, input: CommandInput): Promise<Result> {
  const named = input.options.list('gpu');
  const gpus = named.length === 0 ? ['all'] : named;
  const answers = await askEach(context, input, input.positionals, async (manager) => {
    for (const gpu of gpus) await manager.repaired(gpu);
    return gpus;
  });
  return answered(answers, repairedText);
}

/** Requests that managers send a test message to their webhooks. */
export async function runWebhook(context: Context, input: CommandInput): Promise<Result> {
  const answers = await askEach(context, input, input.positionals, async (manager) => {
    await manager.testWebhook();
    return 'taken';
  });
  return answered(answers, webhookText);
}

/** Takes over agent names that another owner holds: lists them, asks, and instructs the managers. */
export async function runAdopt(context: Context, input: CommandInput): Promise<Result> {
  const targets = readTargets(input.positionals);
  return withManagers(context, input, targets.hosts, async (managers) => {
    const states = await managers.ask(async (manager, host) =>
      heldNames(await manager.status(), [...targets.namesOn(host), ...input.options.list('slot')]),
    );
    const held = states.filter((state) => 'value' in state).filter(({ value }) => value.length > 0);
    say(
      context.stderr,
      heldLines(held)
        .map((line) => `${line}\n`)
        .join(''),
    );
    const asks = held.length > 0 && !input.options.flag('yes');
    if (asks && !(await confirm(context, 'Take over these names?'))) return declined;
    const taken = await managers.ask(
      async (manager, { name }) => {
        const value = held.find(({ host }) => host === name)?.value ?? [];
        const slots = value.map(({ slot }) => slot);
        const { refused } = await takeNames(manager, slots, {
          clock: context.clock,
          sleep: (ms) => pause(ms, context.signal, 'the manager continues'),
        });
        if (refused.length > 0) throw refusedNames(name, refused);
        return value;
      },
      held.map(({ host }) => host),
    );
    const answers = states.map((state) => taken.find(({ host }) => host === state.host) ?? state);
    return answered(answers, adoptText);
  });
}

/**
 * Lists the last runs of `HOST`, follows running jobs, or prints the output of a run, or the output of the container or last run of `HOST/SLOT`; with `--diag` the
 * agent's own logs of a failed run.
 */
export async function runLogs(context: Context, input: CommandInput): Promise<Result> {
  const targets = readTargets(input.positionals);
  const isDiag = input.options.flag('diag');
  checkLogs(targets.hasNames, isDiag, input);
  if (input.options.flag('follow')) return followLogs(context, input, targets);
  const run = input.options.string('run');
  if ((!targets.hasNames && run === undefined) || input.options.flag('runs')) {
    const limit = input.options.integer('last', { min: 1, max: 1000 }) ?? 20;
    const answers = await askEach(context, input, targets.hosts, async (manager, host) => {
      const slots = await slotsWithLogs(manager, targets.namesOn(host));
      if (slots.length === 0) return manager.runs({ limit });
      return (await Promise.all(slots.map((slot) => manager.runs({ slot, limit })))).flat();
    });
    const { columns: width } = context.stdout;
    return answered(answers, (name, runs) => runsText(name, runs, width) + useText(name, runs, width));
  }
  const tail = input.options.integer('tail', { min: 1, max: 10_000 }) ?? 200;
  const answers = await askEach(context, input, targets.hosts, async (manager, host) => {
    const slots = await slotsWithLogs(manager, targets.namesOn(host));
    if (run !== undefined && !isDiag) return runLog(manager, host.name, slots, { run, tail });
    if (slots.length === 0) throw withoutSlot(host.name);
    const read = (slot: string) => (isDiag ? manager.diagnostics(slot, run) : manager.logs(slot, tail));
    return (await Promise.all(slots.map(read))).join('');
  });
  const { to, clean } = requestedOutput(context);
  const printed = () => answers.map((answer) => ('value' in answer ? clean(answer.value) : '')).join('');
  return { ...answered(answers, () => ''), text: printed, to };
}

/** Returns the output of a run, which may still be running. */
async function runLog(
  manager: ManagerClient,
  host: string,
  slots: readonly string[],
  { run, tail }: { readonly run: string; readonly tail: number },
): Promise<string> {
  const [running] = runningJobs(host, await manager.status(), slots, run);
  if (running !== undefined) return manager.logs(running.slot, tail);
  const { log } = await recordOf(manager, host, slots, run);
  return log
    .slice(-tail)
    .map((line) => `${line}\n`)
    .join('');
}

/** Prints the output of running jobs as it comes. The table of the runs and their ends are on stderr, so that a pipe has only output. */
async function followLogs(context: Context, input: CommandInput, targets: Targets): Promise<Result> {
  const { clock, signal, stderr } = context;
  const tail = input.options.integer('tail', { min: 1, max: 10_000 }) ?? 200;
  const { to, clean } = requestedOutput(context);
  return withManagers(context, input, targets.hosts, async (managers) => {
    const chosen = await managers.ask(async (manager, { name, ...host }) => {
      const slots = await slotsWithLogs(manager, targets.namesOn({ name, ...host }));
      return runningJobs(name, await manager.status(), slots, input.options.string('run'));
    });
    const jobs = chosen.flatMap((answer) => ('value' in answer ? answer.value : []));
    say(stderr, jobs.length === 0 ? 'no job is running there\n' : runHeader(jobs, stderr.columns ?? 80));
    const answers = await managers.ask(
      async (manager, { name }) =>
        Promise.all(
          jobs
            .filter(({ host }) => host === name)
            .map(async (job) => {
              const write = slotWriter(job, jobs, (text) => void to.write(clean(text)));
              const record = await followJob(job, { manager, clock, signal, tail, write });
              say(stderr, endLine(job, record, resultOf));
              return record ?? null;
            }),
        ),
      jobs.map(({ host }) => host),
    );
    const failed = chosen.filter((answer) => 'problem' in answer);
    return answered([...failed, ...answers], () => '');
  });
}

/** Returns the slots with these names, as `namedSlots`; also slots of earlier configurations that have runs. */
async function slotsWithLogs(
  manager: Pick<ManagerClient, 'status' | 'runs'>,
  names: readonly string[],
): Promise<readonly string[]> {
  if (names.length === 0) return [];
  const status = await manager.status();
  const found = await Promise.all(
    names.map(async (name) => {
      const isKnown = status.slots.some(({ slot, agent }) => slot === name || agent === name);
      const isFormer = !isKnown && (await manager.runs({ slot: name, limit: 1 })).length > 0;
      return isFormer ? [name] : namedSlots(status, [name]);
    }),
  );
  return found.flat();
}

function withoutSlot(host: string): FleetError {
  return usageError({
    code: 'usage.target',
    what: `${host} is named without a slot, and other hosts with one`,
    next: 'name a slot of each host, or list runs with --runs',
  });
}

/** Throws for options that do not go together, or have no effect. */
function checkLogs(hasSlot: boolean, isDiag: boolean, { options }: CommandInput): void {
  if (isDiag && (!hasSlot || options.flag('runs')))
    throw usageError({
      code: 'usage.target',
      what: '--diag needs one slot and one run',
      expected: 'HOST/SLOT --diag, with --run ID for a run other than the last failed one',
      next: 'list the runs and their IDs: azp-fleet logs HOST',
    });
  if (options.string('run') !== undefined && options.flag('runs'))
    throw usageError({
      code: 'usage.option',
      what: '--run names one run, and --runs lists all',
      next: 'leave one of them out',
    });
  const beside = (['runs', 'diag', 'json'] as const).find((name) => options.flag(name));
  if (options.flag('follow') && beside !== undefined)
    throw usageError({
      code: 'usage.option',
      what: `--follow prints as the jobs do, and does not go with --${beside}`,
      next: 'leave one of them out',
    });
}

/** Asks before a command applies to every host, for example because a name was forgotten. True if hosts are named. */
export async function agreesToAll(
  context: Context,
  { positionals, options }: CommandInput,
  question: string,
): Promise<boolean> {
  const isAll = [...positionals, ...options.list('limit')].every((pattern) => pattern === everyHost);
  return !isAll || options.flag('yes') || (await confirm(context, question));
}

/** Waits between two checks; an interruption rejects with `continues`, the state that remains. */
export function pause(ms: number, signal: AbortSignal, continues: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(usageError({ code: 'interrupted', what: `canceled; ${continues}` }));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal.addEventListener('abort', stop, { once: true });
  });
}

/** Returns the names to take over, and the effect on their owners. */
export function heldLines(
  hosts: readonly { readonly host: string; readonly value: readonly SlotStatus[] }[],
): readonly string[] {
  const values = hosts.map(({ host, value: slots }) => ({
    host,
    value: slots.map(({ slot, cause = '' }) => ({ slot, cause })),
  }));
  const lines = alike(values).flatMap(({ hosts: same, value }) =>
    value.map(({ slot, cause }) => `${foldNames(same)} slot ${slot}: ${cause}`),
  );
  if (lines.length === 0) return [];
  return [
    ...lines,
    'Taking over a name gives it a new key: an agent that runs elsewhere under this name loses its connection.',
    'Names whose agent is online or has a job are not taken over.',
  ];
}

/** Returns one line a host: the names its manager takes over. */
export function adoptText(host: string, slots: readonly SlotStatus[]): string {
  if (slots.length === 0) return `${host}: agent names are free\n`;
  return `${host}: takes over ${foldNames(slots.map(({ agent }) => agent))}; "azp-fleet status" shows when they are online\n`;
}

/** Returns one line a host: which GPUs count as repaired. */
export function repairedText(host: string, gpus: readonly string[]): string {
  const what = gpus.includes('all') ? 'all GPUs' : gpus.join(', ');
  return `${host}: ${what} repaired; "azp-fleet status" shows remaining problems\n`;
}

/** Returns one line a host: its webhook accepted the test message. */
export function webhookText(host: string): string {
  return `${host}: the webhook accepted a test message; check that it arrived\n`;
}

/** Returns the result of `drain`: the states of the slots, the running jobs, then a line for each drain. */
export function drainText(host: string, status: ManagerStatus, chosen: readonly string[] = []): string {
  const slots = chosenOf(status, chosen);
  const states = (['drained', 'draining', 'waiting', 'quarantined'] as const).flatMap((stage) => {
    const here = slots.filter((slot) => stageOf(slot) === stage);
    return here.length === 0 ? [] : [`${here.length} ${stage}${stage === 'waiting' ? sinceText(here) : ''}`];
  });
  const jobs = slots
    .filter(({ state }) => state === 'busy')
    .map(({ slot, job, jobSince }) => {
      const since = jobSince === undefined ? '' : `, since ${utc(jobSince)}`;
      return `slot ${slot}${job === undefined ? '' : ` (${job}${since})`}`;
    });
  const parts = [...states, ...(jobs.length === 0 ? [] : [`still running: ${jobs.join(', ')}`])];
  if (slots.length === 0) return `${host}: no slots\n${drainLines(status)}`;
  const take = slots.length === 1 ? 'takes' : 'take';
  return `${host}: ${slotsText(slots, chosen)} ${take} no more jobs: ${parts.join('; ')}\n${drainLines(status)}`;
}

/** Returns since when the longest waiting of these slots waits. */
function sinceText(slots: readonly SlotStatus[]): string {
  const [oldest = ''] = slots.map(({ since }) => since).toSorted();
  return oldest === '' ? '' : ` (since ${utc(oldest)})`;
}

function utc(iso: string): string {
  return `${iso.replace('T', ' ').slice(0, 16)} UTC`;
}

/** Returns the state to show. A slot in `stopping` without a container is drained: it only updates the pool. */
function stageOf({ state, container }: SlotStatus): string {
  return state === 'stopping' && container === undefined ? 'drained' : stages[state];
}

/** The shown state of a draining slot; an idle agent is stopped after the server confirmed that it has no job. */
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

/** The result of `undrain`. */
export interface Undrained extends ManagerStatus {
  /** The drains that it ended. */
  readonly ended: readonly Drain[];
}

/** Returns the slots that take jobs again, those that cannot yet, then the remaining drains. */
export function undrainText(host: string, status: Undrained, chosen: readonly string[] = []): string {
  const { ended } = status;
  const slots = chosenOf(status, chosen);
  if (slots.length === 0) return `${host}: no slots\n`;
  const take = slots.length === 1 ? 'takes' : 'take';
  const was = ended.length === 0 ? 'nothing was drained; ' : '';
  const again = ended.length === 0 ? '' : ' again';
  const but = (['waiting', 'quarantined'] as const).map((stage) => {
    const held = slots.filter(({ state }) => stages[state] === stage);
    if (held.length === 0) return '';
    return `; ${stage}: ${slotList(held)}${stage === 'waiting' ? sinceText(held) : ''}, check azp-fleet status`;
  });
  return `${host}: ${was}${slotsText(slots, chosen)} ${take} jobs${again}${but.join('')}\n${drainLines(status)}`;
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

function drainLines({ drains }: ManagerStatus): string {
  return drains.map((drain) => `  ${drainLine(drain)}\n`).join('');
}

/** Columns of a terminal on which ids leave room for the names of jobs. */
const leastForIds = 100;

/**
 * Returns the last runs of a host as a table, newest first: slot, end, result, duration of the job, waiting time of the
 * agent, id of the run where there is room, job.
 */
export function runsText(host: string, runs: readonly RunRecord[], width = Infinity): string {
  if (runs.length === 0) return `${host}: no runs yet\n`;
  const hasIds = width >= leastForIds;
  const rows = runs.map((run) => {
    const job = [run.job, run.cause?.what].filter((text) => text !== undefined).join(': ') || 'no job';
    const logs = run.diagnostics === true ? ` (--diag${hasIds ? '' : ` --run ${run.run}`})` : '';
    return {
      SLOT: `${host}/${run.slot}`,
      'FINISHED (UTC)': run.finishedAt.replace('T', ' ').slice(0, 19),
      RESULT: resultOf(run),
      TOOK: seconds(run.durationS),
      WAITED: seconds(run.waitedS),
      RUN: hasIds ? run.run : '',
      JOB: `${job}${logs}`,
    };
  });
  const headings = ['SLOT', 'FINISHED (UTC)', 'RESULT', 'TOOK', 'WAITED', 'RUN', 'JOB'] as const;
  const shown = headings.filter((heading) => rows.some((row) => row[heading] !== ''));
  const numbers = (heading: 'TOOK' | 'WAITED') =>
    Math.max(heading.length, ...rows.map((row) => row[heading].length));
  const cells = rows.map((row) =>
    shown.map((heading) =>
      heading === 'TOOK' || heading === 'WAITED' ? row[heading].padStart(numbers(heading)) : row[heading],
    ),
  );
  return `${columns([shown, ...cells], width).join('\n')}\n`;
}

/** Returns the result to show: Azure DevOps writes success with warnings as one word. */
function resultOf({ result, oomKilled, cause, exitCode }: RunRecord): string {
  const drawn = result?.toLowerCase() === 'succeededwithissues' ? 'succeeded (with issues)' : result;
  if (oomKilled && (drawn ?? 'failed') === 'failed') return 'out of memory';
  return drawn ?? cause?.code ?? `exit ${exitCode ?? '?'}`;
}

function seconds(duration: number | undefined): string {
  return duration === undefined ? '' : `${Math.round(duration)} s`;
}
