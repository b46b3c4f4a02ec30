// The JSON Schemas of `--json` in schemas/: one of each command that has --json. `npm run schema` writes them.
import * as z from 'zod';

import type { AuditRecord } from '../src/fleet/audit/read.ts';
import type { EditedValue } from '../src/fleet/upgrade/edit.ts';
import { type Configured, partNames, type PartRow } from '../src/fleet/upgrade/parts.ts';
import type { RungResult } from '../src/fleet/doctor/ladder.ts';
import type { PoolQueue } from '../src/fleet/status/collect.ts';
import type { MintedToken, RotationEnd } from '../src/cli/render/rotation.ts';
import type { HostOutcome } from '../src/fleet/apply/outcome.ts';
import type { DriftRow } from '../src/fleet/status/drift.ts';
import type { GpuDetail, HostDetail, SlotDetail } from '../src/fleet/status/detail.ts';
import type { JobsView, StatusRow } from '../src/fleet/status/row.ts';
import type {
  AgentReport,
  Cause,
  JobReport,
  QueuedJob,
  Unread,
  WaitingReport,
} from '../src/fleet/waiting/report.ts';
import { planSchema } from '../src/fleet/plan/read-plan.ts';
import { ExitCode, type Problem } from '../src/shared/base/errors.ts';
import type { Support } from '../src/shared/base/support-dates.ts';
import { historySchema } from '../src/shared/contract/history.ts';
import { pipelineKinds } from '../src/cli/render/pipeline.ts';
import type { LeftChange } from '../src/cli/run/only-harmless.ts';
import type { BuiltImage } from '../src/fleet/client/image-build.ts';
import type { ImageRow } from '../src/fleet/status/image.ts';
import type { PoolOverview } from '../src/shared/azure/pools/overview.ts';
import type { Leftover, Pruned, Stranger } from '../src/shared/azure/pools/prune.ts';
import type { Bases } from '../src/shared/image/choose.ts';
import { runsSchema, statusSchema } from '../src/shared/contract/status.ts';
import type { Finding, Verdict } from '../src/shared/health/verdict.ts';

/** A member that is missing here would be missing in the schema. */
type Members<T> = Record<keyof T, z.ZodType>;

const text = z.string();
const texts = z.array(text);
const count = z.int().nonnegative();
const nullable = <T extends z.ZodType>(schema: T) => z.union([schema, z.null()]);

const problem = z.object({
  code: text.describe('A code of docs/errors.md'),
  host: text.optional(),
  step: text.optional(),
  what: text,
  line: z.int().optional(),
  column: z.int().optional(),
  expected: text.optional(),
  seen: text.optional(),
  next: text.describe('The next action').optional(),
  get details(): z.ZodType {
    return z.array(problem).optional();
  },
} satisfies Members<Problem>);

/** The members of every document. */
const envelope = (command: string) => ({
  schema: z.literal(1),
  command: z.literal(command).describe('Absent if the arguments could not be parsed').optional(),
  version: text.describe('Of azp-fleet'),
  at: text.describe('ISO 8601'),
  exitCode: z.literal(Object.values(ExitCode)),
  problems: z.array(problem),
  log: text.describe('The debug log of this run').optional(),
});

const support = z.object({
  part: z.enum(['driver', 'cuda', 'docker', 'toolkit', 'agent', 'distribution']),
  version: text,
  state: z.enum(['supported', 'ending', 'ended', 'unknown']),
  ends: text.describe('The last day or month with support').optional(),
  successor: text.optional(),
} satisfies Members<Support>);

const finding = z.object({
  code: text,
  gpu: text.optional(),
  agents: texts.optional(),
  severity: z.enum(['info', 'warn', 'fail']),
  what: text,
  next: text,
  since: text.describe('ISO 8601; absent: found just now, or unknown').optional(),
} satisfies Members<Finding>);

const verdict = z.object({
  state: z.enum(['healthy', 'degraded', 'failed', 'hung', 'unreachable', 'off', 'unknown']),
  cause: text.describe('One line; empty when healthy'),
  next: text,
  code: text.optional(),
  note: text.optional(),
  azureAsked: z.literal(false).optional(),
  troubles: z.array(z.object({ code: text, on: text.optional() })).optional(),
} satisfies Members<Verdict>);

const known = <T extends z.ZodType>(value: T) => z.union([z.object({ value }), z.object({ unknown: text })]);

