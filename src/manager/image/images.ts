import { type ImageConfig, imagesOf, sourceName } from '../../shared/contract/config.ts';
import type { PulledImages, Cause } from '../model.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import type { ImagePlan } from '../../shared/image/plan.ts';
import type { Logger } from '../../shared/base/log.ts';
import { defined } from '../../shared/base/objects.ts';
import { outputOf } from '../../shared/engine/fault.ts';
import { backoffMs, type Clock, timestamp } from '../../shared/base/clock.ts';
import { causeOf } from '../causes.ts';
import { type ImageRecords, provenOf } from './choice.ts';
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
  readonly state: { readonly value: ImageRecords; readonly note: PulledImages['note'] };
}

/** Plans how to get the image of a source. */
type PlanOf = (source: ImageConfig) => Promise<ImagePlan>;

interface KeptImage {
  readonly source: ImageConfig;
  readonly state: ImageState;
}

/** The images of the slots' containers: one for all slots without an own image, and the own images. */
export class Images {
  readonly #kept: readonly { readonly source: ImageConfig; readonly keeper: ImageKeeper }[];

  constructor({ engine, config, clock, log, state }: ImagesTools, onChange: () => void) {
    const notePulled = (id: string): Promise<void> => {
      // Wall time, because it is compared with Docker's dates of images.
      const at = Math.round(clock.wall() / 1000);
      return state.note(({ pulled }) => ({
        pulled: [...pulled.filter((each) => each.id !== id), { id, at }],
      }));
    };
    this.#kept = imagesOf(config).map((source) => ({
      source,
      keeper: new ImageKeeper(engine, clock, log, onChange, {
        onPulled: notePulled,
        proven: () => provenOf(state.value, source, config),
      }),
    }));
  }

  /** At least one; the host's image first, if a slot uses it. */
  get all(): readonly KeptImage[] {
    return this.#kept.map(({ source, keeper }) => ({ source, state: keeper.state }));
  }

  of(source: ImageConfig): ImageState {
    const name = sourceName(source);
    const kept = this.#kept.find((each) => sourceName(each.source) === name);
    return kept?.keeper.state ?? { state: 'missing' };
  }

  /** The state of the last requested refresh, for all images together. */
  get requested(): RequestedWork | undefined {
    const works = this.#kept.flatMap(({ keeper }) => keeper.requested ?? []);
    const [first] = works;
    if (first === undefined) return undefined;
    const { at } = first;
    if (works.some(({ state }) => state === 'running')) return { at, state: 'running' };
    const failed = works.find(({ state }) => state === 'failed');
    return failed === undefined ? first : { ...failed, at };
  }

  /** Pulls or builds missing images. `missingOnly`: does not check the present ones. */
  async ensure(plan: PlanOf, missingOnly: boolean): Promise<void> {
    const checked = this.#kept.filter(({ keeper }) => !missingOnly || keeper.state.state !== 'ready');
    await Promise.all(checked.map(({ source, keeper }) => keeper.ensure(() => plan(source))));
  }

  /** Starts a build or pull of all images, even of present ones. Returns at once. */
  renew(plan: PlanOf, fresh: boolean): void {
    for (const { source, keeper } of this.#kept) keeper.renew(() => plan(source), fresh);
  }
}

/** How often a registry is checked for a moved tag; also at each start. */
const refreshMs = 6 * 3_600_000;

export interface ImageState {
  readonly state: 'missing' | 'pulling' | 'building' | 'ready' | 'failed';
  readonly reference?: string;
  /** Id of the local image, `sha256:…`. */
  readonly id?: string;
  /** The id is that of an image with an earlier reference: agents run on it until this one is ready. */
  readonly isPrevious?: true;
  /** Id of the agent image that it is built on. */
  readonly under?: string;
  /** Its name in the registry after a push: `REPOSITORY@sha256:…`. */
  readonly pushed?: string;
  /** The last step of a pull or build. */
  readonly progress?: string;
  readonly cause?: Cause;
  /** Output of the failed step. */
  readonly output?: readonly string[];
}

/** The state of the last build or pull that a user requested. */
export interface RequestedWork {
  /** Time of the request, ISO 8601, which identifies it. */
  readonly at: string;
  readonly state: 'running' | 'done' | 'failed';
  readonly cause?: Cause;
  readonly output?: readonly string[];
}

