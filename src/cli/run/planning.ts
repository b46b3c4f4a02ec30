import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type { ApplyOptions, ApplyTools, HostTools } from '../../fleet/apply/apply-tools.ts';
import { findTokenGaps } from '../../fleet/apply/pools.ts';
import type { FleetSurvey } from '../../fleet/apply/fleet-survey.ts';
import { fromNetwork, type UploadSources } from '../../fleet/artifacts/upload-sources.ts';
import { openBundle } from '../../fleet/bundle/archive.ts';
import { fromBundle } from '../../fleet/bundle/from-bundle.ts';
import type { GatheredFacts } from '../../fleet/facts/facts.ts';
import { reading } from '../../fleet/facts/unread.ts';
import { gatherFacts } from '../../fleet/facts/gather.ts';
import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import { desiredOf } from '../../fleet/plan/desired.ts';
import type { HostPlan } from '../../fleet/plan/fleet-plan.ts';
import { planHost, type PlanOptions, questionFor, withSharedTexts } from '../../fleet/plan/plan.ts';
import { blockedOf } from '../../fleet/apply/waves.ts';
import { type FileArtifact, packedWith } from '../../fleet/steps/change.ts';
import { allSteps } from '../../fleet/steps/all.ts';
import type { Desired, Step } from '../../fleet/steps/step.ts';
import type { AzureClient } from '../../shared/azure/client.ts';
import { timestamp } from '../../shared/base/clock.ts';
import type { Context } from '../../shared/base/context.ts';
import type { Problem } from '../../shared/base/errors.ts';
import type { Logger } from '../../shared/base/log.ts';
import { defined } from '../../shared/base/objects.ts';
import { valueOf } from '../../shared/base/reading.ts';
import { quote } from '../../shared/base/shell.ts';
import { version } from '../../shared/base/version.ts';
import type { DrainCommand } from '../../shared/contract/drain.ts';
import type { CommandInput } from '../command.ts';
import { cacheFolder } from '../own-folders.ts';
import { ownAudit } from './audit.ts';
import type { OpenFleet } from './fleet.ts';
import { type Connected, ownerName } from './hosts.ts';

/** Returns the tools to reach and read hosts, with or without Azure DevOps. */
export function hostTools(
  context: Context,
  input: CommandInput,
  { transport, emit }: Pick<Connected, 'transport' | 'emit'>,
  command: DrainCommand = 'provision',
): HostTools {
  const run = randomUUID();
  context.log.log('info', 'run', { run });
  return {
    transport,
    gather: (session, host) => gatherFacts(session, host, context.root, context.signal),
    owner: {
      who: ownerName(context),
      command: input.commandLine,
      since: timestamp(context.clock),
    },
    run,
    command,
    emit,
    log: context.log,
    signal: context.signal,
    clock: context.clock,
    sleep: (ms) => delay(ms, undefined, { signal: context.signal }),
    options: applyOptions(input),
    ...defined({ audit: ownAudit(context) }),
  };
}

/** The parts shared by commands with a plan. */
interface Planning {
  readonly tools: ApplyTools;
  /** Pools that cannot be used; their hosts are planned without the manager. */
  readonly blocked: Map<string, Problem>;
  /** Creates the files that the plan's uploads need. */
  readonly prepare: (survey: Pick<FleetSurvey, 'hosts'>) => Promise<void>;
  readonly desired: (host: HostSpec) => Desired;
}

/** The part of a plan that a command applies. */
export interface PlanPart {
  readonly steps: (facts: GatheredFacts, host: HostSpec, desired: Desired) => readonly Step[];
  /** Returns the host as the steps shall see it. */
  readonly host: (facts: GatheredFacts, host: HostSpec) => HostSpec;
}