const gpuDetail = z.object({
  uuid: text,
  name: text.optional(),
  temperatureC: z.number().optional(),
  memoryUsedMiB: z.number().optional(),
  memoryTotalMiB: z.number().optional(),
  utilizationPercent: z.number().optional(),
  powerW: z.number().optional(),
  throttled: z.boolean().describe('Heat or the power brake slows it down').optional(),
  unknown: text.describe('Why values are absent').optional(),
} satisfies Members<GpuDetail>);

const { slots, images, drains, idle } = statusSchema.shape;

const slotDetail = z.object({
  slot: text,
  agent: text,
  pool: text,
  state: known(text),
  gpus: known(z.array(gpuDetail)),
  azure: z.enum(['online', 'offline', 'not registered']).optional(),
  disabled: z.literal(true).optional(),
  job: text.optional(),
  link: text.optional(),
  since: text.optional(),
  cause: text.optional(),
} satisfies Members<SlotDetail>);

const detail = z.object({
  slots: z.array(slotDetail),
  driver: known(nullable(text)),
  cuda: text.optional(),
  docker: known(nullable(text)),
  toolkit: known(nullable(text)),
  images: known(images),
  disk: known(z.array(z.object({ mount: text, freeBytes: z.number(), folders: texts }))),
  drains: known(drains),
} satisfies Members<HostDetail>);

const row = z.object({
  host: text,
  pool: text,
  slots: z.array(z.object({ slot: text, pool: text, image: text.optional() })).optional(),
  shares: z
    .array(z.object({ slot: text, memoryMiB: z.number().optional(), cpuShares: z.number() }))
    .optional(),
  verdict,
  oldest: z
    .object({ source: z.enum(['facts', 'report', 'gpus', 'connection', 'pool']), ageS: z.number() })
    .optional(),
  findings: z.array(finding).describe('Worst first'),
  hidden: z
    .array(
      finding.extend({
        behind: text
          .describe('The code of the finding that causes it; absent: it has not lasted long enough yet')
          .optional(),
      }),
    )
    .optional(),
  os: z.object({ id: text, version: text, pretty: text, arch: text }).optional(),
  gpus: z.object({ count, names: texts.optional() }).optional(),
  driver: text.optional(),
  docker: text.optional(),
  toolkit: text.optional(),
  manager: z.object({ version: text.optional(), state: text.optional() }).optional(),
  local: z.object({ wanted: count, ready: count, busy: count }).describe('Absent: unknown').optional(),
  azure: z
    .object({ registered: count, online: count, disabled: count, busy: count })
    .describe('Absent: a pool could not be read')
    .optional(),
  drained: nullable(z.boolean()).describe('null: unknown'),
  drains: drains.optional(),
  idle,
  checkedAt: text.optional(),
  unknown: z
    .array(z.object({ fact: text, why: text }))
    .describe('Facts that could not be read')
    .optional(),
  named: slots.optional(),
  support: z.array(support).optional(),
  drift: texts.optional(),
  detail: detail.describe('Only if the command line names exactly this host').optional(),
} satisfies Members<StatusRow & { readonly detail?: HostDetail }>);

const keyDrift = z.object({
  key: text.describe('Of the inventory; `*`: every key'),
  configured: nullable(text).describe('null: none, or unknown with the key'),
  there: z.union([z.object({ value: nullable(text) }), z.object({ unknown: text })]),
  hosts: texts,
} satisfies Members<DriftRow>);

const queue = z.object({
  pool: text,
  unknown: text.describe('Why it could not be read').optional(),
  jobs: z.object({ waiting: count, running: count, oldestWaitS: count.optional() }).optional(),
} satisfies Members<PoolQueue>);

const parallelJobs = z.object({
  agents: count,
  permitted: count,
  used: count.optional(),
} satisfies Members<JobsView>);

const findingsBeside = z.array(finding).describe('Do not break the rung').optional();
/** The members of a rung in this state, besides those of every rung. */
type RungMembers<State> = Omit<
  Members<Extract<RungResult, { readonly state: State }>>,
  'rung' | 'title' | 'state' | 'findings'
>;
const rungIs = <State extends RungResult['state']>(state: State, members: RungMembers<State>) =>
  z.object({ rung: text, title: text, state: z.literal(state), ...members, findings: findingsBeside });

