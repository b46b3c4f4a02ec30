import { readFileSync } from 'node:fs';

import { applyHosts } from '../../fleet/apply/apply.ts';
import { finishHost } from '../../fleet/apply/apply-host.ts';
import type { ApplyTools } from '../../fleet/apply/apply-tools.ts';
import { exitCodeOf, type HostOutcome } from '../../fleet/apply/outcome.ts';
import { agentsBefore } from '../../fleet/apply/fleet-survey.ts';
import { distinct, latePools } from '../../fleet/apply/pools.ts';
import { poolLists } from '../../fleet/apply/pool-lists.ts';
import { proofOf } from '../../fleet/apply/prove.ts';
import { type HostsSurvey, surveyHosts } from '../../fleet/apply/survey.ts';
import { type InWaves, wavesOf } from '../../fleet/apply/waves.ts';
import type { GatheredFacts } from '../../fleet/facts/facts.ts';
import { reading } from '../../fleet/facts/unread.ts';
import type { Fleet, HostSpec } from '../../fleet/inventory/fleet.ts';
import { foldNames } from '../../fleet/inventory/fold-names.ts';
import { parseFleet } from '../../fleet/inventory/load.ts';
import type { FleetPlan, WavesPlan } from '../../fleet/plan/fleet-plan.ts';
import { planLaterPools } from '../../fleet/plan/pools.ts';
import { needsDrain } from '../../fleet/plan/refine.ts';
import { planWaves } from '../../fleet/plan/waves.ts';
import type { Transport } from '../../fleet/ssh/transport.ts';
import { laterPools } from '../../fleet/steps/pool-names.ts';
import type { Desired } from '../../fleet/steps/step.ts';
import { type EditedInventory, editInventory, type Target, withTarget } from '../../fleet/upgrade/edit.ts';
import { leftBehind } from '../../fleet/upgrade/left.ts';
import { isManagerCurrent, stepsFor, withOthersKept } from '../../fleet/upgrade/only.ts';
import {
  configuredOf,
  hasNoWayBack,
  installedOf,
  isSetPart,
  type PartName,
} from '../../fleet/upgrade/parts.ts';
import { InventoryOfUpgrade } from '../../fleet/upgrade/record.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, type FleetError, type Problem, usageError, whyNot } from '../../shared/base/errors.ts';
import { valueOf } from '../../shared/base/reading.ts';
import { quote } from '../../shared/base/shell.ts';
import type { CommandInput } from '../command.ts';
import { stateFolder } from '../own-folders.ts';
import { painter } from '../render/color.ts';
import { say } from '../render/lines.ts';
import { editLines } from '../render/upgrade.ts';
import { problemsAmong, type Result } from '../result.ts';
import { changeHosts, waveLimits } from './change-hosts.ts';
import { type OpenFleet, openForPlan } from './fleet.ts';
import { connected, type Connected, overSsh, type Wiring } from './hosts.ts';
import { needsProof } from './own-plan.ts';
import { openPlanning, type PlanPart } from './planning.ts';

/** What is upgraded, and to which version. */
export interface Goal {
  /** As typed: a part, or `all`. */
  readonly word: string;
  readonly to: string;
  readonly versions: ReadonlyMap<PartName, string>;
}

/** Tests replace tools. */
interface UpgradeOptions extends Partial<Pick<ApplyTools, 'gather' | 'plan' | 'question' | 'sleep'>> {
  readonly wiring?: Wiring<Transport>;
}

/**
 * Upgrades hosts: one of each kind, then the inventory is written, then the others in waves. A run that does not succeed puts the
 * earlier text of the inventory back.
 */
export async function upgradeHosts(
  context: Context,
  input: CommandInput,
  goal: Goal,
  { wiring = overSsh, ...replaced }: UpgradeOptions = {},
): Promise<Result> {
  const opened = await openForPlan(context, input);
  const { fleet } = opened;
  const parts = [...goal.versions.keys()];
  const managed = opened.hosts.filter((host) => parts.some((part) => isManaged(part, host)));
  if (managed.length === 0) throw leftAlone(opened.hosts, parts);
  const targets = [...goal.versions].flatMap(([part, to]): Target[] =>
    isSetPart(part) ? [{ part, to }] : [],
  );
  const others = opened.hosts.filter((host) => !managed.includes(host));
  if (others.length > 0 && !input.options.flag('json'))
    say(
      context.stderr,
      `not upgraded, because the inventory leaves this part alone: ${foldNames(others.map(({ name }) => name))}\n`,
    );
  const inventory = openInventory(context, input, opened, { targets, managed, goal });
  const names = new Set(managed.map(({ name }) => name));
  const upgraded = targets.reduce(
    (now, target) => withTarget(now, target, managedNames(target.part, managed)),
    fleet,
  );
  const hosts = upgraded.hosts.filter(({ name }) => names.has(name));
  return connected(context, input, { ...opened, fleet: upgraded, hosts }, wiring, (open) =>
    new UpgradeRun(context, input, open, { goal, parts, before: fleet, inventory, replaced }).run(),
  );
}