type Failure = Pick<RequestedWork, 'cause' | 'output'>;
type Plan = () => Promise<ImagePlan> | ImagePlan;

/** What the manager has saved about images. */
interface KeeperRecords {
  /** Called with the id of a new image from a registry. */
  readonly onPulled: (id: string) => Promise<void>;
  /** Returns the id of the image on which agents have listened last. */
  readonly proven: () => string | undefined;
}

/** Keeps one agent image on the host, so that no launch waits for it. */
export class ImageKeeper {
  readonly #engine: ImageEngine;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #onChange: () => void;
  readonly #records: KeeperRecords;
  #state: ImageState = { state: 'missing' };
  #failures = 0;
  #notBefore = Number.NEGATIVE_INFINITY;
  #working: Promise<unknown> | undefined;
  #requested: RequestedWork | undefined;
  #published: { readonly id: string; readonly as: string } | undefined;
  /** Start of the wait for another host's push. Monotonic. */
  #waitingSince: number | undefined;
  /** Last check of the registry. Monotonic. */
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(
    engine: ImageEngine,
    clock: Clock,
    log: Logger,
    onChange: () => void,
    records: KeeperRecords = { onPulled: () => Promise.resolve(), proven: () => undefined },
  ) {
    this.#engine = engine;
    this.#clock = clock;
    this.#log = log;
    this.#onChange = onChange;
    this.#records = records;
  }

  get state(): ImageState {
    return this.#state;
  }

  get requested(): RequestedWork | undefined {
    return this.#requested;
  }

