import { Document, isMap, type Node } from 'yaml';

import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import { mayBecome } from '../../fleet/inventory/pool-pattern.ts';
import { usageError } from '../../shared/base/errors.ts';
import { agentName, poolOfSlot, slotNames, type SlotSpec, slotSpecs } from '../../shared/contract/slots.ts';

interface PipelineRequest {
  readonly kind: PipelineKind;
  readonly pool: string;
  /** The pool's agents, at least one. */
  readonly offers: readonly Offer[];
  /** The site's mirror of docker.io, if there is one. */
  readonly images?: string;
}

/** Job timeout: GPU jobs often take longer than Azure Pipelines' default of 60 minutes. */
const minutes = 240;

/**
 * Returns azure-pipelines.yml for a pool of the inventory. For the keys see Microsoft's YAML schema reference:
 * https://learn.microsoft.com/azure/devops/pipelines/yaml-schema. Throws if no agent can run it. Pure.
 */
export function pipelineText({ kind, pool, offers, images }: PipelineRequest): string {
  const able = ableTo(kind, pool, offers);
  const [first] = able;
  const container = kind === 'container' ? { container: containerOf(first, images) } : {};
  const rest = { timeoutInMinutes: minutes };
  const job =
    kind === 'matrix'
      ? {
          '${{ each kind in parameters.kinds }}': [
            {
              job: '${{ kind.name }}',
              displayName: '${{ kind.demand }}',
              ...rest,
              pool: { name: pool, demands: ['${{ kind.demand }}'] },
              steps: stepsOf(kind, able),
            },
          ],
        }
      : {
          job: kind,
          ...rest,
          pool: { name: pool, demands: demandsOf(kind, able, offers) },
          ...container,
          steps: stepsOf(kind, able),
        };
  const parameters = [{ name: 'kinds', type: 'object', default: legsOf(able) }];
  const document = new Document({
    trigger: ['main'],
    ...(kind === 'matrix' ? { parameters } : {}),
    jobs: [job],
  });
  document.commentBefore = heading(kind, pool, able, offers);
  decorate(document, kind);
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}

/** Names one agent if not all agents of the pool qualify: demands have no "or". */
function demandsOf(
  kind: PipelineKind,
  able: readonly [Offer, ...Offer[]],
  all: readonly Offer[],
): readonly string[] {
  const [first] = able;
  if (kind !== 'gpu' && able.length < all.length) return [`Agent.Name -equals ${first.agent}`];
  return ['gpu.count', ...first.host.datasets.map(({ name }) => `dataset.${name}`)];
}

function heading(
  kind: PipelineKind,
  pool: string,
  able: readonly [Offer, ...Offer[]],
  all: readonly Offer[],
): string {
  const title = pipelineKinds[kind];
  const some = kind !== 'gpu' && kind !== 'matrix' && able.length < all.length;
  const others = able.slice(1, 9).map(({ agent }) => agent);
  return [
    `${title.charAt(0).toUpperCase()}${title.slice(1)}: pool ${pool}`,
    `Printed by azp-fleet pipeline --kind ${kind}; edit it as you like.`,
    ...(kind === 'image' ? imageLines(able) : []),
    ...(kind === 'container' ? containerLines : []),
    ...(some && others.length > 0 ? [`Other suitable agents: ${others.join(', ')}.`] : []),
    'Capabilities of the agents in this pool, for demands:',
    ...wrapped(demandable(all)),
  ]
    .map((line) => ` ${line}`)
    .join('\n');
}

function imageLines([{ host, slot }]: readonly [Offer, ...Offer[]]): readonly string[] {
  const image = slot.image ?? host.image;
  const from = image === undefined ? 'dockerfile: of the inventory' : image;
  return [
    `Image: ${from}.`,
    'The agent itself runs in it: the job needs no container: key.',
    'To change the image, edit this setting and run azp-fleet provision.',
  ];
}

const containerLines = [
  "The host's Docker creates the container: --gpus all gives it every GPU,",
  'and everyone who can edit this file is root on that host (docs/jobs.md).',
];

/** Joins words into lines of at most 76 characters. */
function wrapped(words: readonly string[]): readonly string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length > 72) lines.push(`  ${word}`);
    else lines[lines.length - 1] = `${last}, ${word}`;
  }
  return lines;
}

/** Adds blank lines between the parts, writes short lists in one line, and adds comments. */
function decorate(document: Document, kind: PipelineKind): void {
  if (!isMap(document.contents)) return;
  for (const { key } of document.contents.items.slice(1)) (key as Node).spaceBefore = true;
  const trigger = document.get('trigger', true) as Node & { flow?: boolean };
  trigger.flow = true;
  const at = kind === 'matrix' ? ['jobs', 0, '${{ each kind in parameters.kinds }}', 0] : ['jobs', 0];
  const limit = document.getIn([...at, 'timeoutInMinutes'], true) as Node;
  limit.comment = ' 60 without this line; 0: no limit';
  const legs = document.getIn(['parameters', 0, 'default'], true);
  if (legs === undefined) return;
  (legs as Node).commentBefore = ' one job each; also e.g. gpu.model -equals NVIDIA H200';
  for (const leg of (legs as { items: (Node & { flow?: boolean })[] }).items) leg.flow = true;
}

