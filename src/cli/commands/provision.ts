import { resolve as resolvePath } from 'node:path';

import { applyFleet } from '../../fleet/apply/apply.ts';
import { surveyFleet } from '../../fleet/apply/fleet-survey.ts';
import { failedHosts, journalFile, writeJournal } from '../../fleet/apply/journal.ts';
import type { HostOutcome } from '../../fleet/apply/outcome.ts';
import { distinct, type PoolsPlan } from '../../fleet/apply/pools.ts';
import { announcedBy, readPlanFile } from '../../fleet/apply/saved-plan.ts';
import { wavesOf } from '../../fleet/apply/waves.ts';
import type { HostSpec, WaveLimits } from '../../fleet/inventory/fleet.ts';
import { inventoryDigest } from '../../fleet/plan/digest.ts';
import type { FleetPlan } from '../../fleet/plan/fleet-plan.ts';
import { hasOnlyTakeOvers } from '../../fleet/plan/held-names.ts';
import { planWaves } from '../../fleet/plan/waves.ts';
import { timestamp } from '../../shared/base/clock.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, usageError } from '../../shared/base/errors.ts';
import { version } from '../../shared/base/version.ts';
import { confirm } from '../ask.ts';
import type { CommandInput } from '../command.ts';
import { warn } from '../render/problem.ts';
import type { Result } from '../result.ts';
import { type OwnFolder, stateFolder } from '../own-folders.ts';
import { changeHosts, waveLimits } from '../run/change-hosts.ts';
import { type OpenFleet, openForPlan } from '../run/fleet.ts';
import { connected, overSsh } from '../run/hosts.ts';
import { reportLeft, textfileOf } from '../run/left-report.ts';
import { HarmlessPlans, type Left, leftJson, refuseWithOnlyHarmless } from '../run/only-harmless.ts';
import { openPlanning } from '../run/planning.ts';

/** Plans, asks, applies, verifies. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const { options } = input;
  const onlyHarmless = options.flag('onlyHarmless');
  if (onlyHarmless) refuseWithOnlyHarmless(options);
  const textfile = textfileOf(context, options);
  const opened = await openForPlan(context, input);
  const state = stateFolder(context.env, context.home);
  const journal = journalFile(state.path, opened.fleet.file);
  const saved = await savedPlan(context, input, opened);
  const limits = waveLimits(options, opened.fleet, saved?.waves);
  const hosts = await chooseHosts(opened.hosts, options.string('rerun'), { journal, state }, saved);
  return provisionHosts(
    context,
    input,
    { ...opened, hosts },
    {
      saved,
      limits,
      probe: options.flag('probe'),
      adopt: options.flag('adopt'),
      ...(onlyHarmless ? { onlyHarmless: { textfile } } : {}),
      ended: async (outcomes) => {
        if (state.refused === undefined)
          await saveJournal(context, input, { journal, inventory: opened.fleet.file }, outcomes);
      },
    },
  );
}

interface Provisioning {
  /** The plan to apply; undefined: a new one. */
  readonly saved?: FleetPlan | undefined;
  readonly limits: WaveLimits;
  /** Verify with nvidia-smi in a container. */
  readonly probe: boolean;
  /** Take over agent names without asking. */
  readonly adopt: boolean;
  /** Make only changes that disturb nothing, and report the others. Absent: make all. */
  readonly onlyHarmless?: { readonly textfile: string | undefined };
  /** Called with the outcomes, if anything was applied. */
  readonly ended?: (outcomes: readonly HostOutcome[]) => Promise<void>;
}