/** A rung of doctor's ladder. */
const rung = z.union([
  rungIs('ok', { seen: text.optional() }),
  rungIs('broken', {
    code: text,
    what: text,
    expected: text.optional(),
    seen: text.optional(),
    next: text,
    fix: z.literal('provision').describe('`doctor --fix` does the next action').optional(),
  }),
  rungIs('unknown', { why: text, next: text.optional() }),
  rungIs('skipped', { why: text.describe('Why there is nothing to check'), next: text.optional() }),
  rungIs('blocked', { because: text.describe('The rung that failed, or is unknown'), why: text }),
]);

const waitingCause = z.object({
  code: text.describe('A code of docs/errors.md'),
  what: text,
  next: text,
  isPossible: z.literal(true).describe('What would show it could not be read').optional(),
  agents: z
    .array(
      z.object({
        agent: text,
        host: text.optional(),
        state: z.enum([
          'idle',
          'busy',
          'starting',
          'draining',
          'drained',
          'quarantined',
          'disabled',
          'offline',
        ]),
        since: text.describe('ISO 8601').optional(),
        job: text.optional(),
        build: count.describe('Of that job').optional(),
        link: text.optional(),
        why: text.optional(),
        unknown: text.describe('Why its manager was not read').optional(),
        lacks: z.array(z.object({ demand: text, has: text.optional() })).optional(),
      } satisfies Members<AgentReport>),
    )
    .optional(),
} satisfies Members<Cause>);

const jobStates = z.enum([
  'waiting',
  'sent',
  'running',
  'failed at once',
  'succeeded',
  'failed',
  'canceled',
  'lost',
  'ended',
]);

/** Why a build waits. */
const waiting = z.object({
  build: z.object({
    id: count,
    name: text.optional(),
    pipeline: text.optional(),
    project: text.optional(),
    status: text.describe('Only with Build (Read)').optional(),
    result: text.optional(),
  } satisfies Members<WaitingReport['build']>),
  jobs: z.array(
    z.object({
      name: text,
      pool: text,
      state: jobStates,
      queuedAt: text.optional(),
      demands: texts,
      agent: text.optional(),
      ahead: count.describe('Jobs of the pool that wait longer').optional(),
      causes: z.array(waitingCause),
    } satisfies Members<JobReport>),
  ),
  causes: z.array(waitingCause).describe('Reasons before any job of the build is queued'),
  queue: z
    .array(
      z.object({
        pool: text,
        build: count,
        buildName: text.optional(),
        pipeline: text.optional(),
        job: text,
        state: jobStates,
        queuedAt: text.optional(),
      } satisfies Members<QueuedJob>),
    )
    .describe('What is queued instead, if no job of the build was found'),
  unknown: z.array(z.object({ what: text, why: text } satisfies Members<Unread>)),
} satisfies Members<WaitingReport>);

const releaseLine = support.extend({
  isDefault: z.boolean(),
  release: text.optional(),
  newer: text.optional(),
  source: text,
  readOn: text,
  confirmed: z.boolean(),
});

/** One host of the inventory, with groups and defaults applied: its other members are those of the inventory. */
const inventoryHost = z.looseObject({
  name: text,
  groups: texts,
  labels: z.record(text, text),
  ssh: z.looseObject({ address: text.optional(), port: z.int().optional(), user: text.optional() }),
  pool: text,
  gpus: z.int().optional(),
  agentName: text,
});

const partNamesShape = z.enum(partNames);

const partRow = z.object({
  part: partNamesShape,
  installed: z.union([
    z.object({ kind: z.literal('value'), value: text }),
    z.object({ kind: z.literal('absent') }).describe('Not installed'),
    z.object({ kind: z.literal('unknown'), why: text, since: text.optional() }),
  ]),
  configured: z.object({
    version: text.describe('A version, or a branch of the driver').optional(),
    orNewer: z.literal(true).describe('The inventory sets none: an installed newer one stays').optional(),
    left: text.describe('Why azp-fleet leaves the part alone').optional(),
  } satisfies Members<Configured>),
  offered: z.union([
    z.object({ kind: z.literal('value'), value: texts.describe('The newest first') }),
    z.object({ kind: z.literal('unknown'), why: text, since: text.optional() }),
  ]),
  support: support.describe('Of the installed version').optional(),
} satisfies Members<PartRow>);

const plan = planSchema.shape;

/** One entry for each host: the answer, or why there is none. */
const answers = <T extends z.ZodType>(value: T) =>
  z.array(z.union([z.object({ host: text, value }), z.object({ host: text, problem })]));

