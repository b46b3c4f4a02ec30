import { usageError } from '../../../shared/base/errors.ts';
import { hasOwnImage, rendersGraphics, takesContainers, type Offer } from './offers.ts';

/** What kinds of pipeline there are, and what each is for. */
export const pipelineKinds = {
  gpu: 'a job with GPUs',
  matrix: 'the same job on agents of each sort, by demands',
  container: 'a job in a container of its own',
  image: "a job in the agents' own image",
  graphics: 'a job that renders, without a screen',
} as const;

export type PipelineKind = keyof typeof pipelineKinds;

/** Which agents can run a kind of pipeline, and what to write into the inventory where none can. */
const needs: Record<PipelineKind, { readonly can: (offer: Offer) => boolean; readonly next: string }> = {
  gpu: { can: hasGpus, next: 'give the pool an agent with a GPU' },
  matrix: { can: hasGpus, next: 'give the pool an agent with a GPU' },
  container: {
    can: takesContainers,
    next: 'list the agents, one with mode: host, and set jobs: { docker: true } on the host; docs/host-mode.md says what such a job may do',
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

/** The agents of a pool that can run it; a usage error where there is none. */
export function ableTo(
  kind: PipelineKind,
  pool: string,
  offers: readonly Offer[],
): readonly [Offer, ...Offer[]] {
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