/** Plans, asks, applies and verifies on the opened hosts. */
export async function provisionHosts(
  context: Context,
  input: CommandInput,
  opened: OpenFleet,
  { saved, limits, probe, adopt: adopts, onlyHarmless, ended }: Provisioning,
): Promise<Result> {
  return connected(context, input, opened, overSsh, async (open) => {
    const { hosts } = open;
    const { tools: allTools, blocked, prepare } = await openPlanning(context, input, open);
    const harmless = onlyHarmless === undefined ? undefined : new HarmlessPlans(allTools);
    const tools = harmless?.tools ?? allTools;
    const onPools = (pools: PoolsPlan) =>
      pools.blocked.forEach((problem, pool) => blocked.set(pool, problem));
    let outcomes: readonly HostOutcome[] | undefined;
    let adopt = adopts;
    const result = await changeHosts(context, input, open, {
      question: (where) => `Apply these changes to ${where}?`,
      unasked: 'review the plan with "azp-fleet plan", then run again with --yes',
      beside: () => distinct(blocked),
      survey: async () => {
        const follow = !input.options.flag('dryRun');
        if (saved === undefined) {
          const found = await surveyFleet(open.fleet, hosts, open.azure, tools, { follow, onPools });
          return harmless?.announce(found) ?? found;
        }
        // The saved plan already has the answers of the package managers.
        const { question: _question, ...asking } = tools;
        const found = await surveyFleet(open.fleet, hosts, open.azure, asking, { follow, onPools });
        return announcedBy(saved, found);
      },
      isConfirmedSeparately: (plan) => !adopt && hasOnlyTakeOvers(plan),
      agree: async ({ pools }) => {
        const titles = pools.changes.flatMap(({ action, title }) =>
          action.kind === 'take-over' ? [title] : [],
        );
        if (adopt || titles.length === 0 || input.options.flag('yes')) return;
        adopt = await confirm(context, takeOverQuestion(titles));
      },
      waves: (survey) =>
        harmless === undefined
          ? planWaves(wavesOf(open.fleet.hosts, survey, { command: 'provision', proven: probe }), limits)
          : undefined,
      left: () => harmless?.left ?? [],
      apply: async (survey) => {
        await prepare(survey);
        const { projects, hosts: inventory } = open.fleet;
        const exactFacts = saved !== undefined;
        const only = harmless === undefined ? {} : { onlyHarmless: true as const };
        const how = { exactFacts, probe, inventory, limits, onPools, projects, adopt, ...only };
        outcomes = await applyFleet(survey, open.azure, tools, how);
        return outcomes;
      },
    });
    if (outcomes !== undefined) await ended?.(outcomes);
    if (result.exitCode === ExitCode.declined) return result;
    if (harmless === undefined) return { ...result, json: { ...result.json, left: leftJson(undefined) } };
    const { left } = harmless;
    const all = withLeft(result, left);
    if (outcomes === undefined) return all;
    const { exitCode } = all;
    const unsent = await reportLeft(context, open, {
      outcomes,
      left,
      exitCode,
      textfile: onlyHarmless?.textfile,
    });
    return { ...all, problems: [...(all.problems ?? []), ...unsent], warnings: unsent };
  });
}

/** Adds what is left to the result: exit code 3, unless a host failed. */
function withLeft(result: Result, left: readonly Left[]): Result {
  const { exitCode, json } = result;
  return {
    ...result,
    exitCode: exitCode === ExitCode.ok && left.length > 0 ? ExitCode.changesPending : exitCode,
    json: { ...json, left: leftJson(left) },
  };
}

/** Returns a separate question: consent to changes on a host is no consent to disconnect another machine. */
function takeOverQuestion(titles: readonly string[]): string {
  const [first = ''] = titles;
  const what = `${first.slice(0, 1).toUpperCase()}${first.slice(1)}`;
  const more = titles.length === 1 ? '' : `, and ${titles.length - 1} more (see the plan)`;
  return `${what}${more}? The earlier installation then loses these names.`;
}

async function savedPlan(
  { cwd }: Context,
  { options }: CommandInput,
  { fleet }: OpenFleet,
): Promise<FleetPlan | undefined> {
  const file = options.string('plan');
  if (file === undefined) return undefined;
  return readPlanFile(resolvePath(cwd, file), { version, inventoryDigest: inventoryDigest(fleet) });
}

/** Returns the hosts to provision: the selected ones, filtered by `--rerun failed` and `--plan FILE`. */
export async function chooseHosts(
  selected: readonly HostSpec[],
  rerun: string | undefined,
  { journal, state }: { readonly journal: string; readonly state: OwnFolder },
  saved: FleetPlan | undefined,
): Promise<readonly HostSpec[]> {
  if (rerun !== undefined && rerun !== 'failed')
    throw usageError({
      code: 'usage.rerun',
      what: '--rerun has only one value',
      expected: 'failed',
      seen: rerun,
      next: 'use --rerun failed, or omit it for all hosts',
    });
  if (rerun !== undefined && state.refused !== undefined)
    throw usageError({ code: 'usage.rerun', ...state.refused });
  const failed = rerun === undefined ? undefined : new Set(await failedHosts(journal));
  const planned = saved === undefined ? undefined : new Set(saved.hosts.map(({ host }) => host));
  const hosts = selected.filter(({ name }) => failed?.has(name) !== false && planned?.has(name) !== false);
  if (hosts.length > 0) return hosts;
  throw usageError({
    code: 'usage.no-hosts',
    what: rerun === undefined ? 'the plan has none of these hosts' : 'no host failed in the last run',
    next: 'run without this option',
  });
}

/**
 * Saves the result of the run for `--rerun failed`. A journal that cannot be written is only a warning, because the
 * changes are already made.
 */
export async function saveJournal(
  context: Context,
  { commandLine: command }: CommandInput,
  { journal, inventory }: { readonly journal: string; readonly inventory: string },
  outcomes: readonly HostOutcome[],
): Promise<void> {
  const at = timestamp(context.clock);
  try {
    await writeJournal(journal, { inventory, at, command }, outcomes);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === undefined) throw error;
    context.log.log('warn', 'journal', { error });
    warn(context.stderr, {
      what: `--rerun failed will not include this run: ${journal} cannot be written (${code})`,
    });
  }
}
