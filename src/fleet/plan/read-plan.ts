import { z } from 'zod';

import type { FleetPlan, Held, HostPlan, Wave, WavesPlan } from './fleet-plan.ts';
import type { Change, Description, Shape } from '../steps/change.ts';
import { foreignLine, foreignLines, foreignValue } from '../../shared/base/foreign-text.ts';

/** Far above what a fleet of thousands has; a file that names more is none of ours. */
const most = {
  hosts: 10_000,
  slots: 1000,
  stages: 50,
  changes: 200,
  details: 500,
  texts: 50,
  lines: 5_000,
  actions: 500,
  refusals: 200,
  packages: 2_000,
  writes: 200,
};

/** A member that is not named here would be lost on the way through the file. */
type Members<T> = Record<keyof T, z.ZodType>;

const words = z.string();
const step = z.enum(['driver', 'docker', 'toolkit', 'image', 'manager', 'pool', 'probe', 'command']);
const disturbs = z.enum(['nothing', 'new-containers', 'agents', 'containers', 'machine']);
const marker = z.enum(['add', 'change', 'remove']);
const names = z.array(words.max(200)).max(most.packages);
const told = {
  marker: marker.exactOptional(),
  bound: z.object({ removes: names, downgrades: names }).exactOptional(),
  details: z
    .array(z.object({ marker, text: words, effect: words.exactOptional() }))
    .max(most.details)
    .exactOptional(),
  unpacks: z.object({ folder: words, bytes: z.number() }).exactOptional(),
  texts: z
    .array(z.object({ path: words, lines: z.array(words).max(most.lines) }))
    .max(most.texts)
    .exactOptional(),
};
const timeoutS = z.number().positive();
const path = words;

const artifact = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('file'),
    file: words,
    sha256: words,
    size: z.number(),
    gunzip: z.boolean(),
    part: z.object({ start: z.number(), bytes: z.number() }).exactOptional(),
  }),
  z.object({ kind: z.literal('text'), text: words, sha256: words }),
]);

const action = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('run'),
    script: words,
    durable: z.boolean(),
    timeoutS,
    writes: z.array(words).max(most.writes),
  }),
  z.object({ kind: z.literal('upload'), artifact, path, mode: z.number().int() }),
  z.object({ kind: z.literal('credential'), path }),
  z.object({ kind: z.literal('registries'), path }),
  z.object({ kind: z.literal('webhook'), path }),
  z.object({ kind: z.literal('deregister'), owner: words, pools: z.array(words).max(most.slots) }),
  z.object({ kind: z.literal('reboot'), timeoutS }),
  z.object({ kind: z.literal('await-manager'), configHash: words, timeoutS }),
]);

const change = z.discriminatedUnion('known', [
  z.object({
    known: z.literal(true),
    id: words,
    step,
    title: words,
    why: words,
    disturbs,
    actions: z.array(action).max(most.actions),
    ...told,
  } satisfies Members<Change>),
  z.object({
    known: z.literal(false),
    step,
    title: words,
    until: step,
    why: words.exactOptional(),
    disturbs,
    waits: z.literal(true).exactOptional(),
    ...told,
  } satisfies Members<Shape>),
]);

const fleetAction = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal(['create-pool', 'disable-auto-update']), pool: words }),
  z.object({ kind: z.literal(['create-queue', 'authorize-queue']), pool: words, project: words }),
  z.object({
    kind: z.literal('take-over'),
    pool: words,
    host: words,
    slots: z.array(words).max(most.slots),
  }),
  z.object({ kind: z.literal('name-later'), pattern: words }),
]);

const head = { schema: z.literal(1), version: words, inventoryDigest: words };

const moved = z
  .array(z.object({ name: words, from: words.exactOptional(), to: words.exactOptional() }))
  .max(most.packages);
const answer = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('known'),
    version: words.exactOptional(),
    removes: moved,
    installs: moved,
    upgrades: moved,
    downgrades: moved,
    kept: names,
    sources: names.exactOptional(),
    repositories: names.exactOptional(),
    room: z.object({ downloadBytes: z.number(), installedBytes: z.number() }).exactOptional(),
  }),
  z.object({ kind: z.literal('not-offered'), offered: names }),
  z.object({ kind: z.literal('impossible'), what: words, next: words }),
  z.object({ kind: z.literal('unknown'), why: words }),
]);

const host = z.object({
  host: words,
  factsDigest: words,
  packages: z.record(words, answer).exactOptional(),
  stages: z.array(z.array(change).max(most.changes)).max(most.stages),
  refusals: z.array(z.object({ step, what: words, next: words })).max(most.refusals),
} satisfies Members<HostPlan>);

const wavesPlan = z.object({
  maxUnavailable: words,
  maxFailures: words,
  proveFirst: z.array(words).max(most.hosts),
  waves: z
    .array(
      z.object({
        canary: z.boolean(),
        hosts: z.array(words).max(most.hosts),
      } satisfies Members<Wave>),
    )
    .max(most.hosts),
  emptied: z.array(words).max(most.hosts),
  held: z.array(z.object({ host: words, what: words, next: words } satisfies Members<Held>)).max(most.hosts),
  removes: z.literal(true).exactOptional(),
} satisfies Members<WavesPlan>);

const whole = z.object({
  ...head,
  at: words,
  inventory: words,
  fleet: z.array(z.object({ id: words, title: words, why: words, action: fleetAction })).max(most.hosts),
  hosts: z.array(host).max(most.hosts),
  waves: wavesPlan.exactOptional(),
} satisfies Members<FleetPlan>);

/** What every release reads of every release's plans; undefined: it is none. */
export function readPlanHead(value: unknown): Pick<FleetPlan, 'version' | 'inventoryDigest'> | undefined {
  return z.object(head).safeParse(value).data;
}

/** A saved plan of this release, bounded, with clean words; undefined: it is none. */
export function readPlan(value: unknown): FleetPlan | undefined {
  const plan: FleetPlan | undefined = whole.safeParse(value).data;
  return plan && cleanPlan(plan);
}

/** Of a script that is shown whole; ours are far below. */
const longestScript = 1_000_000;
/** What has several lines in a plan: the text of a script, and of a file. */
const scripts = new Set(['script', 'text']);

/** A plan fit to be shown: a saved one is a file that anybody can have written. */
export function cleanPlan(plan: FleetPlan): FleetPlan {
  const clean = foreignValue(plan, (text, key) =>
    scripts.has(key) ? foreignLines(text, longestScript) : foreignLine(text),
  );
  return {
    ...clean,
    hosts: clean.hosts.map((host) => ({
      ...host,
      stages: host.stages.map((stage) => stage.map((change) => ({ ...change, ...inLines(change) }))),
    })),
  };
}

/** A detail's text is one line, unlike a file's. */
function inLines({ details }: Description): Pick<Description, 'details'> {
  if (details === undefined) return {};
  return { details: details.map(({ text, ...rest }) => ({ ...rest, text: foreignLine(text) })) };
}
