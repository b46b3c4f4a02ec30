import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { foreignLine, foreignLines, foreignValue } from '../../base/foreign-text.ts';
import type { RunRecord } from '../../contract/runs.ts';
import type { Diagnostic } from './diagnostics.ts';
import { readJson, writeAtomic } from '../machine/files.ts';

const keptRuns = 20;
/** Of a slot's last failed runs the agent's own logs, at most half a MiB each. */
const keptDiagnostics = 5;
export const keptLines = 200;
/** Together with the lines a run takes at most so much; a slot twenty times as much. */
const keptLogBytes = 64 * 1024;
const keptLineBytes = 4 * 1024;

/** The last runs of every slot, one file each, newest name last. */
export class Evidence {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async add(record: RunRecord): Promise<void> {
    const directory = join(this.#directory, record.slot);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await this.#write(record);
    const surplus = (await this.#names(record.slot)).slice(0, -keptRuns);
    await this.#remove(
      record.slot,
      surplus.flatMap((name) => [name, name.replace(/json$/, 'diag')]),
    );
  }

  /** The agent's own logs of a run that is known already. */
  async keepDiagnostics(slot: string, run: string, files: readonly Diagnostic[]): Promise<void> {
    await writeAtomic(join(this.#directory, slot, `${run}.diag`), JSON.stringify(files));
    await this.#remove(slot, (await this.#names(slot, '.diag')).slice(0, -keptDiagnostics));
  }

  /** Of this run, or of the last one whose logs are kept; undefined: of none. */
  async diagnostics(
    slot: string,
    run?: string,
  ): Promise<{ readonly run: string; readonly files: readonly Diagnostic[] } | undefined> {
    const kept = await this.#names(slot, '.diag');
    const name = run === undefined ? kept.at(-1) : kept.find((each) => each === `${run}.diag`);
    if (name === undefined) return undefined;
    const files = await readJson(join(this.#directory, slot, name));
    return Array.isArray(files) ? { run: name.replace(/\.diag$/, ''), files } : undefined;
  }

  /** Adds what was learnt of a run afterwards. */
  async amend(slot: string, run: string, change: (record: RunRecord) => Partial<RunRecord>): Promise<void> {
    const record = (await readJson(join(this.#directory, slot, `${run}.json`))) as RunRecord | undefined;
    if (record !== undefined) await this.#write({ ...record, ...change(record) });
  }

  /** Newest first. */
  async list(slot: string, limit = keptRuns): Promise<readonly RunRecord[]> {
    const names = (await this.#names(slot)).slice(-limit).toReversed();
    const records = await Promise.all(names.map((name) => readJson(join(this.#directory, slot, name))));
    const logged = new Set(await this.#names(slot, '.diag'));
    return records
      .filter((record): record is RunRecord => record !== undefined)
      .map((record) => (logged.has(`${record.run}.diag`) ? { ...record, diagnostics: true } : record));
  }

  async slots(): Promise<readonly string[]> {
    return readdir(this.#directory).catch(() => []);
  }

  /** Forgets slots that are not configured any more and have not run since (milliseconds since the epoch). */
  async forget(configured: readonly string[], since: number): Promise<readonly string[]> {
    const known = new Set(configured);
    const gone: string[] = [];
    for (const slot of await this.slots()) {
      const path = join(this.#directory, slot);
      if (known.has(slot) || (await stat(path)).mtimeMs >= since) continue;
      await rm(path, { recursive: true, force: true });
      gone.push(slot);
    }
    return gone;
  }

  async #write(record: RunRecord): Promise<void> {
    const bounded = {
      ...foreignValue(record, (said) => foreignLine(said)),
      log: boundedLog(record.log.map(plainLine)),
    };
    await writeAtomic(join(this.#directory, record.slot, `${record.run}.json`), JSON.stringify(bounded));
  }

  async #names(slot: string, ending = '.json'): Promise<readonly string[]> {
    const names = await readdir(join(this.#directory, slot)).catch(() => []);
    return names.filter((name) => name.endsWith(ending)).sort();
  }

  async #remove(slot: string, names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => rm(join(this.#directory, slot, name), { force: true })));
  }
}

/** Without colours and all else that a terminal obeys; what overwrote itself stands side by side. */
function plainLine(line: string): string {
  return foreignLines(line, Number.POSITIVE_INFINITY).replaceAll('\n', ' ').trimEnd();
}

/** The last lines, no longer and no more than is kept. Pure. */
export function boundedLog(lines: readonly string[]): readonly string[] {
  const kept: string[] = [];
  let left = keptLogBytes;
  for (const line of lines.slice(-keptLines).toReversed()) {
    const short = cut(line);
    left -= Buffer.byteLength(short);
    if (left < 0) break;
    kept.push(short);
  }
  return kept.toReversed();
}

function cut(line: string): string {
  const bytes = Buffer.from(line);
  if (bytes.length <= keptLineBytes) return line;
  // A character that was cut in two shows as U+FFFD, which takes as much.
  return `${bytes
    .subarray(0, keptLineBytes)
    .toString('utf8')
    .replace(/\uFFFD$/u, '')} … (${bytes.length} bytes)`;
}
