import type { ManagerStatus } from '../../contract/status.ts';
import { writeAtomic } from '../machine/files.ts';

/** Written on every change, and at least this often, so that its age tells whether the manager lives. */
const refreshMs = 15_000;

/** /run/azp-fleet/status.json: one writer, never a half-written file, never two writes at once. */
export class StatusFile {
  readonly #path: string;
  #latest: ManagerStatus | undefined;
  #written = '';
  #writtenAt = Number.NEGATIVE_INFINITY;
  #writing: Promise<void> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  get latest(): ManagerStatus | undefined {
    return this.#latest;
  }

  /** `now`: monotonic. */
  publish(status: ManagerStatus, now: number): void {
    this.#latest = status;
    const { at: _, ...facts } = status;
    const text = JSON.stringify(facts);
    if (text === this.#written && now - this.#writtenAt < refreshMs) return;
    this.#written = text;
    this.#writtenAt = now;
    this.#writing ??= this.#write();
  }

  /** Resolves when what was published is on disk. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    try {
      for (let last: ManagerStatus | undefined; last !== this.#latest;) {
        last = this.#latest;
        await writeAtomic(this.#path, `${JSON.stringify(last)}\n`);
      }
    } finally {
      this.#writing = undefined;
    }
  }
}