export async function openPlanning(
  context: Context,
  input: CommandInput,
  open: OpenFleet & Connected,
  part?: PlanPart,
): Promise<Planning> {
  const cache = cacheFolder(context);
  const folders = open.hosts.flatMap(({ dockerfile }) => dockerfile?.folder ?? []);
  const { artifacts, included, prepare } = await uploadSources(context, input, open, { cache, folders });
  const blocked = new Map<string, Problem>();
  const withoutManager = allSteps.filter(({ name }) => name !== 'image' && name !== 'manager');
  const { credential, registries, webhooks, caPem, fleet } = open;
  const { root } = context;
  const desiredFor = desiredOf(fleet, {
    artifacts,
    credential,
    registries,
    webhooks,
    caPem,
    version,
    root,
    ...defined({ included }),
  });
  const desired = (facts: GatheredFacts, host: HostSpec): Desired =>
    desiredFor(part?.host(facts, host) ?? host);
  const how = (facts: GatheredFacts, host: HostSpec): PlanOptions => ({
    steps:
      part?.steps(facts, host, desiredFor(host)) ??
      (blockedOf({ host, facts }, blocked) === undefined ? allSteps : withoutManager),
    // What disturbs is left with --only-harmless, and refuses no host.
    disturbOthers: input.options.flag('disturbOthers') || input.options.flag('onlyHarmless'),
  });
  const getsToken = ({
    host,
    facts,
  }: {
    readonly host: HostSpec;
    readonly facts: GatheredFacts;
  }): boolean => {
    const seen = valueOf(reading(facts, 'manager'));
    return (
      seen !== undefined &&
      desiredFor(host).credentialDigest?.(facts.machineId) !== seen.manager.credentialDigest
    );
  };
  const texts = new Map<string, string>();
  const tools: ApplyTools = {
    ...hostTools(context, input, open),
    plan: (facts, host, answers) =>
      withSharedTexts(planHost(facts, desired(facts, host), how(facts, host), answers), texts),
    question: (facts, host, known) => questionFor(facts, desired(facts, host), how(facts, host), known),
    // The credential of this machine does not show what managers with an identity of their own may do.
    ...(fleet.identity === undefined
      ? {
          checkToken: async (hosts) => {
            const isNew = hosts.some(getsToken);
            const holder = isNew ? 'none' : 'hosts';
            return { gaps: await findTokenGaps(open.azure, open.permissions, hosts, holder), isNew };
          },
        }
      : {}),
    credential,
    ...defined({ registries }),
    webhooks,
    jobPages: (pool) => jobPages(open.azure, pool, context.log),
  };
  const prepareAll = async ({ hosts }: Pick<FleetSurvey, 'hosts'>) => {
    const runtimes = new Map(hosts.flatMap(({ plan }) => runtimesOf(plan)).map((each) => [each.file, each]));
    for (const runtime of runtimes.values()) await prepare(runtime);
  };
  return { tools, blocked, prepare: prepareAll, desired: desiredFor };
}

/** Returns the plan's uploads of the runtime, the only compressed ones. */
function runtimesOf({ stages }: HostPlan): readonly FileArtifact[] {
  const actions = stages.flat().flatMap((change) => (change.kind === 'change' ? change.actions : []));
  return actions.flatMap((action) =>
    action.kind === 'upload' && action.artifact.kind === 'file' && packedWith(action.artifact) !== undefined
      ? [action.artifact]
      : [],
  );
}

function applyOptions({ options }: CommandInput): ApplyOptions {
  return {
    parallel: options.integer('parallel', { min: 1, max: 1000 }) ?? 20,
    drainTimeoutMs: options.duration('drainTimeout') ?? 4 * 3_600_000,
    breakLock: options.flag('breakLock'),
  };
}

/** Returns the page of each agent's job, by agent name; empty if the server does not answer, as it is only informative. */
async function jobPages(
  client: AzureClient,
  poolName: string,
  log: Logger,
): Promise<ReadonlyMap<string, string>> {
  try {
    const pool = await client.findPool(poolName);
    const requests = pool === undefined ? [] : await client.unfinishedRequests(pool.id);
    return new Map(
      requests.flatMap(({ reservedAgent, owner }) => {
        const page = owner?._links?.web?.href;
        return reservedAgent === undefined || page === undefined ? [] : [[reservedAgent.name, page]];
      }),
    );
  } catch (error) {
    log.log('warn', 'job pages', { error: String(error) });
    return new Map();
  }
}

/** Progress of the bundle check is shown at every tenth. */
const tenth = 10;

/** Returns the sources of uploads: --bundle, or the network. */
async function uploadSources(
  context: Context,
  { options, inventory }: CommandInput,
  { fleet, caPem, emit }: OpenFleet & Pick<Connected, 'emit'>,
  { cache, folders }: { readonly cache: string; readonly folders: readonly string[] },
): Promise<UploadSources> {
  const { signal, clock, env, cwd } = context;
  const note = (text: string): void => emit({ kind: 'note', text });
  const file = options.string('bundle');
  if (file === undefined) {
    const site = { proxy: fleet.proxy, caPem, registry: fleet.mirrors.npm };
    return fromNetwork({ cache, folders, now: clock.wall(), env, signal, note, site });
  }
  let shown = 0;
  const onProgress = (done: number, total: number): void => {
    const now = Math.floor((tenth * done) / total);
    if (now > shown && total > 1e9) note(`checking ${file}: ${now * 10} %`);
    shown = now;
  };
  const bundle = await openBundle(resolve(cwd, file), { signal, onProgress });
  const again = `create it again on a machine with internet access: azp-fleet bundle ${quote(inventory)} -o ${quote(file)}`;
  return fromBundle(bundle, { again, cache, folders, now: clock.wall() });
}
