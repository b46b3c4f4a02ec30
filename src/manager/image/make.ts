import { FleetError } from '../../shared/base/errors.ts';
import { Labels } from '../../shared/contract/paths.ts';
import type { Engine } from '../../shared/engine/engine.ts';
import { digestIn } from '../../shared/image/digest-proof.ts';
import type { BuildPlan, ImagePlan, TopPlan } from '../../shared/image/plan.ts';

export type ImageEngine = Pick<Engine, 'imageId' | 'imageLabel' | 'pull' | 'push' | 'build'>;

type OnProgress = (work: 'pulling' | 'building', progress?: string) => void;

/** An image on the host. */
export interface LocalImage {
  readonly id: string;
  /** Id of the agent image that a team's image is built on. */
  readonly under?: string;
}

/** Returns the plan's image on this host; undefined: it is missing, or built on another agent image than the current one. */
export async function localImage(engine: ImageEngine, plan: ImagePlan): Promise<LocalImage | undefined> {
  const id = await engine.imageId(plan.reference);
  if (id === undefined || plan.kind !== 'top') return id === undefined ? undefined : { id };
  // The image works without the tag of the agent image, which a user may have removed.
  const [under, builtOn] = [
    await engine.imageId(plan.under.reference),
    await engine.imageLabel(plan.reference, Labels.under),
  ];
  if (under !== undefined && under !== builtOn) return undefined;
  return { id, ...(under === undefined ? {} : { under }) };
}

/** Pulls or builds the image. `fresh`: without images and layers that are on the host. */
export async function makeImage(
  engine: ImageEngine,
  plan: ImagePlan,
  fresh: boolean,
  onProgress: OnProgress,
): Promise<LocalImage> {
  const { reference } = plan;
  if (plan.kind === 'pull') {
    // A digest always means the same image.
    const present = fresh || digestIn(reference) === undefined ? undefined : await engine.imageId(reference);
    if (present !== undefined) return { id: present };
    onProgress('pulling');
    await engine.pull(reference, (line) => onProgress('pulling', line));
  } else if (plan.kind === 'build') return { id: await build(engine, plan, fresh, onProgress) };
  else return buildTop(engine, plan, fresh, onProgress);
  const id = await engine.imageId(reference);
  if (id === undefined) throw new Error(`image ${reference} is missing after its pull`);
  return { id };
}

async function build(
  engine: ImageEngine,
  plan: BuildPlan,
  fresh: boolean,
  onProgress: OnProgress,
): Promise<string> {
  const { reference: tag, context, args, labels } = plan;
  onProgress('building');
  const options = { tag, args, labels, fresh, lookUp: fresh };
  return engine.build(context, options, (line) => onProgress('building', line));
}

/** Builds a team's image on the id of the agent image, because its tag may move during the build. */
async function buildTop(
  engine: ImageEngine,
  plan: TopPlan,
  fresh: boolean,
  onProgress: OnProgress,
): Promise<LocalImage> {
  const present = fresh ? undefined : await engine.imageId(plan.under.reference);
  const under = present ?? (await build(engine, plan.under, fresh, onProgress));
  const { reference: tag, args } = plan;
  const labels = { ...plan.labels, [Labels.under]: under };
  onProgress('building');
  const options = { tag, args: { ...args, BASE: under }, labels, fresh };
  const id = await engine
    .build(await plan.context(), options, (line) => onProgress('building', line))
    .catch((error: unknown) => {
      throw notBuilt(error, plan.name);
    });
  return { id, under };
}

/** Returns the error for a failed build of a team's Dockerfile, which the team can fix. */
function notBuilt(error: unknown, name: string): unknown {
  if (!(error instanceof FleetError) || error.problem.code !== 'engine.failed') return error;
  const { what, seen = what } = error.problem;
  return new FleetError(
    {
      code: 'image.dockerfile',
      what: `the image of ${name} cannot be built`,
      seen,
      next: `correct the Dockerfile of ${name}, then run \`azp-fleet provision\``,
    },
    { cause: error.cause },
  );
}

/** Milliseconds that another host may take to build and push an image before the pull fails. */
const pushTimeoutMs = 30 * 60_000;

/** Thrown while another host builds the image and has not pushed it yet: not a failure. */
export class NotPushedYet extends Error {}

/** Returns the error to throw for a failed pull. For a missing image some registries answer "denied". */
export function pullFailure(error: unknown, plan: ImagePlan, waitedMs: number): unknown {
  if (plan.kind !== 'pull' || plan.builtBy === undefined || !(error instanceof FleetError)) return error;
  const { code, seen } = error.problem;
  if (code !== 'registry.not-found' && code !== 'registry.denied') return error;
  const { builtBy, reference } = plan;
  if (waitedMs < pushTimeoutMs)
    return new NotPushedYet(
      `waiting until ${builtBy} has built and pushed it${seen === undefined ? '' : ` (${seen})`}`,
    );
  return new FleetError(
    {
      code: 'image.not-pushed',
      what: `${builtBy} has not pushed ${reference}`,
      ...(seen === undefined ? {} : { seen }),
      next: `run \`azp-fleet image which ${builtBy}\`, which shows the reason`,
    },
    { cause: error },
  );
}
