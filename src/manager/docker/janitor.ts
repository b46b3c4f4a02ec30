import { Labels } from '../../shared/contract/paths.ts';
import type { OwnContainer, OwnImage } from '../../shared/engine/engine.ts';
import { isHelper, isOverdue } from '../../shared/engine/helpers.ts';
import { probeName } from '../../shared/health/probe.ts';
import { causeOf } from '../causes.ts';
import { diskCause, type DiskSpace, diskState, prunable } from '../machine/disk.ts';
import type { Cause, PulledImages } from '../model.ts';
import type { ManagerDeps } from '../manager-deps.ts';

/** Names of the short-lived containers of this process; others are leftovers of an earlier process. */
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

interface JanitorTools extends Pick<
  ManagerDeps,
  'engine' | 'config' | 'clock' | 'log' | 'diskSpace' | 'containerdRoot'
> {
  readonly helpers: Helpers;
  readonly state: PulledImages;
}

/** Checks the disk of Docker, and removes leftover containers and unused images of azp-fleet. */
export class Janitor {
  readonly #tools: JanitorTools;
  #state: (typeof states)[number] = 'fine';
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

  /** Removes probes and registrations that a crash left: the manager's at once, those of the CLI after their lifetime. */
  async removeLeftovers(): Promise<void> {
    const { engine, log } = this.#tools;
    for (const container of await engine.listOwn()) {
      if (!isHelper(container) || !this.#isLeftover(container)) continue;
      const { id, name } = container;
      await engine.remove(id).then(
        (end) => {
          if (end === 'removed') log.log('info', 'removed a leftover container', { name });
        },
        (error: unknown) =>
          log.log('warn', 'a leftover container could not be removed', { name, ...causeOf(error) }),
      );
    }
  }

  #isLeftover(container: OwnContainer): boolean {
    const { helpers, config, clock } = this.#tools;
    const isOurs = container.labels[Labels.kind] === 'config' || container.name === probeName(config.host);
    // By wall time, as Docker reports the creation.
    return isOurs ? !helpers.has(container.name) : isOverdue(container, clock.wall());
  }

  /** Runs one round. `needed`: images that stay even without a container; undefined: not known yet. */
  async round(needed: readonly string[] | undefined): Promise<void> {
    const { engine } = this.#tools;
    await this.#measure();
    await this.removeLeftovers();
    // The base images of a running build must stay.
    if (needed === undefined) return;
    const [built, containers] = await Promise.all([engine.listOwnImages(), engine.listOwn()]);
    const { value } = this.#tools.state;
    const own = [...built, ...value.pulled.map(({ id, at }) => pulledImage(id, at))];
    for (const old of prunable(own, containers, needed, this.#state !== 'fine')) {
      await this.#removeImage(old).catch((error: unknown) =>
        this.#tools.log.log('info', 'an image was not removed', { id: old.id, ...causeOf(error) }),
      );
    }
  }

  /** Measures Docker's folder, and that of containerd where it stores the images. The fuller one counts. */
  async #measure(): Promise<void> {
    const { engine, diskSpace, containerdRoot } = this.#tools;
    const { rootDir, storage } = await engine.info();
    const store = storage.byContainerd ? await containerdRoot() : undefined;
    const before = this.#state;
    const measured = async (path: string) => {
      const space = await diskSpace(path);
      return { path, space, state: diskState(space, before) };
    };
    const [docker, containerd = docker] = [
      await measured(rootDir),
      store === undefined ? undefined : await measured(store),
    ];
    const worse = states.indexOf(containerd.state) - states.indexOf(docker.state);
    const isFuller = worse > 0 || (worse === 0 && containerd.space.freeBytes < docker.space.freeBytes);
    const { path, space, state } = isFuller ? containerd : docker;
    this.#path = path;
    this.#space = space;
    this.#state = state;
  }

  async #removeImage({ id, tags }: OwnImage): Promise<void> {
    const { engine, state, log } = this.#tools;
    await engine.removeImage(id);
    log.log('info', 'removed an unused image', { id, tags });
    if (state.value.pulled.some((each) => each.id === id))
      await state.note(({ pulled }) => ({ pulled: pulled.filter((each) => each.id !== id) }));
  }
}

/** From the best to the worst. */
const states = ['fine', 'tight', 'full'] as const;

/** Returns a pulled image, which has no label of azp-fleet: the state remembers the pull. */
function pulledImage(id: string, created: number): OwnImage {
  return { id, created, tags: ['pulled'], labels: {}, bytes: 0 };
}
