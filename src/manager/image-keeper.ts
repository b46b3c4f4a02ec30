import type { Logger } from '../base/log.ts';
import type { Engine } from '../engine/engine.ts';
import { backoffMs } from './backoff.ts';
import { causeOf } from './causes.ts';
import type { Clock } from './clock.ts';
import type { ImagePlan } from './image-plan.ts';
import type { Cause } from './model.ts';

/** How often a registry is asked whether its tag has moved; also at each start. */
const refreshMs = 6 * 3_600_000;

export interface ImageState {
  readonly state: 'missing' | 'pulling' | 'building' | 'ready' | 'failed';
  readonly reference?: string;
  /** Id of the local image, `sha256:…`. */
  readonly id?: string;
  /** The last step of a pull or build. */
  readonly progress?: string;
  readonly cause?: Cause;
}

/** Has the agents' image on the host before it is needed. */
export class ImageKeeper {
  readonly #engine: Pick<Engine, 'imageId' | 'pull' | 'build'>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #onChange: () => void;
  #state: ImageState = { state: 'missing' };
  #failures = 0;
  #notBefore = 0;
  #working = false;
  /** When the registry was last asked. */
  #freshAt = 0;

  constructor(
    engine: Pick<Engine, 'imageId' | 'pull' | 'build'>,
    clock: Clock,
    log: Logger,
    onChange: () => void,
  ) {
    this.#engine = engine;
    this.#clock = clock;
    this.#log = log;
    this.#onChange = onChange;
  }

  get state(): ImageState {
    return this.#state;
  }

  /** One look: the image is there, or work on it is begun. `plan` may throw; that is then the state's cause. */
  async ensure(plan: () => Promise<ImagePlan> | ImagePlan): Promise<void> {
    if (this.#working || this.#clock.now() < this.#notBefore) return;
    this.#working = true;
    try {
      await this.#obtain(await plan());
      this.#failures = 0;
      this.#notBefore = 0;
    } catch (error) {
      this.#failures += 1;
      this.#notBefore = this.#clock.now() + this.#clock.scaled(backoffMs(this.#failures + 1));
      const cause = causeOf(error);
      this.#log.log('warn', 'no agent image', { ...cause });
      this.#set({ ...this.#state, state: 'failed', cause });
    } finally {
      this.#working = false;
    }
  }

  async #obtain(plan: ImagePlan): Promise<void> {
    const { reference } = plan;
    const present = await this.#engine.imageId(reference);
    if (present === undefined) {
      const state = plan.kind === 'pull' ? 'pulling' : 'building';
      this.#set({ state, reference });
      this.#log.log('info', `${state} the agent image`, { reference });
      const onProgress = (progress: string): void => this.#set({ state, reference, progress });
      if (plan.kind === 'pull') await this.#engine.pull(reference, onProgress);
      else
        await this.#engine.build(
          plan.context,
          { tag: reference, args: plan.args, labels: plan.labels },
          onProgress,
        );
    }
    const id = present ?? (await this.#engine.imageId(reference));
    if (id === undefined) throw new Error(`image ${reference} is not there after it was fetched`);
    this.#noteReady(reference, id);
    if (present === undefined) this.#freshAt = this.#clock.now();
    else if (plan.kind === 'pull') await this.#refresh(reference);
  }

  /** A tag may come to mean another image; a digest does not. What is there serves until the new one is. */
  async #refresh(reference: string): Promise<void> {
    if (reference.includes('@') || this.#clock.now() - this.#freshAt < this.#clock.scaled(refreshMs)) return;
    this.#freshAt = this.#clock.now();
    await this.#engine
      .pull(reference)
      .catch((error: unknown) =>
        this.#log.log('warn', 'the image could not be looked up again', { ...causeOf(error) }),
      );
    const id = await this.#engine.imageId(reference);
    if (id !== undefined) this.#noteReady(reference, id);
  }

  #noteReady(reference: string, id: string): void {
    if (this.#state.state !== 'ready' || this.#state.id !== id) this.#set({ state: 'ready', reference, id });
  }

  #set(state: ImageState): void {
    this.#state = state;
    this.#onChange();
  }
}
