import { type ImageConfig, imagesOf, sourceName } from '../../shared/contract/config.ts';
import type { PulledImages } from '../model.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import { type AskedWork, ImageKeeper, type ImageState } from './keeper.ts';
import type { ImagePlan } from '../../shared/image/plan.ts';

interface ImagesTools extends Pick<ManagerDeps, 'engine' | 'config' | 'clock' | 'log'> {
  readonly state: Pick<PulledImages, 'note'>;
}

/** How to get the image of a source. */
type PlanOf = (source: ImageConfig) => Promise<ImagePlan>;

/** One image with who runs it. */
interface KeptImage {
  readonly source: ImageConfig;
  readonly state: ImageState;
}

/** The images that the slots' containers run: one for all, unless slots name their own. */
export class Images {
  readonly #kept: readonly { readonly source: ImageConfig; readonly keeper: ImageKeeper }[];

  constructor({ engine, config, clock, log, state }: ImagesTools, onChange: () => void) {
    const notePulled = (id: string): Promise<void> => {
      // By the wall: it is compared with Docker's dates of images.
      const at = Math.round(clock.wall() / 1000);
      return state.note(({ pulled }) => ({
        pulled: [...pulled.filter((each) => each.id !== id), { id, at }],
      }));
    };
    this.#kept = imagesOf(config).map((source) => ({
      source,
      keeper: new ImageKeeper(engine, clock, log, onChange, notePulled),
    }));
  }

  /** The host's own image first, if anybody runs it. At least one. */
  get all(): readonly KeptImage[] {
    return this.#kept.map(({ source, keeper }) => ({ source, state: keeper.state }));
  }

  of(source: ImageConfig): ImageState {
    const name = sourceName(source);
    const kept = this.#kept.find((each) => sourceName(each.source) === name);
    return kept?.keeper.state ?? { state: 'missing' };
  }

  /** What became of the work that was asked for last, all images together. */
  get asked(): AskedWork | undefined {
    const works = this.#kept.flatMap(({ keeper }) => keeper.asked ?? []);
    const [first] = works;
    if (first === undefined) return undefined;
    const { at } = first;
    if (works.some(({ state }) => state === 'running')) return { at, state: 'running' };
    const failed = works.find(({ state }) => state === 'failed');
    return failed === undefined ? first : { ...failed, at };
  }

  /** One look: each image is there, or work on it is begun. `missingOnly`: nothing about those that are there. */
  async ensure(plan: PlanOf, missingOnly: boolean): Promise<void> {
    const looked = this.#kept.filter(({ keeper }) => !missingOnly || keeper.state.state !== 'ready');
    await Promise.all(looked.map(({ source, keeper }) => keeper.ensure(() => plan(source))));
  }

  /** Builds or pulls all now, though they may be there. Returns at once. */
  renew(plan: PlanOf, fresh: boolean): void {
    for (const { source, keeper } of this.#kept) keeper.renew(() => plan(source), fresh);
  }
}