const outcome = z.object({
  host: text,
  state: z.enum(['ok', 'changed', 'failed', 'unreachable', 'skipped']),
  changes: count,
  untouched: z.literal(true).optional(),
  problem: problem.optional(),
  verdict: verdict.optional(),
  interrupted: z
    .union([
      z.object({ during: z.enum(['drain', 'proof']) }),
      z.object({ during: z.literal('change'), title: text, continues: z.boolean(), unit: text.optional() }),
    ])
    .optional(),
} satisfies Members<HostOutcome>);

const namedToken = z.object({
  name: text,
  expires: nullable(text).describe('ISO 8601; null: not known'),
} satisfies Members<MintedToken>);

const rotation = z.object({
  kind: z.enum(['pat', 'service-principal', 'certificate']),
  source: text.describe('Where the inventory takes the token from'),
  page: text.describe('Where the earlier token is revoked'),
  replaced: count,
  proven: count.describe('Hosts from which Azure DevOps has accepted the token'),
  left: texts.describe('Hosts of the run that do not use it, or of which that is unknown'),
  outside: texts.describe('Hosts of the inventory that the run did not include'),
  minted: nullable(namedToken).describe('The token that --mint created; null: none'),
  earlier: nullable(
    z.union([
      z.object({
        kind: z.enum(['known', 'candidates']).describe('known: by its expiry in the inventory'),
        tokens: z.array(namedToken),
      }),
      z.object({ kind: z.literal('unknown'), why: text }),
    ]),
  ).describe('The token that the created one replaces; null without --mint'),
  kept: texts.describe('Copies of earlier tokens; removed where every host uses the new one'),
  finish: nullable(text).describe('The command that finishes the rotation; null: every host uses the token'),
} satisfies Members<RotationEnd & { readonly finish: string | null }>);

const auditRecord = z.object({
  at: text.describe('ISO 8601'),
  host: text,
  run: text,
  who: text.describe('As the client says'),
  command: text,
  key: text.describe('As the client says').optional(),
  login: text.optional(),
  from: text.optional(),
  plan: text.describe('The digest of the announced changes'),
  changes: texts,
  outcome: text.describe('Absent: the run was cut, or still works').optional(),
  in: z
    .enum(['both', 'host', 'lost', 'here'])
    .describe('The files that have it; lost: the file of the host lacks it; here: that file was not read'),
} satisfies Members<AuditRecord>);

/** Commands that change hosts by a plan. */
const changed = {
  plan: planSchema.describe('As of the command plan'),
  hosts: z.array(outcome).describe('With --dry-run only hosts that could not be read'),
};

const left = nullable(
  z.array(
    z.object({
      host: text,
      changes: z.array(
        z.object({
          step: text,
          title: text,
          disturbs: text,
          isKnown: z.boolean().describe('false: it depends on the result of another change'),
        } satisfies Members<LeftChange>),
      ),
    }),
  ),
).describe('What the run leaves; null without --only-harmless');

const leftovers = {
  leftovers: z.array(
    z.object({
      pool: text,
      id: z.int(),
      name: text,
      host: text,
      owner: text,
      lastRequest: z.int().optional(),
      renamedFrom: text.describe('The former name of the host').optional(),
    } satisfies Members<Leftover & { readonly pool: string }>),
  ),
  pruned: z.array(
    z.object({
      pool: text,
      agent: text,
      removed: z.boolean(),
      why: text.optional(),
    } satisfies Members<Pruned>),
  ),
};

const poolOverview = z.object({
  name: text,
  id: z.int().describe('Absent: the pool does not exist').optional(),
  autoUpdate: z.boolean().optional(),
  agents: z.object({ online: count, offline: count, busy: count, disabled: count }),
  jobs: z.object({ waiting: count, running: count, oldestWaitS: count.optional() }),
  projects: z.array(z.object({ project: text, authorized: z.boolean() })),
} satisfies Members<PoolOverview>);

const imageRow = z.object({
  host: text,
  problem: problem.optional(),
  wanted: z
    .union([
      z.object({ kind: z.enum(['image', 'base']), reference: text }),
      z.object({
        kind: z.literal('chosen'),
        choice: z.union([
          z.object({ ok: z.literal(true), tag: text, os: text, cuda: text.optional(), why: text }),
          z.object({ ok: z.literal(false), what: text, next: text }),
        ]),
      }),
    ])
    .optional(),
  dockerfile: z.object({ folder: text, builder: text.optional(), push: text.optional() }).optional(),
  slots: z.array(z.object({ slot: text, image: text })).optional(),
  present: statusSchema.shape.image.optional(),
  archives: statusSchema.shape.archives,
  others: images.optional(),
} satisfies Members<ImageRow>);