function isManaged(part: PartName, host: HostSpec): boolean {
  return configuredOf(part, host).left === undefined;
}

function managedNames(part: PartName, hosts: readonly HostSpec[]): ReadonlySet<string> {
  return new Set(hosts.filter((host) => isManaged(part, host)).map(({ name }) => name));
}

function leftAlone(hosts: readonly HostSpec[], parts: readonly PartName[]): FleetError {
  const [part = 'driver'] = parts;
  return usageError({
    code: 'usage.upgrade',
    what: `azp-fleet does not manage this part on ${hosts.length === 1 ? hosts[0]?.name : 'these hosts'}`,
    seen: [...new Set(hosts.map((host) => configuredOf(part, host).left ?? ''))].join(', '),
    next: 'remove that from the inventory, or upgrade it by hand',
  });
}

/** Returns the inventory with the text that the upgrade will write. Throws where no edit of the text gives these versions. */
function openInventory(
  context: Context,
  input: CommandInput,
  { fleet }: Pick<OpenFleet, 'fleet'>,
  { targets, managed, goal }: { targets: readonly Target[]; managed: readonly HostSpec[]; goal: Goal },
): { readonly file: InventoryOfUpgrade; readonly edited: EditedInventory } {
  const state = stateFolder(context.env, context.home);
  if (state.refused !== undefined) throw usageError({ code: 'upgrade.record', ...state.refused });
  const text = readText(fleet.file);
  const parse = (source: string): Fleet => parseFleet(source, input.inventory, context);
  const named = [...input.positionals, ...input.options.list('limit')];
  const places = new Set(named.length === 0 ? ['defaults'] : named);
  let edited: EditedInventory = { text, edits: [] };
  for (const target of targets) {
    const meant = { hosts: managedNames(target.part, managed), places };
    const next = editInventory(edited.text, target, meant, parse);
    if (next === undefined) throw notEditable(fleet.file, target);
    edited = { text: next.text, edits: [...edited.edits, ...next.edits] };
  }
  const names = managed.map(({ name }) => name).join(' ');
  const file = new InventoryOfUpgrade(state.path, {
    file: fleet.file,
    text,
    edited: edited.text,
    goal: `${goal.word} ${[...goal.versions.values()].join(' ')} ${names}`,
  });
  return { file, edited };
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw usageError(
      { code: 'inventory.unreadable', what: `${file} cannot be read`, seen: whyNot(error) },
      error,
    );
  }
}

function notEditable(file: string, { part, to }: Target): FleetError {
  return usageError({
    code: 'upgrade.inventory',
    what: `no edit of ${file} sets ${part} ${to} for exactly these hosts`,
    expected: `${part}: as keys of defaults, of a group or of the hosts, without an alias (*NAME)`,
    next: `write the version into the inventory yourself, then run azp-fleet provision`,
  });
}

interface Upgrade {
  readonly goal: Goal;
  readonly parts: readonly PartName[];
  /** The fleet as the inventory has it now. */
  readonly before: Fleet;
  readonly inventory: ReturnType<typeof openInventory>;
  readonly replaced: Partial<ApplyTools>;
}

class UpgradeRun {
  readonly #context: Context;
  readonly #input: CommandInput;
  readonly #open: OpenFleet & Connected;
  readonly #upgrade: Upgrade;
  readonly #managersCurrent = new Map<string, boolean>();

  constructor(context: Context, input: CommandInput, open: OpenFleet & Connected, upgrade: Upgrade) {
    this.#context = context;
    this.#input = input;
    this.#open = open;
    this.#upgrade = upgrade;
  }

