import * as z from 'zod';

import type { FleetPlan, Held, HostPlan, Wave, WavesPlan } from './fleet-plan.ts';
import type { Effects } from '../packages/simulation.ts';
import type { Change, Description, Shape } from '../steps/change.ts';
import { foreignLine, foreignLines, foreignValue } from '../../shared/base/foreign-text.ts';

/** Far above the numbers in a fleet of thousands; a file with more is not a plan of azp-fleet. */
const limits = {
  hosts: 10_000,
  slots: 1000,
  stages: 50,
  changes: 200,
  details: 500,
  texts: 50,
  lines: 5_000,
  actions: 500,
  refusals: 200,
  unknown: 100,
  packages: 2_000,
  writes: 200,
};

/** A member that is missing here would be lost when the plan is read from its file. */
type Members<T> = Record<keyof T, z.ZodType>;

const string = z.string();
const step = z.enum(['driver', 'docker', 'toolkit', 'image', 'manager', 'pool', 'probe', 'command', 'facts']);
const disturbs = z.enum(['nothing', 'new-containers', 'agents', 'containers', 'gpus', 'machine']);
const marker = z.enum(['add', 'change', 'remove']);
const names = z.array(string.max(200)).max(limits.packages);
const description = {
  marker: marker.exactOptional(),
  bound: z.object({ removes: names, downgrades: names }).exactOptional(),
  details: z
    .array(z.object({ marker, text: string, effect: string.exactOptional() }))
    .max(limits.details)
    .exactOptional(),
  unpacks: z.object({ folder: string, bytes: z.number() }).exactOptional(),
  texts: z
    .array(z.object({ path: string, lines: z.array(string).max(limits.lines) }))
    .max(limits.texts)
    .exactOptional(),
};
const timeoutS = z.number().positive();
const path = string;

const artifact = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('file'),
    file: string,
    sha256: string,
    size: z.number(),
    gunzip: z.boolean(),
    unzstd: z.literal(true).exactOptional(),
    part: z.object({ start: z.number(), bytes: z.number() }).exactOptional(),
  }),
  z.object({ kind: z.literal('text'), text: string, sha256: string }),
]);

const action = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('run'),
    script: string,
    durable: z.boolean(),
    timeoutS,
    writes: z.array(string).max(limits.writes),
  }),
  z.object({ kind: z.literal('upload'), artifact, path, mode: z.number().int() }),
  z.object({ kind: z.literal('credential'), path }),
  z.object({ kind: z.literal('registries'), path }),
  z.object({ kind: z.literal('webhook'), path }),
  z.object({ kind: z.literal('deregister'), owner: string, pools: z.array(string).max(limits.slots) }),
  z.object({ kind: z.literal('reboot'), timeoutS }),
  z.object({ kind: z.literal('await-manager'), configHash: string, timeoutS }),
]);

const change = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('change'),
    id: string,
    step,
    title: string,
    why: string,
    disturbs,
    actions: z.array(action).max(limits.actions),
    ...description,
  } satisfies Members<Change>),
  z.object({
    kind: z.literal('shape'),
    step,
    title: string,
    until: step,
    why: string.exactOptional(),
    disturbs,
    waits: z.literal(true).exactOptional(),
    ...description,
  } satisfies Members<Shape>),
]);

const fleetAction = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal(['create-pool', 'disable-auto-update']), pool: string }),
  z.object({ kind: z.literal(['create-queue', 'authorize-queue']), pool: string, project: string }),
  z.object({
    kind: z.literal('take-over'),
    pool: string,
    host: string,
    slots: z.array(string).max(limits.slots),
  }),
  z.object({ kind: z.literal('name-later'), pattern: string }),
]);

const head = { schema: z.literal(1), version: string, inventoryDigest: string };

const moved = z
  .array(z.object({ name: string, from: string.exactOptional(), to: string.exactOptional() }))
  .max(limits.packages);