const baseImages = {
  arch: texts,
  repository: text,
  flavour: text,
  cuda: z.array(z.object({ version: text, os: texts, minCc: text, belowCc: text.optional() })),
  cpu: z.object({ tag: text, os: text }),
  cudaOfDriver: z.record(text, text),
} satisfies Members<Bases>;

const diagnosis = z.union([
  z.object({ file: text, kind: z.literal('unknown'), reason: text }),
  z.object({
    file: text,
    kind: z.enum(['nvidia-smi', 'kernel-log', 'bug-report']),
    form: text,
    gpus: count.optional(),
    attachedGpus: count.optional(),
    kernelLines: count.optional(),
    checkup: z.object({
      verdict,
      findings: z.array(finding).describe('Worst first'),
      report: z
        .looseObject({
          driverVersion: text,
          cudaVersion: text.optional(),
          gpus: z.array(z.looseObject({ uuid: text, name: text, busId: text })),
        })
        .optional(),
    }),
  }),
]);

/** The manifest of a bundle; its digests and sizes are for azp-fleet itself. */
const manifest = z.looseObject({
  version: text.describe('The azp-fleet that made it'),
  at: text,
  runtimes: z.array(z.looseObject({ machine: text, version: text })),
  agents: z.array(z.looseObject({ machine: text, version: text })),
  packages: z.array(z.looseObject({ system: text, machine: text })),
  images: z.array(z.looseObject({ reference: text, machine: text })),
});

const managerAnswer = statusSchema.extend({ chosen: texts.describe('Slots; empty: the whole host') });

