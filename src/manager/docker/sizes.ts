import type { EngineInfo } from '../../shared/engine/engine.ts';

/**
 * Whether an engine holds containers to `limits.disk`. Its storage says so when one is made: overlay2 can on xfs that is
 * mounted with pquota, btrfs and zfs can. Asked once for each start of the engine.
 */
export class Sizes {
  #lack: string | undefined;
  readonly #onBtrfs: boolean;
  #uncounted = false;

  constructor(storage: EngineInfo['storage']) {
    this.#onBtrfs = storage.driver === 'btrfs';
    if (storage.byContainerd) this.#lack = 'its containerd image store knows no sizes';
  }

  /** Why not, as far as it is known; undefined: it does, or has not been asked. */
  get lack(): string | undefined {
    return this.#lack;
  }

  /** Asked for and given, yet not held: btrfs has stopped counting. */
  get uncounted(): boolean {
    return this.#uncounted;
  }

  /** Containers come and go, and with them what is counted. */
  async look(countsLost: () => Promise<boolean>): Promise<void> {
    if (this.#onBtrfs) this.#uncounted = await countsLost();
  }

  /** The engine has refused to make a container for its size. */
  refused(seen: string): void {
    this.#lack = seen;
  }
}