  async run(): Promise<Result> {
    const [context, input, open] = [this.#context, this.#input, this.#open];
    const { goal, inventory } = this.#upgrade;
    const { edited } = inventory;
    const limits = waveLimits(input.options, open.fleet);
    const { tools: planning, prepare } = await openPlanning(context, input, open, this.#planPart());
    const tools: ApplyTools = { ...planning, ...this.#upgrade.replaced };
    const command = tools.command;
    const fleetOf = (found: HostsSurvey) =>
      wavesOf(open.fleet.hosts, found, { command, proven: true, everyChange: true });
    const page = { width: context.stdout.columns ?? 100, paint: painter(context.stdout, context.env) };
    let tokenGaps: readonly Problem[] = [];
    let left: readonly Problem[] = [];
    const result = await changeHosts(context, input, open, {
      question: (where) =>
        `Upgrade ${goal.word} to ${this.#to}${where === '' ? ' in the inventory' : ` on ${where}`}?`,
      unasked: 'review the plan with --dry-run, then run again with --yes',
      elsewhere: (found) => [
        ...editLines(input.inventory, edited.edits, page),
        ...newPools(found).map(({ title }) => `Azure DevOps: ${title}`),
      ],
      survey: () =>
        surveyHosts(open.hosts, tools, { follow: !input.options.flag('dryRun') }, async (reached) => {
          tokenGaps = this.#usesToken()
            ? distinct((await tools.checkToken?.(reached))?.gaps ?? new Map())
            : [];
        }),
      waves: (found) => shownWaves(found, planWaves(fleetOf(found), limits)),
      stop: (found, plan) => this.#obstacles(found, plan, tokenGaps),
      apply: async (found) => {
        await prepare(found);
        let outcomes: readonly HostOutcome[] | undefined;
        try {
          outcomes = await this.#apply(found, tools, { fleet: fleetOf(found), limits });
          return outcomes;
        } finally {
          left = this.#end(found, outcomes);
        }
      },
    });
    const { exitCode } = result;
    const ended = left.length > 0 && exitCode === ExitCode.ok ? ExitCode.hostFailed : exitCode;
    return {
      ...result,
      exitCode: ended,
      json: Object.keys(result.json).length === 0 ? {} : { parts: null, edits: edited.edits, ...result.json },
      problems: [...(result.problems ?? []), ...left],
      aside: [...(result.aside ?? []), ...left],
    };
  }

  async #apply(
    found: HostsSurvey,
    tools: ApplyTools,
    bounds: Pick<InWaves, 'fleet' | 'limits'>,
  ): Promise<readonly HostOutcome[]> {
    const { azure, fleet } = this.#open;
    const { parts, inventory } = this.#upgrade;
    const lists = poolLists(azure, this.#context.clock);
    const pools = { changes: newPools(found), blocked: new Map<string, Problem>() };
    const poolsReady = latePools(azure, { ...found, pools }, fleet.projects, tools.emit);
    const again = `run again: ${this.#input.commandLine}`;
    const waves = { ...bounds, again, canariesPassed: () => inventory.file.write() };
    const agentsIn = await agentsBefore(found.hosts, azure);
    return applyHosts({ ...found, agentsIn }, waves, tools, (host) =>
      finishHost(
        host,
        { ...tools, poolsReady },
        {
          exactFacts: false,
          ...(hasNoWayBack(parts) ? ({ staysDrained: true } as const) : {}),
          ...(needsProof(host, tools.command) ? { proof: proofOf(host, lists, tools) } : {}),
        },
      ),
    );
  }

  /** The version, for texts. */
  get #to(): string {
    const { word, to, versions } = this.#upgrade.goal;
    const [version = to] = versions.values();
    return word === 'all' ? 'the default versions' : version;
  }

  /** Ends the upgrade of the inventory, and returns what differs from it now. */
  #end(found: HostsSurvey, outcomes: readonly HostOutcome[] | undefined): readonly Problem[] {
    const { parts, inventory } = this.#upgrade;
    const isDone =
      outcomes !== undefined && exitCodeOf(outcomes) === ExitCode.ok && !this.#context.signal.aborted;
    const problem = inventory.file.end(isDone);
    const own = problem === undefined ? [] : [problem];
    if (isDone && problem === undefined) {
      if (inventory.edited.edits.length > 0) this.#say(`${this.#input.inventory} has the new version\n`);
      return own;
    }
    if (inventory.file.wasWritten && problem === undefined)
      this.#say(`${this.#input.inventory} has its earlier text again\n`);
    const was = new Map(
      found.hosts.map(({ host, facts }) => [
        host.name,
        Object.fromEntries(parts.map((part) => [part, valueOf(installedOf(part, facts))])),
      ]),
    );
    const again = this.#input.commandLine;
    return [...own, ...leftBehind({ parts, to: this.#to, was, outcomes: outcomes ?? [], again })];
  }

  #say(text: string): void {
    if (!this.#input.options.flag('json')) say(this.#context.stderr, text);
  }

  #usesToken(): boolean {
    return this.#upgrade.parts.some((part) => part === 'manager' || part === 'agent');
  }

  #planPart(): PlanPart {
    const { parts, before, goal } = this.#upgrade;
    const earlier = new Map(before.hosts.map((host) => [host.name, host]));
    const isAll = goal.word === 'all';
    return {
      host: (facts, host) => (isAll ? host : withOthersKept(host, facts, parts)),
      steps: (facts, host, desired) =>
        stepsFor(
          parts,
          facts,
          parts.includes('driver') &&
            this.#followsManager(host.name, facts, {
              ...desired,
              host: earlier.get(host.name) ?? host,
            }),
        ),
    };
  }