  /** Pulls or builds the image if it is missing. `plan` may throw: its error becomes the state's cause. */
  async ensure(plan: Plan): Promise<void> {
    if (this.#clock.monotonic() < this.#notBefore && !(await this.#needsNoPause(plan))) return;
    if (this.#working !== undefined) return;
    await this.#work(async () => this.#obtain(await plan()));
  }

  /**
   * Whether a base fits depends on the GPUs alone: no pause once they answer again, as after a repair. Nor for an image that is on the
   * host by now: out of a bundle it is loaded after the driver that asks for it.
   */
  async #needsNoPause(plan: Plan): Promise<boolean> {
    try {
      const now = await plan();
      return this.#state.cause?.code === 'image.no-base' || (await this.#isHere(now));
    } catch {
      return false;
    }
  }

  async #isHere(plan: ImagePlan): Promise<boolean> {
    return (await localImage(this.#engine, plan)) !== undefined;
  }

  /**
   * Starts a build or pull, even if the image exists: agents use the old one until the new one is ready. Returns at once;
   * `requested` shows the result. Does nothing while an earlier request is in progress.
   */
  renew(plan: Plan, fresh: boolean): void {
    if (this.#requested?.state === 'running') return;
    const at = timestamp(this.#clock);
    this.#requested = { at, state: 'running' };
    void this.#renew(plan, fresh).then((failure) => {
      this.#requested =
        failure === undefined ? { at, state: 'done' } : { at, state: 'failed', ...defined(failure) };
      this.#onChange();
    });
  }

  async #renew(plan: Plan, fresh: boolean): Promise<Failure | undefined> {
    while (this.#working !== undefined) await this.#working;
    return this.#work(async () => this.#fetch(await plan(), fresh));
  }

  /** Returns the failure, which is also in the state. Never throws. */
  async #work(work: () => Promise<void>): Promise<Failure | undefined> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#working = promise;
    try {
      await work();
      this.#failures = 0;
      this.#notBefore = Number.NEGATIVE_INFINITY;
      return undefined;
    } catch (error) {
      if (error instanceof NotPushedYet) return this.#wait(error);
      // Also where the new image could not even be chosen, for example because no base fits the driver.
      return this.#fail(error, this.#state.id === undefined ? await this.#previous().catch(() => ({})) : {});
    } finally {
      this.#working = undefined;
      resolve();
    }
  }

  #fail(error: unknown, previous: Pick<ImageState, 'id' | 'isPrevious'>): Failure {
    this.#failures += 1;
    this.#notBefore = this.#clock.monotonic() + this.#clock.scaled(backoffMs(this.#failures + 1));
    const failure = { cause: causeOf(error), output: outputOf(error) };
    this.#log.log('warn', 'the agent image could not be built or pulled', {
      ...failure.cause,
      output: failure.output,
    });
    const { progress: _, ...state } = this.#state;
    this.#set({ ...state, ...previous, state: 'failed', ...failure });
    return failure;
  }

  /** Shows the wait for another host's push; the next check tries again. */
  #wait({ message }: NotPushedYet): Failure {
    this.#set({ ...this.#state, state: 'pulling', progress: message });
    return { cause: { code: 'image.not-pushed', what: message, next: 'retried automatically' } };
  }

  async #obtain(plan: ImagePlan): Promise<void> {
    const present = await localImage(this.#engine, plan);
    if (present === undefined) return this.#fetchOrFind(plan);
    await this.#publish(plan, present);
    this.#noteReady(plan.reference, present);
    if (plan.kind === 'pull') await this.#refresh(plan.reference);
  }

  /** A failed build or pull does not matter if the image is on the host by then: a bundle may have brought it. */
  async #fetchOrFind(plan: ImagePlan): Promise<void> {
    try {
      await this.#fetch(plan, false);
    } catch (error) {
      if (!(await this.#isHere(plan).catch(() => false))) throw error;
      await this.#obtain(plan);
    }
  }

  async #fetch(plan: ImagePlan, fresh: boolean): Promise<void> {
    const { reference } = plan;
    const kept = await this.#previous(reference);
    this.#log.log('info', 'building or pulling the agent image', { reference, kind: plan.kind, fresh });
    this.#waitingSince ??= this.#clock.monotonic();
    const made = await makeImage(this.#engine, plan, fresh, (state, progress) =>
      this.#set({ state, reference, ...kept, ...defined({ progress }) }),
    ).catch((error: unknown) => {
      throw pullFailure(error, plan, this.#clock.monotonic() - (this.#waitingSince ?? 0));
    });
    this.#waitingSince = undefined;
    if (plan.kind === 'pull' && made.id !== kept.id) await this.#records.onPulled(made.id);
    await this.#publish(plan, made);
    this.#noteReady(reference, made);
    this.#checkedAt = this.#clock.monotonic();
  }

  /**
   * Returns the image that stays in use until the new one is ready: the old one of this reference, or with another reference
   * (a driver with another CUDA, a new configuration) the one that agents ran on before, also before a restart.
   */
  async #previous(reference?: string): Promise<Pick<ImageState, 'id' | 'isPrevious'>> {
    const same = reference && (await this.#engine.imageId(reference));
    if (same !== undefined) return { id: same };
    for (const known of [this.#state.id, this.#records.proven()]) {
      const id = known && (await this.#engine.imageId(known));
      if (id !== undefined) return { id, isPrevious: true };
    }
    return {};
  }

  /** Pushes an image once for each process; a push skips layers that the registry has. */
  async #publish(plan: ImagePlan, { id }: LocalImage): Promise<void> {
    if (plan.kind !== 'top' || plan.push === undefined || this.#published?.id === id) return;
    const { reference, push } = plan;
    const onProgress = (line: string): void =>
      this.#set({ state: 'building', reference, id, progress: `pushing ${push}: ${line}` });
    onProgress('started');
    this.#published = { id, as: await this.#engine.push(id, push, onProgress) };
    this.#log.log('info', 'pushed the agent image', { ...this.#published });
  }

  /** Pulls a tag again, which may have moved; a digest cannot. The old image stays in use until the pull is done. */
  async #refresh(reference: string): Promise<void> {
    if (
      digestIn(reference) !== undefined ||
      this.#clock.monotonic() - this.#checkedAt < this.#clock.scaled(refreshMs)
    )
      return;
    this.#checkedAt = this.#clock.monotonic();
    await this.#engine
      .pull(reference)
      .catch((error: unknown) =>
        this.#log.log('warn', 'the registry could not be checked for a newer image', { ...causeOf(error) }),
      );
    const id = await this.#engine.imageId(reference);
    if (id !== undefined && id !== this.#state.id) await this.#records.onPulled(id);
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
