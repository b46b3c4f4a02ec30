import type { ManagerStatus } from '../../shared/contract/status.ts';
import type { Logger } from '../../shared/base/log.ts';
import { writeAtomic } from '../machine/files.ts';

/** Longest time between two writes, so that the age of the file shows whether the manager runs. */
const refreshMs = 15_000;

/** Writes /run/azp-fleet/status.json atomically, one write at a time. */
export class StatusFile {
  readonly #path: string;
  readonly #log: Logger;
  #latest: ManagerStatus | undefined;
  #written = '';
  #writtenAt = Number.NEGATIVE_INFINITY;
  #writing: Promise<void> | undefined;
  /** The last logged error of a write; empty: none. */
  #error = '';

  constructor(path: string, log: Logger) {
    this.#path = path;
    this.#log = log;
  }

  get latest(): ManagerStatus | undefined {
    return this.#latest;
  }

  /** Writes a status that has changed, or if the last write is old. `now`: monotonic. */
  publish(status: ManagerStatus, now: number): void {
    this.#latest = status;
    const { at: _, ...facts } = status;
    const text = JSON.stringify(facts);
    if (text === this.#written && now - this.#writtenAt < refreshMs) return;
    this.#written = text;
    this.#writtenAt = now;
    this.#writing ??= this.#write();
  }

  /** Resolves when the published status was written, or could not be. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  /** Writes the latest status. Never rejects: with a full /run, socket, metrics and agents still work. */
  async #write(): Promise<void> {
    try {
      for (let last: ManagerStatus | undefined; last !== this.#latest;) {
        last = this.#latest;
        await writeAtomic(this.#path, `${JSON.stringify(last)}\n`);
      }
      this.#report('');
    } catch (error) {
      // The next pass tries again.
      this.#writtenAt = Number.NEGATIVE_INFINITY;
      this.#report(errorCode(error));
    } finally {
      this.#writing = undefined;
    }
  }

  /** Logs an error once, and its end. */
  #report(error: string): void {
    if (error !== '' && error !== this.#error)
      this.#log.log('warn', 'the status file cannot be written', { path: this.#path, error });
    if (error === '' && this.#error !== '')
      this.#log.log('info', 'the status file is written again', { path: this.#path });
    this.#error = error;
  }
}

/** Returns the code of an error (ENOSPC): its message has a different file name each time. */
function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
