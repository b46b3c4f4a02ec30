import { Labels } from '../../contract/paths.ts';
import type { OwnContainer } from '../../engine/engine.ts';
import { isHelper, isOverdue } from '../../engine/helpers.ts';
import { probeName } from '../../health/probe.ts';
import { causeOf } from '../causes.ts';
import { diskCause, diskState, prunable, type DiskSpace } from '../machine/disk.ts';
import type { Cause } from '../model.ts';
import type { Outside } from '../outside.ts';
import type { Helpers } from './helpers.ts';

interface JanitorTools extends Pick<Outside, 'engine' | 'config' | 'clock' | 'log' | 'diskSpace'> {
  readonly helpers: Helpers;
  readonly state: { readonly value: { readonly image: { readonly proven?: string } } };
}

/** Watches the disk of Docker and removes images of ours that nothing needs. */
export class Janitor {
  readonly #tools: JanitorTools;
  #state: 'fine' | 'tight' | 'full' = 'fine';
  #space: DiskSpace | undefined;
  #path = '/var/lib/docker';

  constructor(tools: JanitorTools) {
    this.#tools = tools;
  }

  get cause(): Cause | undefined {
    return this.#state === 'full' && this.#space !== undefined
      ? diskCause(this.#space, this.#path)
      : undefined;
  }

  get space(): DiskSpace | undefined {
    return this.#space;
  }

  /** What a crash left of probes and registrations: our own at once, those of the CLI when their time is over. */
  async removeLeftBehind(): Promise<void> {
    const { engine, log } = this.#tools;
    for (const container of await engine.listOwn()) {
      if (!isHelper(container) || !this.#isLeft(container)) continue;
      const { id, name } = container;
      await engine.remove(id).then(
        () => log.log('info', 'removed a container that was left behind', { name }),
        (error: unknown) => log.log('warn', 'a container was left behind', { name, ...causeOf(error) }),
      );
    }
  }

  #isLeft(container: OwnContainer): boolean {
    const { helpers, config, clock } = this.#tools;
    const isOurs = container.labels[Labels.kind] === 'config' || container.name === probeName(config.host);
    // By the wall: Docker says when it was created.
    return isOurs ? !helpers.has(container.name) : isOverdue(container, clock.wall());
  }

  /** One round. `image`: what new containers run. */
  async round(image: string | undefined): Promise<void> {
    const { engine } = this.#tools;
    this.#path = (await engine.info()).rootDir;
    this.#space = await this.#tools.diskSpace(this.#path);
    this.#state = diskState(this.#space, this.#state);
    await this.removeLeftBehind();
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