/** The kinds of pipeline, with their purpose. */
export const pipelineKinds = {
  gpu: 'a job with GPUs',
  matrix: 'the same job on each kind of agent, by demands',
  container: 'a job in a separate container',
  image: "a job in the agents' own image",
  graphics: 'a job that renders, without a screen',
} as const;

export type PipelineKind = keyof typeof pipelineKinds;

/** Which agents can run each kind of pipeline, and the inventory change to make if none can. */
const needs: Record<PipelineKind, { readonly can: (offer: Offer) => boolean; readonly next: string }> = {
  gpu: { can: hasGpus, next: 'give the pool an agent with a GPU' },
  matrix: { can: hasGpus, next: 'give the pool an agent with a GPU' },
  container: {
    can: takesContainers,
    next: 'list the agents, one with mode: host, and set jobs: { docker: true } on the host; read docs/host-mode.md on the rights of such jobs',
  },
  image: { can: hasOwnImage, next: 'add dockerfile: or image: (docs/images.md), or print --kind gpu' },
  graphics: {
    can: rendersGraphics,
    next: 'add driverCapabilities: [compute, utility, graphics] to the host, or capabilities: to a slot',
  },
};

function hasGpus({ gpus = 1 }: Offer): boolean {
  return gpus > 0;
}

/** Returns the agents of a pool that can run the kind; throws a usage error if there is none. */
function ableTo(kind: PipelineKind, pool: string, offers: readonly Offer[]): readonly [Offer, ...Offer[]] {
  const { can, next } = needs[kind];
  const [first, ...more] = offers.filter(can);
  if (first !== undefined) return [first, ...more];
  throw usageError({
    code: 'usage.pipeline-kind',
    what: `no agent of pool ${pool} can run ${pipelineKinds[kind]}`,
    seen: `agents of the pool in the inventory: ${offers.map(({ agent }) => agent).join(', ')}`,
    next,
  });
}

/** An agent of a pool, as far as it follows from the inventory. */
export interface Offer {
  /** Its name in the pool. */
  readonly agent: string;
  readonly host: HostSpec;
  readonly slot: SlotSpec;
  /** How many GPUs it has; undefined if the inventory does not state it. */
  readonly gpus?: number;
}

/** Returns the agents of a pool; for a host without `gpus`, only the first one. Pure. */
export function offersOf(hosts: readonly HostSpec[], pool: string): readonly Offer[] {
  return hosts.flatMap((host) => {
    const names = slotNames(host);
    const specs = slotSpecs(host, names.length);
    const counted = host.agents.kind !== 'count' || host.gpus !== undefined;
    return names.flatMap((name, at): Offer[] => {
      const slot = specs[at];
      if (slot === undefined || !mayBecome(poolOfSlot(host, name), pool)) return [];
      const agent = agentName(host, name);
      return [{ agent, host, slot, ...(counted ? { gpus: slot.gpus.length } : {}) }];
    });
  });
}

/** Returns whether its jobs run in the user's own image, not in the default one. */
function hasOwnImage({ host, slot }: Offer): boolean {
  return slot.image !== undefined || host.image !== undefined || host.dockerfile !== undefined;
}

/** Returns whether its jobs may use a separate container. */
function takesContainers({ host, slot }: Offer): boolean {
  return slot.mode === 'host' && host.jobs.docker;
}

function rendersGraphics({ slot }: Offer): boolean {
  return slot.capabilities.includes('graphics');
}

/** One job of a matrix: a valid job name of Azure Pipelines, and its demand. */
interface Leg {
  readonly name: string;
  readonly demand: string;
}

/** Most jobs of a printed matrix, so that it stays readable; users add more themselves. */
const mostLegs = 8;

/** Capabilities that every agent publishes after it has read the driver and GPUs. docs/jobs.md lists the same. */
const measured = [
  'gpu.model',
  'gpu.memoryMiB',
  'gpu.computeCapability',
  'cuda.driverMax',
  'driver.version',
] as const;

/** Returns the names of the capabilities that a pipeline can demand of these agents. */
function demandable(offers: readonly Offer[]): readonly string[] {
  const datasets = offers.flatMap(({ host }) => host.datasets.map(({ name }) => `dataset.${name}`));
  const own = offers.flatMap(({ host }) => Object.keys(host.capabilities).filter(isDemandable));
  return [...new Set(['gpu.count', ...measured, ...datasets, ...own])];
}

/** Returns whether a name works in a demand: a name ends at the first space, and a dollar sign begins an expression. */
function isDemandable(name: string): boolean {
  return /^[\w.-]+$/.test(name);
}