/** The own members of each command; a failed command has none. */
const outputs = {
  status: {
    hosts: z.array(row),
    fleetDrift: texts,
    driftByKey: nullable(z.array(keyDrift)).describe('null without --drift'),
    parallelJobs: nullable(parallelJobs),
    queues: z.array(queue),
    tokenExpires: nullable(text).describe('Date of the credential in the inventory; null: it names none'),
  },
  plan: {
    inventory: plan.inventory,
    inventoryDigest: plan.inventoryDigest,
    fleet: plan.fleet,
    hosts: plan.hosts,
    waves: nullable(plan.waves.unwrap()),
    support: z.array(z.object({ host: text, support: z.array(support) })),
    left,
  },
  doctor: {
    machine: nullable(z.array(rung)).describe('null with --job'),
    hosts: nullable(z.array(z.object({ host: text, rungs: z.array(rung) }))).describe('null with --job'),
    fixed: nullable(z.array(outcome)).describe('null: nothing was fixed'),
    job: nullable(waiting).describe('null without --job'),
  },
  upgrade: {
    parts: nullable(z.array(z.object({ host: text, parts: z.array(partRow) }))).describe(
      'The table; null with --to',
    ),
    edits: nullable(
      z.array(
        z.object({
          place: text.describe('defaults, groups.NAME.vars or hosts.NAME'),
          part: partNamesShape,
          to: text,
        } satisfies Members<EditedValue>),
      ),
    ).describe('What a successful run writes into the inventory; null without --to'),
    plan: nullable(planSchema).describe('null without --to'),
    hosts: z.array(outcome),
  },
  version: {
    protocol: z.int(),
    node: text,
    platform: text,
    arch: text,
    hostsNode: text,
    lines: nullable(z.array(releaseLine)),
  },
  'token rotate': {
    plan: planSchema,
    hosts: z.array(outcome),
    token: rotation.describe('Absent if nothing was applied').optional(),
  },
  history: {
    since: nullable(text).describe('ISO 8601; null: all'),
    hosts: nullable(answers(historySchema)).describe('null with --audit'),
    entries: nullable(z.array(auditRecord)).describe('null without --audit'),
  },
  init: { file: text },
  completion: {
    shell: z.enum(['bash', 'zsh', 'fish']),
    script: text,
    paths: z.enum(['none', 'files', 'inventories']),
    offers: z.array(z.object({ value: text, about: text })),
  },
  'inventory list': { hosts: z.array(inventoryHost) },
  'inventory show': {
    hosts: z.array(inventoryHost.extend({ agentNames: texts, connection: z.looseObject({}).optional() })),
  },
  'inventory diff': {
    hosts: texts,
    differences: z.array(
      z.object({
        key: text,
        values: z.array(
          z.object({ host: text, value: z.unknown(), from: nullable(z.object({ layer: text, at: text })) }),
        ),
      }),
    ),
  },
  'inventory check': { file: text, organization: text, hosts: count, warnings: z.array(problem) },
  'inventory import': {
    file: text,
    written: z.boolean(),
    hosts: z.array(z.object({ name: text, entry: z.looseObject({}), groups: texts })),
    leftOut: z.array(z.object({ what: text, why: text })),
  },
  pipeline: {
    pool: text,
    kind: z.enum(Object.keys(pipelineKinds) as (keyof typeof pipelineKinds)[]),
    pipeline: text,
    file: nullable(text),
  },
  provision: { ...changed, left },
  reboot: changed,
  // The others are those of --gone.
  remove: {
    ...changed,
    ...leftovers,
    sshLines: z
      .array(z.object({ file: text, host: text, lines: count, removed: z.boolean() }))
      .describe('Lines of the hosts in the files that azp-fleet ssh-config --write wrote'),
  },
  diagnose: { files: z.array(diagnosis) },
  explain: {
    code: text,
    subject: text,
    cause: text,
    fix: text,
    finding: nullable(
      z.object({
        title: text,
        severity: finding.shape.severity,
        dependsOn: texts.describe('Codes of findings behind which it is hidden').optional(),
        lastsForS: count.describe('Seconds that it lasts before it is shown').optional(),
      }),
    ),
  },
  logs: { hosts: answers(z.union([runsSchema, text.describe('The output of a slot')])) },
  drain: { hosts: answers(managerAnswer) },
  undrain: { hosts: answers(managerAnswer.extend({ ended: drains })) },
  repaired: { hosts: answers(texts.describe('Addresses of GPUs, or all')) },
  webhook: { hosts: answers(z.literal('taken')) },
  adopt: { hosts: answers(slots) },
  'image list': baseImages,
  'image which': { hosts: z.array(imageRow) },
  'image build': {
    hosts: answers(
      z.object({ reference: text, digest: text, isNew: z.boolean() } satisfies Members<BuiltImage>),
    ),
  },
  bundle: { file: nullable(text), bundle: nullable(manifest) },
  'pool list': { pools: z.array(poolOverview) },
  'pool create': { changes: plan.fleet },
  'pool authorize': { changes: plan.fleet },
  'pool prune': {
    ...leftovers,
    unknownOwners: z.array(
      z.object({ pool: text, name: text, owner: text, host: text.optional() } satisfies Members<
        Stranger & { readonly pool: string }
      >),
    ),
  },
  exec: {
    hosts: z.array(
      z.union([
        z.object({
          host: text,
          result: z.object({ code: z.int(), stdout: text, stderr: text, durationMs: count }),
        }),
        z.object({ host: text, problem }),
      ]),
    ),
  },
  'ssh-config': {
    hosts: z.array(z.union([z.object({ host: text, added: texts }), z.object({ host: text, problem })])),
    files: z.array(z.union([text, z.object({ file: text, text })])),
    written: z.boolean(),
  },
  trust: {
    keys: z.array(
      z.object({
        host: text,
        key: z.object({ type: text, base64: text, fingerprint: text }),
        known: z.enum(['known', 'unknown', 'changed', 'revoked']),
        pinned: z.enum(['none', 'same', 'different']),
      }),
    ),
  },
};

/** Commands whose documents have a schema. */
export const schemaNames = Object.keys(outputs) as readonly (keyof typeof outputs)[];

/** Returns the name of a schema's file: `inventory-list.schema.json`. */
export function schemaFile(command: string): string {
  return `${command.replaceAll(' ', '-')}.schema.json`;
}

/**
 * Returns the JSON Schema of a command's document, draft 7. `closed`: unknown members are errors, for tests. The published
 * one permits them: a later release may add members.
 */
export function outputSchema(command: keyof typeof outputs, { closed = false } = {}): object {
  const own = z.object(outputs[command]).partial().shape;
  const schema = z.toJSONSchema(z.object({ ...envelope(command), ...own }), {
    target: 'draft-7',
    io: closed ? 'output' : 'input',
  });
  return { ...schema, title: `azp-fleet ${command} --json` };
}

/** Returns the text of a schema's file. */
export function outputSchemaText(command: keyof typeof outputs): string {
  return `${JSON.stringify(outputSchema(command), undefined, 2)}\n`;
}
