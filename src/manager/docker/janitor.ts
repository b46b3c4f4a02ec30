import { Labels } from '../../shared/contract/paths.ts';
import type { OwnContainer, OwnImage } from '../../shared/engine/engine.ts';
import { isHelper, isOverdue } from '../../shared/engine/helpers.ts';
import { probeName } from '../../shared/health/probe.ts';
import { causeOf } from '../causes.ts';
import { diskCause, type DiskSpace, diskState, prunable } from '../machine/disk.ts';
import type { Cause, PulledImages } from '../model.ts';
import type { ManagerDeps } from '../manager-deps.ts';

/** The short-lived containers that this process has under way, by name; any other of ours was left by one before it. */
export class Helpers {
  readonly #underWay = new Set<string>();

  async during<T>(name: string, work: () => Promise<T>): Promise<T> {
    this.#underWay.add(name);
    try {
      return await work();
    } finally {
      this.#underWay.delete(name);
    }
  }

  has(name: string): boolean {
    return this.#underWay.has(name);
  }
}

interface JanitorTools extends Pick<ManagerDeps, 'engine' | 'config' | 'clock' | 'log' | 'diskSpace'> {
  readonly helpers: Helpers;
  readonly state: PulledImages;
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

  /** One round. `needed`: images that must stay, whether or not a container is there; undefined: not known yet. */
  async round(needed: readonly string[] | undefined): Promise<void> {
    const { engine } = this.#tools;
    this.#path = (await engine.info()).rootDir;
    this.#space = await this.#tools.diskSpace(this.#path);
    this.#state = diskState(this.#space, this.#state);
    await this.removeLeftBehind();
    // While an image is on its way, what is built on must stay.
    if (needed === undefined) return;
    const [built, containers] = await Promise.all([engine.listOwnImages(), engine.listOwn()]);
    const { value } = this.#tools.state;
    const own = [...built, ...value.pulled.map(({ id, at }) => pulledImage(id, at))];
    for (const old of prunable(own, containers, needed, this.#state !== 'fine')) {
      await this.#removeImage(old).catch((error: unknown) =>
        this.#tools.log.log('info', 'kept an image', { id: old.id, ...causeOf(error) }),
      );
    }
  }

  async #removeImage({ id, tags }: OwnImage): Promise<void> {
    const { engine, state, log } = this.#tools;
    await engine.removeImage(id);
    log.log('info', 'removed an image that nothing needs', { id, tags });
    if (state.value.pulled.some((each) => each.id === id))
      await state.note(({ pulled }) => ({ pulled: pulled.filter((each) => each.id !== id) }));
  }
}

/** Images from a registry carry no label of ours: that we have pulled them is remembered. */
function pulledImage(id: string, created: number): OwnImage {
  return { id, created, tags: ['pulled'], labels: {}, bytes: 0 };
}
