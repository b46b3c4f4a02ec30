import type { EngineInfo } from '../../engine/engine.ts';

/**
 * Whether an engine holds containers to `limits.disk`. Its storage says so when one is made: overlay2 can on xfs that is
 * mounted with pquota, btrfs and zfs can. Asked once for each start of the engine.
 */
export class Sizes {
  #lack: string | undefined;

  constructor(storage: EngineInfo['storage']) {
    if (storage.byContainerd) this.#lack = 'its containerd image store knows no sizes';
  }

  /** Why not, as far as it is known; undefined: it does, or has not been asked. */
  get lack(): string | undefined {
    return this.#lack;
  }

  /** The engine has refused to make a container for its size. */
  refused(seen: string): void {
    this.#lack = seen;
  }
}
