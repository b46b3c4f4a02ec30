import { type ImageConfig, imagesOf, sourceName } from '../../shared/contract/config.ts';
import type { PulledImages, Cause } from '../model.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import type { ImagePlan } from '../../shared/image/plan.ts';
import type { Logger } from '../../shared/base/log.ts';
import { defined } from '../../shared/base/objects.ts';
import { outputOf } from '../../shared/engine/fault.ts';
import { backoffMs, type Clock, timestamp } from '../../shared/base/clock.ts';
import { causeOf } from '../causes.ts';
import {
  type ImageEngine,
  localImage,
  type LocalImage,
  makeImage,
  NotPushedYet,
  pullFailure,
} from './make.ts';
import { digestIn } from '../../shared/image/digest-proof.ts';

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
  get asked(): RequestedWork | undefined {
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

/** How often a registry is asked whether its tag has moved; also at each start. */
const refreshMs = 6 * 3_600_000;

export interface ImageState {
  readonly state: 'missing' | 'pulling' | 'building' | 'ready' | 'failed';
  readonly reference?: string;
  /** Id of the local image, `sha256:…`. */
  readonly id?: string;
  /** The agent image that it is built on. */
  readonly under?: string;
  /** Where it was pushed, with its digest there: `REPOSITORY@sha256:…`. */
  readonly pushed?: string;
  /** The last step of a pull or build. */
  readonly progress?: string;
  readonly cause?: Cause;
  /** What the failed step wrote. */
  readonly output?: readonly string[];
}

/** What became of the last build or pull that somebody asked for. */
export interface RequestedWork {
  /** ISO 8601, when it was asked for: its name. */
  readonly at: string;
  readonly state: 'running' | 'done' | 'failed';
  readonly cause?: Cause;
  readonly output?: readonly string[];
}

type Failure = Pick<RequestedWork, 'cause' | 'output'>;
type Plan = () => Promise<ImagePlan> | ImagePlan;

/** Has the agents' image on the host before it is needed. */
export class ImageKeeper {
  readonly #engine: ImageEngine;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #onChange: () => void;
  readonly #onPulled: (id: string) => Promise<void>;
  #state: ImageState = { state: 'missing' };
  #failures = 0;
  #notBefore = Number.NEGATIVE_INFINITY;
  #working: Promise<unknown> | undefined;
  #asked: RequestedWork | undefined;
  #published: { readonly id: string; readonly as: string } | undefined;
  /** Since when another host's image is waited for. */
  #waitingSince: number | undefined;
  /** When the registry was last asked. */
  #freshAt = Number.NEGATIVE_INFINITY;

  constructor(
    engine: ImageEngine,
    clock: Clock,
    log: Logger,
    onChange: () => void,
    /** An image has come that was not there before. */
    onPulled: (id: string) => Promise<void> = () => Promise.resolve(),
  ) {
    this.#engine = engine;
    this.#clock = clock;
    this.#log = log;
    this.#onChange = onChange;
    this.#onPulled = onPulled;
  }

  get state(): ImageState {
    return this.#state;
  }

  get asked(): RequestedWork | undefined {
    return this.#asked;
  }

  /** One look: the image is there, or work on it is begun. `plan` may throw; that is then the state's cause. */
  async ensure(plan: Plan): Promise<void> {
    if (this.#working !== undefined || this.#clock.monotonic() < this.#notBefore) return;
    await this.#work(async () => this.#obtain(await plan()));
  }

  /**
   * Builds or pulls now, though an image may be there: agents go on with it until the new one is. Returns at once;
   * `asked` tells what became of it. While one that was asked for is under way, no second one is begun.
   */
  renew(plan: Plan, fresh: boolean): void {
    if (this.#asked?.state === 'running') return;
    const at = timestamp(this.#clock);
    this.#asked = { at, state: 'running' };
    void this.#renew(plan, fresh).then((failure) => {
      this.#asked =
        failure === undefined ? { at, state: 'done' } : { at, state: 'failed', ...defined(failure) };
      this.#onChange();
    });
  }

  async #renew(plan: Plan, fresh: boolean): Promise<Failure | undefined> {
    while (this.#working !== undefined) await this.#working;
    return this.#work(async () => this.#fetch(await plan(), fresh));
  }

  /** Never throws: what went wrong is the state's cause, and the answer. */
  async #work(work: () => Promise<void>): Promise<Failure | undefined> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#working = promise;
    try {
      await work();
      this.#failures = 0;
      this.#notBefore = Number.NEGATIVE_INFINITY;
      return undefined;
    } catch (error) {
      return error instanceof NotPushedYet ? this.#wait(error) : this.#fail(error);
    } finally {
      this.#working = undefined;
      resolve();
    }
  }

  #fail(error: unknown): Failure {
    this.#failures += 1;
    this.#notBefore = this.#clock.monotonic() + this.#clock.scaled(backoffMs(this.#failures + 1));
    const failure = { cause: causeOf(error), output: outputOf(error) };
    this.#log.log('warn', 'no agent image', { ...failure.cause, output: failure.output });
    const { progress: _, ...state } = this.#state;
    this.#set({ ...state, state: 'failed', ...failure });
    return failure;
  }

  /** Asked again at the next look. */
  #wait({ message }: NotPushedYet): Failure {
    this.#set({ ...this.#state, state: 'pulling', progress: message });
    return { cause: { code: 'image.not-pushed', what: message, next: 'wait: it is asked for again' } };
  }

  async #obtain(plan: ImagePlan): Promise<void> {
    const present = await localImage(this.#engine, plan);
    if (present === undefined) return this.#fetch(plan, false);
    await this.#publish(plan, present);
    this.#noteReady(plan.reference, present);
    if (plan.kind === 'pull') await this.#refresh(plan.reference);
  }

  async #fetch(plan: ImagePlan, fresh: boolean): Promise<void> {
    const { reference } = plan;
    // What is there already serves meanwhile.
    const kept = defined({ id: await this.#engine.imageId(reference) });
    this.#log.log('info', 'making the agent image', { reference, kind: plan.kind, fresh });
    this.#waitingSince ??= this.#clock.monotonic();
    const made = await makeImage(this.#engine, plan, fresh, (state, progress) =>
      this.#set({ state, reference, ...kept, ...defined({ progress }) }),
    ).catch((error: unknown) => {
      throw pullFailure(error, plan, this.#clock.monotonic() - (this.#waitingSince ?? 0));
    });
    this.#waitingSince = undefined;
    if (plan.kind === 'pull' && made.id !== kept.id) await this.#onPulled(made.id);
    await this.#publish(plan, made);
    this.#noteReady(reference, made);
    this.#freshAt = this.#clock.monotonic();
  }

  /** Once an image, and again after a restart: what the registry has already is not sent twice. */
  async #publish(plan: ImagePlan, { id }: LocalImage): Promise<void> {
    if (plan.kind !== 'top' || plan.push === undefined || this.#published?.id === id) return;
    const { reference, push } = plan;
    const tell = (line: string): void =>
      this.#set({ state: 'building', reference, id, progress: `pushing ${push}: ${line}` });
    tell('begun');
    this.#published = { id, as: await this.#engine.push(id, push, tell) };
    this.#log.log('info', 'pushed the agent image', { ...this.#published });
  }

  /** A tag may come to mean another image; a digest does not. What is there serves until the new one is. */
  async #refresh(reference: string): Promise<void> {
    if (
      digestIn(reference) !== undefined ||
      this.#clock.monotonic() - this.#freshAt < this.#clock.scaled(refreshMs)
    )
      return;
    this.#freshAt = this.#clock.monotonic();
    await this.#engine
      .pull(reference)
      .catch((error: unknown) =>
        this.#log.log('warn', 'the image could not be looked up again', { ...causeOf(error) }),
      );
    const id = await this.#engine.imageId(reference);
    if (id !== undefined && id !== this.#state.id) await this.#onPulled(id);
    if (id !== undefined) this.#noteReady(reference, { id });
  }

  #noteReady(reference: string, local: LocalImage): void {
    if (this.#state.state === 'ready' && this.#state.id === local.id && this.#state.under === local.under)
      return;
    const pushed = this.#published?.id === local.id ? this.#published.as : undefined;
    this.#set({ state: 'ready', reference, ...local, ...defined({ pushed }) });
  }

  #set(state: ImageState): void {
    this.#state = state;
    this.#onChange();
  }
}
