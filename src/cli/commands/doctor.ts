import { climbHost } from '../../fleet/doctor/host-rungs.ts';
import { hostSeen } from '../../fleet/doctor/host-seen.ts';
import { hasFix, overall, type RungResult } from '../../fleet/doctor/ladder.ts';
import { climbMachine, type TokenSeen } from '../../fleet/doctor/machine-rungs.ts';
import { askToken, poolsOfHost, readDisk, readPools, readSsh, ServerClock } from '../../fleet/doctor/read.ts';
import type { Fleet, HostSpec } from '../../fleet/inventory/fleet.ts';
import { expiryWarning } from '../../fleet/inventory/secret.ts';
import { agentsToFind, describeEach, listPools, observeHosts } from '../../fleet/status/collect.ts';
import type { Observation } from '../../fleet/status/row.ts';
import type { PoolAgents } from '../../fleet/verdict/host-view.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, FleetError, type Problem } from '../../shared/base/errors.ts';
import { defined } from '../../shared/base/objects.ts';
import type { CommandInput } from '../command.ts';
import { cacheFolder } from '../own-folders.ts';
import { painter } from '../render/color.ts';
import { doctorText, type HostLadder } from '../render/doctor.ts';
import { say } from '../render/lines.ts';
import type { Result } from '../result.ts';
import { waveLimits } from '../run/change-hosts.ts';
import { forPlan, openAzure, type OpenFleet } from '../run/fleet.ts';
import { connected, type Connected, overSsh } from '../run/hosts.ts';
import { openHosts, type OpenHosts } from '../run/inventory.ts';
import { withoutSecrets } from '../run/secrets.ts';
import { provisionHosts } from './provision.ts';

/** Checks everything that a host's agents depend on, from this machine to the agents; with --job why a build waits. Changes nothing without --fix. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const job = input.options.string('job');
  if (job !== undefined) return (await import('./doctor-job.ts')).runJob(context, input, job);
  const clock = new ServerClock(context.clock);
  let open: OpenHosts;
  try {
    open = openHosts(context, input);
  } catch (error) {
    // A host or an option that is typed wrong is no fault of the configuration.
    if (!(error instanceof FleetError) || !isOfInventory(error.problem)) throw error;
    return ofInventory(context, error.problem, clock);
  }
  const access = await openAccess(context, input, open, clock);
  const first = await checkAll(context, input, access, clock);
  if (!input.options.flag('fix')) return resultOf(context, first);
  const { opened } = access;
  const fixable = new Set(first.hosts.flatMap(({ host, rungs }) => (isFixable(rungs) ? [host] : [])));
  if (opened === undefined || fixable.size === 0) {
    const result = resultOf(context, first);
    return isOk(first) ? result : { ...result, warnings: [nothingToFix] };
  }
  if (!input.options.flag('json')) say(context.stdout, `${textOf(context, first, true)}\n`);
  const hosts = opened.hosts.filter(({ name }) => fixable.has(name));
  const planned = await forPlan(context, { ...opened, hosts });
  const limits = waveLimits(input.options, planned.fleet);
  const fix = await provisionHosts(context, input, planned, { limits, probe: true, adopt: false });
  if (fix.exitCode === ExitCode.declined) return fix;
  const second = await checkAll(context, input, access, clock);
  return resultOf(context, second, fix);
}

function isOfInventory({ code }: Problem): boolean {
  return code.startsWith('inventory.') && code !== 'inventory.nothing-selected';
}

/** The hosts, and what is known of the token. `opened`: access to Azure DevOps; undefined: the token cannot be read. */
interface Access {
  readonly open: OpenHosts;
  readonly opened?: OpenFleet;
  readonly problem?: Problem;
}

async function openAccess(
  context: Context,
  input: CommandInput,
  open: OpenHosts,
  clock: ServerClock,
): Promise<Access> {
  try {
    return { open, opened: await openAzure(context, input, open, (fetch) => clock.noting(fetch)) };
  } catch (error) {
    if (!(error instanceof FleetError) || context.signal.aborted) throw error;
    return { open, problem: error.problem };
  }
}

/** The results of all ladders. */
interface Checked {
  readonly machine: readonly RungResult[];
  readonly hosts: readonly HostLadder[];
  readonly problems: readonly Problem[];
}

async function checkAll(
  context: Context,
  input: CommandInput,
  access: Access,
  clock: ServerClock,
): Promise<Checked> {
  const { opened, open } = access;
  return connected(context, input, opened ?? open, overSsh, async (at) => {
    const { fleet } = open;
    const probeMs = input.options.flag('probe')
      ? (input.options.duration('probeTimeout') ?? 60_000)
      : undefined;
    const observing = observe(context, input, at, probeMs);
    const [observations, token] = await Promise.all([observing, readToken(context, access)]);
    const names = [...new Set(observations.flatMap(poolsOfHost))];
    const [agents, pools] = await Promise.all([
      readAgents(opened, names, observations, context.clock.wall()),
      opened === undefined ? undefined : readPools(opened.azure, names, fleet.projects),
    ]);
    const machine = await climbLocal(context, fleet, {
      token,
      hosts: fleet.hosts.length,
      clock,
      ...defined({ configuration: isOfToken(access.problem) ? undefined : access.problem }),
    });
    const around = {
      agentsIn: (pool: string) => agents.get(pool),
      projects: fleet.projects,
      isProbeOff: probeMs === undefined,
      now: context.clock.wall(),
    };
    const { rows, problems } = describeEach(observations, context.log, (observation): HostLadder => {
      const own = pools && poolsOfHost(observation).flatMap((name) => pools.get(name) ?? []);
      const seen = hostSeen(observation, { ...around, pools: own });
      return { host: observation.host.name, rungs: climbHost(seen, machine) };
    });
    return { machine, hosts: rows, problems };
  });
}