const answer = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('value'),
    value: z.object({
      version: string.exactOptional(),
      removes: moved,
      installs: moved,
      upgrades: moved,
      downgrades: moved,
      kept: names,
      sources: names.exactOptional(),
      repositories: names.exactOptional(),
      room: z.object({ downloadBytes: z.number(), installedBytes: z.number() }).exactOptional(),
    } satisfies Members<Effects>),
  }),
  z.object({ kind: z.literal('not-offered'), offered: names }),
  z.object({ kind: z.literal('impossible'), what: string, next: string }),
  z.object({ kind: z.literal('unknown'), why: string, since: string.exactOptional() }),
]);

const host = z.object({
  host: string,
  factsDigest: string,
  facts: z.record(string.max(200), string.max(200)).exactOptional(),
  packages: z.record(string, answer).exactOptional(),
  stages: z.array(z.array(change).max(limits.changes)).max(limits.stages),
  refusals: z.array(z.object({ step, what: string, next: string })).max(limits.refusals),
  unknown: z
    .array(z.object({ fact: string, why: string }))
    .max(limits.unknown)
    .exactOptional(),
} satisfies Members<HostPlan>);

const wavesPlan = z.object({
  maxUnavailable: string,
  maxFailures: string,
  proveFirst: z.array(string).max(limits.hosts),
  waves: z
    .array(
      z.object({
        canary: z.boolean(),
        hosts: z.array(string).max(limits.hosts),
      } satisfies Members<Wave>),
    )
    .max(limits.hosts),
  emptied: z.array(string).max(limits.hosts),
  held: z
    .array(z.object({ host: string, what: string, next: string } satisfies Members<Held>))
    .max(limits.hosts),
  removes: z.literal(true).exactOptional(),
} satisfies Members<WavesPlan>);

export const planSchema = z.object({
  ...head,
  at: string,
  inventory: string,
  fleet: z.array(z.object({ id: string, title: string, why: string, action: fleetAction })).max(limits.hosts),
  hosts: z.array(host).max(limits.hosts),
  waves: wavesPlan.exactOptional(),
} satisfies Members<FleetPlan>);

/** Reads the part of a plan that every release understands; undefined: it is no plan. */
export function readPlanHead(value: unknown): Pick<FleetPlan, 'version' | 'inventoryDigest'> | undefined {
  return z.object(head).safeParse(value).data;
}

/** Reads a saved plan of this release, with limits and clean text; undefined: it is no plan. */
export function readPlan(value: unknown): FleetPlan | undefined {
  const plan: FleetPlan | undefined = planSchema.safeParse(value).data;
  return plan && cleanPlan(plan);
}

/** The most characters of a script that is shown whole; those of azp-fleet are far below. */
const longestScript = 1_000_000;
/** Keys with texts of several lines: a script, and a file. */
const scripts = new Set(['script', 'text']);

/** Returns a plan that is safe to show: any user may have written the file of a saved one. */
export function cleanPlan(plan: FleetPlan): FleetPlan {
  const clean = cleanOnce();
  const fleet = foreignValue({ ...plan, hosts: [] }, clean);
  return { ...fleet, hosts: plan.hosts.map((host) => cleanHost(host, clean)) };
}

/** Returns a host's plan that is safe to show. */
export function cleanHost(plan: HostPlan, clean = cleanOnce()): HostPlan {
  const shown = foreignValue(plan, clean);
  return {
    ...shown,
    stages: shown.stages.map((stage) => stage.map((change) => ({ ...change, ...inLines(change) }))),
  };
}

/** Returns what cleans texts, each text once: most of a fleet's hosts have the same scripts. */
function cleanOnce(): (text: string, key: string) => string {
  const known = { lines: new Map<string, string>(), line: new Map<string, string>() };
  return (text, key) => {
    const isScript = scripts.has(key);
    const ofForm = isScript ? known.lines : known.line;
    const before = ofForm.get(text);
    if (before !== undefined) return before;
    const cleaned = isScript ? foreignLines(text, longestScript) : foreignLine(text);
    ofForm.set(text, cleaned);
    return cleaned;
  };
}

/** Returns the details with their texts as one line each, unlike a file's text. */
function inLines({ details }: Description): Pick<Description, 'details'> {
  if (details === undefined) return {};
  return { details: details.map(({ text, ...rest }) => ({ ...rest, text: foreignLine(text) })) };
}
