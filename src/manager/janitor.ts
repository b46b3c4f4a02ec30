import { Labels } from '../contract/paths.ts';
import { causeOf } from './causes.ts';
import { diskCause, diskSpace, diskState, prunable, type DiskSpace } from './disk.ts';
import type { Cause } from './model.ts';
import type { Tools } from './tools.ts';

const leftBehindMs = 10 * 60_000;

/** Watches the disk of Docker and removes images of ours that nothing needs. */
export class Janitor {
  readonly #tools: Tools;
  readonly #measure: (path: string) => Promise<DiskSpace>;
  #state: 'fine' | 'tight' | 'full' = 'fine';
  #space: DiskSpace | undefined;
  #path = '/var/lib/docker';

  constructor(tools: Tools, measure: (path: string) => Promise<DiskSpace> = diskSpace) {
    this.#tools = tools;
    this.#measure = measure;
  }

  get cause(): Cause | undefined {
    return this.#state === 'full' && this.#space !== undefined
      ? diskCause(this.#space, this.#path)
      : undefined;
  }

  get space(): DiskSpace | undefined {
    return this.#space;
  }

  /** Probes and registrations live for a minute or two; older ones are what a crash left. */
  async #removeLeftBehind(): Promise<void> {
    const { engine, clock } = this.#tools;
    for (const { id, labels, created } of await engine.listOwn()) {
      const isShort = labels[Labels.kind] === 'probe' || labels[Labels.kind] === 'config';
      if (isShort && clock.now() - created * 1000 > leftBehindMs) await engine.remove(id);
    }
  }

  /** One round. `image`: what new containers run. */
  async round(image: string | undefined): Promise<void> {
    const { engine } = this.#tools;
    this.#path = (await engine.info()).rootDir;
    this.#space = await this.#measure(this.#path);
    this.#state = diskState(this.#space, this.#state);
    await this.#removeLeftBehind();
    // While an image is on its way, what is built on must stay.
    if (image === undefined) return;
    const [images, containers] = await Promise.all([engine.listOwnImages(), engine.listOwn()]);
    const { proven } = this.#tools.state.value.image;
    for (const old of prunable(images, containers, [image, proven], this.#state !== 'fine')) {
      await engine.removeImage(old.id).then(
        () =>
          this.#tools.log.log('info', 'removed an image that nothing needs', { id: old.id, tags: old.tags }),
        (error: unknown) => this.#tools.log.log('info', 'kept an image', { id: old.id, ...causeOf(error) }),
      );
    }
  }
}