  /** Decided by the first facts of a host. */
  #followsManager(host: string, facts: GatheredFacts, desired: Desired): boolean {
    const known = this.#managersCurrent.get(host) ?? isManagerCurrent(facts, desired);
    this.#managersCurrent.set(host, known);
    return known;
  }

  /** Returns why no host is begun: a run that cannot succeed on all hosts would leave them different from the inventory. */
  #obstacles(found: HostsSurvey, plan: FleetPlan, tokenGaps: readonly Problem[]): Result | undefined {
    const { parts } = this.#upgrade;
    const missing = found.hosts.flatMap(({ host, facts }) =>
      parts.flatMap((part): Problem[] =>
        isManaged(part, host) && isMissing(part, facts) ? [notInstalled(host.name, part)] : [],
      ),
    );
    const refused = plan.hosts.flatMap(({ host, refusals }) =>
      refusals.map(({ step, what, next }): Problem => ({ code: 'plan.refused', host, step, what, next })),
    );
    const obstacles = [...tokenGaps, ...missing, ...refused];
    const held = (plan.waves?.held ?? []).map(({ host, what, next }): Problem => ({
      code: 'wave.held',
      host,
      what: `would not be begun: ${what}`,
      next,
    }));
    // Hosts wait for others that cannot be upgraded: those are the reason.
    const own = obstacles.length + found.failures.length === 0 ? held : obstacles;
    if (own.length === 0 && found.failures.length === 0) return undefined;
    const bad = new Set([
      ...own.flatMap(({ host }) => host ?? []),
      ...found.failures.map(({ host }) => host),
    ]);
    if (!this.#input.options.flag('json'))
      say(this.#context.stderr, nothingChanged([...bad], this.#input.commandLine));
    return {
      exitCode: ExitCode.hostFailed,
      json: { plan, hosts: found.failures },
      problems: [...problemsAmong(found.failures), ...own],
      aside: own,
    };
  }
}

/** Returns the pools that are named after the driver, and that are created once it is known. */
function newPools({ hosts }: HostsSurvey): ReturnType<typeof planLaterPools> {
  const later = hosts.flatMap(({ host, facts, plan }) =>
    plan.stages.flat().some(({ step }) => step === 'manager')
      ? laterPools(host, facts).map((pattern) => ({ pattern, host: host.name }))
      : [],
  );
  const byPattern = Map.groupBy(later, ({ pattern }) => pattern);
  return planLaterPools(
    new Map([...byPattern].map(([pattern, each]) => [pattern, each.map(({ host }) => host)])),
  );
}

/** Returns the waves as a plan shows them: no pool is empty where the agents keep running. */
function shownWaves({ hosts }: HostsSurvey, waves: WavesPlan | undefined): WavesPlan | undefined {
  if (waves === undefined || hosts.some(({ plan }) => needsDrain(plan.stages.flat()))) return waves;
  return { ...waves, emptied: [] };
}

/** Tells whether there is nothing to upgrade. A host without GPUs needs neither driver nor toolkit. */
function isMissing(part: PartName, facts: GatheredFacts): boolean {
  const needsGpus = part === 'driver' || part === 'toolkit';
  if (needsGpus && valueOf(reading(facts, 'gpus'))?.gpus.length === 0) return false;
  return installedOf(part === 'agent' ? 'manager' : part, facts).kind === 'absent';
}

function notInstalled(host: string, part: PartName): Problem {
  return {
    code: 'upgrade.not-installed',
    host,
    step: part,
    what: `no ${part} is installed, so there is nothing to upgrade`,
    next: `run azp-fleet provision ${quote(host)}`,
  };
}

function nothingChanged(hosts: readonly string[], again: string): string {
  const without = hosts.map((host) => quote(`!${host}`)).join(' ');
  const next = hosts.length === 0 ? '' : `; to upgrade the others, add ${without} to: ${again}`;
  return `No changes made: not all hosts can be upgraded${next}\n`;
}
