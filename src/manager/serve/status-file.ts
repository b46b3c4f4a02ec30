import type { ManagerStatus } from '../../shared/contract/status.ts';
import type { Logger } from '../../shared/base/log.ts';
import { writeAtomic } from '../machine/files.ts';

/** Written on every change, and at least this often, so that its age tells whether the manager lives. */
const refreshMs = 15_000;

/** /run/azp-fleet/status.json: one writer, never a half-written file, never two writes at once. */
export class StatusFile {
  readonly #path: string;
  readonly #log: Logger;
  #latest: ManagerStatus | undefined;
  #written = '';
  #writtenAt = Number.NEGATIVE_INFINITY;
  #writing: Promise<void> | undefined;

  /** What was last said of a file that cannot be written. */
  #complaint = '';

  constructor(path: string, log: Logger) {
    this.#path = path;
    this.#log = log;
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

  /** Resolves when what was published is on disk, or could not be written. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  /** Never rejects: while /run is full, socket and metrics still answer, and agents go on. */
  async #write(): Promise<void> {
    try {
      for (let last: ManagerStatus | undefined; last !== this.#latest;) {
        last = this.#latest;
        await writeAtomic(this.#path, `${JSON.stringify(last)}\n`);
      }
      this.#complain('');
    } catch (error) {
      // At the next turn of the loop.
      this.#writtenAt = Number.NEGATIVE_INFINITY;
      this.#complain(nameOf(error));
    } finally {
      this.#writing = undefined;
    }
  }

  #complain(complaint: string): void {
    if (complaint !== '' && complaint !== this.#complaint)
      this.#log.log('warn', 'the status file cannot be written', { path: this.#path, complaint });
    if (complaint === '' && this.#complaint !== '')
      this.#log.log('info', 'the status file is written again', { path: this.#path });
    this.#complaint = complaint;
  }
}

/** ENOSPC and the like: the message has another file name at each try. */
function nameOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
