import { Document, isMap, type Node } from 'yaml';

import { ableTo, pipelineKinds, type PipelineKind } from './choose.ts';
import { demandable, legsOf } from './demands.ts';
import { containerOf } from './job-container.ts';
import type { Offer } from './offers.ts';
import { stepsOf } from './job-steps.ts';

export interface Asked {
  readonly kind: PipelineKind;
  readonly pool: string;
  /** The pool's agents, at least one. */
  readonly offers: readonly Offer[];
  /** What stands for docker.io, where the site has a copy of it. */
  readonly images?: string;
}

/** A job of a GPU is often longer than the hour that Azure Pipelines gives one that says nothing. */
const minutes = 240;

/**
 * azure-pipelines.yml for a pool, by what the inventory says of it. The keys are those of Microsoft's reference of the
 * YAML schema: https://learn.microsoft.com/azure/devops/pipelines/yaml-schema. Throws where no agent could run it. Pure.
 */
export function pipelineText({ kind, pool, offers, images }: Asked): string {
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

/** Where not all agents of the pool will do, one is named: demands have no "or". */
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
    `Printed by azp-fleet pipeline --kind ${kind}; it is yours now.`,
    ...(kind === 'image' ? imageLines(able) : []),
    ...(kind === 'container' ? containerLines : []),
    ...(some && others.length > 0 ? [`Agents that would do as well: ${others.join(', ')}.`] : []),
    'What agents of the pool publish, to demand it:',
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
    'The agent itself runs in it: the job needs no container: for that.',
    'To change it, change that and run azp-fleet provision.',
  ];
}

const containerLines = [
  "The container is made by the host's Docker: --gpus all is every GPU there is,",
  'and everyone who can change this file is root on that host (docs/jobs.md).',
];

/** In lines of at most 76 characters. */
function wrapped(words: readonly string[]): readonly string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length > 72) lines.push(`  ${word}`);
    else lines[lines.length - 1] = `${last}, ${word}`;
  }
  return lines;
}

/** Blank lines between the parts, lists of one line in brackets, and what a reader would ask. */
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
