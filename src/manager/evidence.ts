import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunRecord } from '../contract/runs.ts';
import { readJson, writeAtomic } from './files.ts';

const keptRuns = 20;
export const keptLines = 200;

/** The last runs of every slot, one file each, newest name last. */
export class Evidence {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async add(record: RunRecord): Promise<void> {
    const directory = join(this.#directory, record.slot);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await writeAtomic(join(directory, `${record.run}.json`), JSON.stringify(record));
    const surplus = (await this.#names(record.slot)).slice(0, -keptRuns);
    await Promise.all(surplus.map((name) => rm(join(directory, name), { force: true })));
  }

  /** Newest first. */
  async list(slot: string, limit = keptRuns): Promise<readonly RunRecord[]> {
    const names = (await this.#names(slot)).slice(-limit).toReversed();
    const records = await Promise.all(names.map((name) => readJson(join(this.#directory, slot, name))));
    return records.filter((record): record is RunRecord => record !== undefined);
  }

  async slots(): Promise<readonly string[]> {
    return readdir(this.#directory).catch(() => []);
  }

  async #names(slot: string): Promise<readonly string[]> {
    const names = await readdir(join(this.#directory, slot)).catch(() => []);
    return names.filter((name) => name.endsWith('.json')).sort();
  }
}