/**
 * Returns a matrix job for each difference between these agents in the inventory: number of GPUs and `capabilities:`.
 * Values that only the hosts know are left out, because a demand that no registered agent meets fails its job at once.
 */
function legsOf(offers: readonly Offer[]): readonly Leg[] {
  const counts = [...new Set(offers.flatMap(({ gpus = 0 }) => (gpus > 0 ? [gpus] : [])))].toSorted(
    (a, b) => a - b,
  );
  const byCount = counts.map((count) => ({ name: `gpus_${count}`, demand: `gpu.count -equals ${count}` }));
  const values = new Map(
    offers.flatMap(({ host }) =>
      Object.entries(host.capabilities)
        .filter(([name, value]) => isDemandable(name) && !value.includes('$'))
        .map(([name, value]) => [`${name} -equals ${value}`, { name: jobName(`${name}_${value}`) }] as const),
    ),
  );
  const byValue = [...values].map(([demand, { name }]) => ({ name, demand }));
  const legs = [...byCount, ...byValue];
  const chosen = legs.length === 0 ? [{ name: 'gpus', demand: 'gpu.count' }] : legs.slice(0, mostLegs);
  return distinct(chosen);
}

/** Returns a valid job name: letters, digits and underscores, a letter first. */
function jobName(text: string): string {
  const name = text.replaceAll(/\W+/g, '_').slice(0, 60);
  return /^[A-Za-z]/.test(name) ? name : `with_${name}`;
}

function distinct(legs: readonly Leg[]): readonly Leg[] {
  const before = (leg: Leg, at: number): number =>
    legs.slice(0, at).filter(({ name }) => name.toLowerCase() === leg.name.toLowerCase()).length;
  return legs.map((leg, at) => {
    const same = before(leg, at);
    return same === 0 ? leg : { ...leg, name: `${leg.name}_${same + 1}` };
  });
}

/** A small image for drivers from 570 on; users replace it by their own. */
const exampleImage = 'nvidia/cuda:12.8.2-base-ubuntu24.04';

interface JobContainer {
  readonly image: string;
  /** For `docker create`. */
  readonly options: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Returns a job's separate container on this agent, with its GPUs, and with the datasets at their usual paths. */
function containerOf({ host, slot }: Offer, images: string | undefined): JobContainer {
  const { datasets } = host;
  const [gpu, ...more] = slot.gpus;
  const gpus = more.length === 0 && typeof gpu === 'string' ? `device=${gpu}` : 'all';
  const volumes = datasets.map((dataset) => `--volume ${quoted(`${dataset.host}:${dataset.container}:ro`)}`);
  return {
    image: images === undefined ? exampleImage : `${images.replace(/\/+$/, '')}/${exampleImage}`,
    options: [`--gpus ${gpus}`, ...volumes].join(' '),
    ...(datasets.length === 0
      ? {}
      : { env: Object.fromEntries(datasets.map(({ name, container }) => [name, container])) }),
  };
}

/** Quotes a word as the agent parses options: in double quotes if it has special characters. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `"${word.replaceAll('"', String.raw`\"`)}"`;
}

interface PipelineStep {
  readonly checkout?: 'self';
  readonly script?: string;
  readonly displayName?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Returns the steps: checks of what the job needs, and a placeholder for the user's command. */
function stepsOf(kind: PipelineKind, able: readonly [Offer, ...Offer[]]): readonly PipelineStep[] {
  const names = datasetsOf(kind, able);
  const data = names.map((name) => `ls "$${name}"`).join('\n');
  const first = names[0] === undefined ? '' : `, with the data below $${names[0]}`;
  return [
    { checkout: 'self' },
    { script: 'nvidia-smi', displayName: 'GPUs of this job' },
    ...(data === '' ? [] : [{ script: data, displayName: 'Datasets (read-only)' }]),
    ...special[kind],
    {
      script: `echo "your own command here${first}"`,
      displayName: 'Test',
      ...(kind === 'graphics' ? { env: { PYOPENGL_PLATFORM: 'egl', MUJOCO_GL: 'egl' } } : {}),
    },
  ];
}

const special: Record<PipelineKind, readonly PipelineStep[]> = {
  gpu: [],
  matrix: [],
  container: [],
  image: [{ script: 'cat /etc/os-release', displayName: 'Operating system of the image' }],
  graphics: [
    {
      script: "ldconfig -p | grep -E 'libEGL|libGLX|libvulkan'",
      displayName: 'Loaders of EGL, OpenGL and Vulkan',
    },
  ],
};

/** Returns the datasets that exist on every agent of a matrix; for other kinds, demands ensure those of the first. */
function datasetsOf(kind: PipelineKind, [first, ...more]: readonly [Offer, ...Offer[]]): readonly string[] {
  const names = first.host.datasets.map(({ name }) => name);
  if (kind !== 'matrix') return names;
  return names.filter((name) => more.every(({ host }) => host.datasets.some((each) => each.name === name)));
}
