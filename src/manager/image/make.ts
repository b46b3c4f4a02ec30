import { FleetError } from '../../shared/base/errors.ts';
import { Labels } from '../../shared/contract/paths.ts';
import type { Engine } from '../../shared/engine/engine.ts';
import { digestIn } from '../../shared/image/digest-proof.ts';
import type { BuildPlan, ImagePlan, TopPlan } from '../../shared/image/plan.ts';

export type ImageEngine = Pick<Engine, 'imageId' | 'imageLabel' | 'pull' | 'push' | 'build'>;

type Tell = (work: 'pulling' | 'building', progress?: string) => void;

/** What is on the host. */
export interface LocalImage {
  readonly id: string;
  /** What it is built on, where that is an image of its own. */
  readonly under?: string;
}

/** The image of the plan as it is there; undefined: it is not, or it was built on another agent image than today's. */
export async function localImage(engine: ImageEngine, plan: ImagePlan): Promise<LocalImage | undefined> {
  const id = await engine.imageId(plan.reference);
  if (id === undefined || plan.kind !== 'top') return id === undefined ? undefined : { id };
  // Without the one below it works all the same: somebody has removed its name.
  const [under, builtOn] = [
    await engine.imageId(plan.under.reference),
    await engine.imageLabel(plan.reference, Labels.under),
  ];
  if (under !== undefined && under !== builtOn) return undefined;
  return { id, ...(under === undefined ? {} : { under }) };
}

/** Pulls or builds it. `fresh`: nothing of what is there is used. */
export async function makeImage(
  engine: ImageEngine,
  plan: ImagePlan,
  fresh: boolean,
  tell: Tell,
): Promise<LocalImage> {
  const { reference } = plan;
  if (plan.kind === 'pull') {
    // What a digest names is what it was.
    const there = fresh || digestIn(reference) === undefined ? undefined : await engine.imageId(reference);
    if (there !== undefined) return { id: there };
    tell('pulling');
    await engine.pull(reference, (line) => tell('pulling', line));
  } else if (plan.kind === 'build') return { id: await build(engine, plan, fresh, tell) };
  else return buildTop(engine, plan, fresh, tell);
  const id = await engine.imageId(reference);
  if (id === undefined) throw new Error(`image ${reference} is not there after it was fetched`);
  return { id };
}

async function build(engine: ImageEngine, plan: BuildPlan, fresh: boolean, tell: Tell): Promise<string> {
  const { reference: tag, context, args, labels } = plan;
  tell('building');
  const options = { tag, args, labels, fresh, lookUp: fresh };
  return engine.build(context, options, (line) => tell('building', line));
}

/** On the id of the image below: its name may come to mean another one while this is built. */
async function buildTop(engine: ImageEngine, plan: TopPlan, fresh: boolean, tell: Tell): Promise<LocalImage> {
  const there = fresh ? undefined : await engine.imageId(plan.under.reference);
  const under = there ?? (await build(engine, plan.under, fresh, tell));
  const { reference: tag, args } = plan;
  const labels = { ...plan.labels, [Labels.under]: under };
  tell('building');
  const options = { tag, args: { ...args, BASE: under }, labels, fresh };
  const id = await engine
    .build(await plan.context(), options, (line) => tell('building', line))
    .catch((error: unknown) => {
      throw notBuilt(error, plan.name);
    });
  return { id, under };
}

/** What the team's own Dockerfile does wrong, they can mend. */
function notBuilt(error: unknown, name: string): unknown {
  if (!(error instanceof FleetError) || error.problem.code !== 'engine.failed') return error;
  const { what, seen = what } = error.problem;
  return new FleetError(
    {
      code: 'image.dockerfile',
      what: `the image of ${name} cannot be built`,
      seen,
      next: `correct the Dockerfile of ${name}, then: azp-fleet provision`,
    },
    { cause: error.cause },
  );
}

/** Milliseconds that another host may take to build and push an image before that is a failure. */
const patienceMs = 30 * 60_000;

/** The image comes from another host, which has not pushed it yet: nothing is wrong so far. */
export class NotPushedYet extends Error {}

/** What to throw for a pull that failed: registries say in either way that there is nothing of this name yet. */
export function pullFailure(error: unknown, plan: ImagePlan, waitedMs: number): unknown {
  if (plan.kind !== 'pull' || plan.builtBy === undefined || !(error instanceof FleetError)) return error;
  const { code, seen } = error.problem;
  if (code !== 'registry.not-found' && code !== 'registry.denied') return error;
  const { builtBy, reference } = plan;
  if (waitedMs < patienceMs)
    return new NotPushedYet(
      `waiting until ${builtBy} has built and pushed it${seen === undefined ? '' : ` (${seen})`}`,
    );
  return new FleetError(
    {
      code: 'image.not-pushed',
      what: `${builtBy} has not pushed ${reference}`,
      ...(seen === undefined ? {} : { seen }),
      next: `look at what keeps it: azp-fleet image which ${builtBy}`,
    },
    { cause: error },
  );
}