function observe(
  context: Context,
  { options }: CommandInput,
  { hosts, transport, emit }: { readonly hosts: readonly HostSpec[] } & Connected,
  deadlineMs: number | undefined,
): Promise<readonly Observation[]> {
  return observeHosts(hosts, {
    transport,
    emit,
    root: context.root,
    log: context.log,
    clock: context.clock,
    signal: context.signal,
    parallel: options.integer('parallel', { min: 1, max: 1000 }) ?? 20,
    probe: deadlineMs === undefined ? undefined : { deadlineMs, deep: false },
  });
}

async function readAgents(
  opened: OpenFleet | undefined,
  names: readonly string[],
  observations: readonly Observation[],
  now: number,
): Promise<ReadonlyMap<string, PoolAgents>> {
  if (opened === undefined) return new Map();
  const wanted = (pool: string) => Promise.resolve(agentsToFind(observations, pool));
  return (await listPools(opened.azure, names, wanted, now)).agents;
}

async function readToken(
  context: Context,
  { open: { fleet, hosts }, opened, problem }: Access,
): Promise<TokenSeen> {
  const { expires } = fleet.credential;
  const seen = {
    organization: fleet.organization,
    ...defined({
      problem: isOfToken(problem) ? problem : undefined,
      expires,
      expiry: expiryWarning(expires, context.clock.wall()),
    }),
  };
  if (opened === undefined) return seen;
  return { ...seen, ...(await askToken(opened.azure, opened.permissions, hosts[0]?.pool ?? '')) };
}

function isOfToken(problem: Problem | undefined): boolean {
  return problem?.code === 'inventory.secret';
}

interface LocalParts {
  readonly token: TokenSeen;
  readonly hosts: number;
  readonly clock: ServerClock;
  readonly configuration?: Problem;
}

async function climbLocal(
  context: Context,
  fleet: Fleet | undefined,
  { clock, ...parts }: LocalParts,
): Promise<readonly RungResult[]> {
  const env = fleet === undefined ? context.env : withoutSecrets(context.env, fleet);
  const [ssh, disk] = await Promise.all([readSsh(env, context.signal), readDisk(cacheFolder(context))]);
  return climbMachine({ ...parts, node: process.versions.node, ssh, disk, aheadMs: clock.aheadMs });
}

/** Returns the result if the inventory cannot be read: only this machine is checked. */
async function ofInventory(context: Context, configuration: Problem, clock: ServerClock): Promise<Result> {
  const machine = await climbLocal(context, undefined, { configuration, hosts: 0, clock, token: {} });
  const checked = { machine, hosts: [], problems: [configuration] };
  return { ...resultOf(context, checked), exitCode: ExitCode.usage, aside: configuration.details ?? [] };
}

/** Tells whether a host was reached, and `provision` does the next action of one of its rungs. */
function isFixable(rungs: readonly RungResult[]): boolean {
  return hasFix(rungs) && rungs.some(({ rung, state }) => rung === 'os' && state === 'ok');
}

/** `isFixing`: the line about --fix is left out. */
function textOf(context: Context, { machine, hosts }: Checked, isFixing: boolean): string {
  const { columns: width = 120, rows } = context.stdout;
  const paint = painter(context.stdout, context.env);
  return doctorText(
    { machine, hosts, fixable: isFixing ? [] : hosts.filter(({ rungs }) => isFixable(rungs)) },
    { width, rows, paint },
  );
}

const nothingToFix: Problem = {
  code: 'doctor.nothing-to-fix',
  what: 'azp-fleet provision fixes none of this: nothing was changed',
  next: 'do the next actions above',
};

function isOk({ machine, hosts }: Checked): boolean {
  return [machine, ...hosts.map(({ rungs }) => rungs)].every((rungs) => overall(rungs) === 'ok');
}

/** `fix`: the result of `provision`, which is shown above. */
function resultOf(context: Context, checked: Checked, fix?: Result): Result {
  const { machine, hosts, problems } = checked;
  return {
    exitCode: isOk(checked) ? (fix?.exitCode ?? ExitCode.ok) : ExitCode.hostFailed,
    json: { machine, hosts, fixed: fix?.json['hosts'] ?? null, job: null },
    problems: [...(fix?.problems ?? []), ...problems],
    text: () => [
      ...[fix?.text?.() ?? []].flatMap((text) => (typeof text === 'string' ? [text, '\n'] : [...text])),
      textOf(context, checked, fix !== undefined),
    ],
  };
}
