import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { foreignLine, foreignLines, foreignValue } from '../../shared/base/foreign-text.ts';
import type { RunRecord } from '../../shared/contract/status.ts';
import { readJson, writeAtomic } from '../machine/files.ts';
import type { FileTail, TailLimits } from '../../shared/engine/tails.ts';
import { faultOf } from './outcome.ts';

const keptRuns = 20;
/** Number of failed runs of a slot whose agent logs are kept, at most half a MiB each. */
const keptDiagnostics = 5;
export const keptLines = 200;
/** Most bytes of a run's lines; a slot has twenty runs. */
const keptLogBytes = 64 * 1024;
const keptLineBytes = 4 * 1024;

/** Keeps the last runs of every slot in one file each, SLOT/rNUMBER-RUN.json. Numbers keep the order when clocks are set back. */
export class RunStore {
  readonly #directory: string;
  /** Number of the last run; undefined: not read yet. */
  #last: Promise<number> | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Writes a run, or replaces its record. */
  async add(record: RunRecord): Promise<void> {
    const directory = join(this.#directory, record.slot);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const sequence = await this.#next();
    const kept = await this.#fileOf(record.slot, record.run);
    await this.#write(kept ?? fileName(sequence, record.run), { sequence, ...record });
    const surplus = (await this.#names(record.slot)).slice(0, -keptRuns);
    await this.#remove(
      record.slot,
      surplus.flatMap((name) => [name, name.replace(/json$/, 'diag')]),
    );
  }

  /** Writes the agent's own logs of a recorded run. */
  async keepDiagnostics(slot: string, run: string, files: readonly Diagnostic[]): Promise<void> {
    const name = (await this.#fileOf(slot, run)) ?? `${run}.json`;
    await writeAtomic(join(this.#directory, slot, name.replace(/json$/, 'diag')), JSON.stringify(files));
    await this.#remove(slot, (await this.#names(slot, '.diag')).slice(0, -keptDiagnostics));
  }

  /** Returns the agent's own logs of this run, or of the last run that has some; undefined if there are none. */
  async diagnostics(
    slot: string,
    run?: string,
  ): Promise<{ readonly run: string; readonly files: readonly Diagnostic[] } | undefined> {
    const kept = await this.#names(slot, '.diag');
    const name = run === undefined ? kept.at(-1) : kept.find((each) => runOf(each) === run);
    if (name === undefined) return undefined;
    const files = await readJson(join(this.#directory, slot, name));
    return Array.isArray(files) ? { run: runOf(name), files } : undefined;
  }

  /** Returns the record of a run; undefined: it has none, or a damaged one. */
  async find(slot: string, run: string): Promise<RunRecord | undefined> {
    const name = await this.#fileOf(slot, run);
    const found = name && ((await readJson(join(this.#directory, slot, name))) as Partial<RunRecord> | null);
    return found && Array.isArray(found.log) ? (found as RunRecord) : undefined;
  }

  /** Adds to the record of a run. */
  async amend(slot: string, run: string, change: (record: RunRecord) => Partial<RunRecord>): Promise<void> {
    const name = await this.#fileOf(slot, run);
    const record = await this.find(slot, run);
    if (name !== undefined && record !== undefined) await this.#write(name, { ...record, ...change(record) });
  }

  /** Lists a slot's runs, newest first. */
  async list(slot: string, limit = keptRuns): Promise<readonly RunRecord[]> {
    const names = (await this.#names(slot)).slice(-limit).toReversed();
    const records = await Promise.all(names.map((name) => readJson(join(this.#directory, slot, name))));
    const logged = new Set((await this.#names(slot, '.diag')).map(runOf));
    return records
      .filter((record): record is RunRecord => record !== undefined)
      .map((record) => (logged.has(record.run) ? { ...record, diagnostics: true } : record));
  }

  async slots(): Promise<readonly string[]> {
    return readdir(this.#directory).catch(() => []);
  }

  /** Removes slots that are no longer configured and have not run since (milliseconds since the epoch). */
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

  /** Returns one more than the highest number of all slots, so that runs of different slots sort as well. */
  #next(): Promise<number> {
    this.#last = (this.#last ?? this.#highest()).then((last) => last + 1);
    return this.#last;
  }

  async #highest(): Promise<number> {
    const names = await Promise.all((await this.slots()).map((slot) => this.#names(slot)));
    return Math.max(0, ...names.flat().map(numberOf));
  }

  async #fileOf(slot: string, run: string): Promise<string | undefined> {
    return (await this.#names(slot)).find((name) => runOf(name) === run);
  }

  async #write(name: string, record: RunRecord): Promise<void> {
    const bounded = {
      ...foreignValue(record, (value) => foreignLine(value)),
      log: boundedLog(record.log.map(plainLine)),
    };
    await writeAtomic(join(this.#directory, record.slot, name), JSON.stringify(bounded));
  }

  async #names(slot: string, ending = '.json'): Promise<readonly string[]> {
    const names = await readdir(join(this.#directory, slot)).catch(() => []);
    return names.filter((name) => name.endsWith(ending)).sort(byNumber);
  }

  async #remove(slot: string, names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => rm(join(this.#directory, slot, name), { force: true })));
  }
}

const numbered = /^r(\d{10})-/;

function fileName(sequence: number, run: string): string {
  return `r${String(sequence).padStart(10, '0')}-${run}.json`;
}

/** Returns the number of a file; 0 for files of an earlier version, which have none. */
function numberOf(name: string): number {
  return Number(numbered.exec(name)?.[1] ?? 0);
}

function runOf(name: string): string {
  return name.replace(numbered, '').replace(/\.[a-z]+$/, '');
}

function byNumber(left: string, right: string): number {
  return numberOf(left) - numberOf(right) || (left < right ? -1 : 1);
}

/** The order in which runs are shown. */
export function newestFirst(left: RunRecord, right: RunRecord): number {
  return (right.sequence ?? 0) - (left.sequence ?? 0) || (left.run < right.run ? 1 : -1);
}

/** Removes colours and other control sequences; parts that overwrote each other are joined by a blank. */
function plainLine(line: string): string {
  return foreignLines(line, Number.POSITIVE_INFINITY).replaceAll('\n', ' ').trimEnd();
}

/** Returns the last lines, cut to the limits. Pure. */
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
  // A split character decodes as U+FFFD.
  return `${bytes
    .subarray(0, keptLineBytes)
    .toString('utf8')
    .replace(/\uFFFD$/u, '')} … (${bytes.length} bytes)`;
}

/** Limits for the logs of a failed run: those of the listener and the worker, at most two pages each. */
export const diagnosticLimits: TailLimits = {
  files: 4,
  fileBytes: 128 * 1024,
  streamBytes: 64 * 1024 * 1024,
};

/** One kept file of the agent's `_diag`, without control sequences. */
export interface Diagnostic {
  readonly name: string;
  /** Size of the whole file. */
  readonly bytes: number;
  /** Its end. */
  readonly text: string;
}

/** Returns whether a file is a log of the listener or worker, by its name (HostTraceListener). */
export function isAgentLog(name: string): boolean {
  return /^(?:Agent|Worker)_[\w.-]{1,100}\.log$/.test(name);
}

const succeeded: ReadonlySet<string> = new Set(['succeeded', 'succeededwithissues', 'canceled']);

/** Returns whether a run's logs are kept: also of a failed job, since the console does not show a killed worker. Pure. */
export function isFailed({ cause, result }: Pick<RunRecord, 'cause' | 'result'>): boolean {
  return faultOf({ cause }) !== undefined || (result !== undefined && !succeeded.has(result));
}

export function diagnosticOf({ name, bytes, end }: FileTail): Diagnostic {
  const text = foreignLines(end.toString('utf8'), Number.POSITIVE_INFINITY);
  return { name, bytes, text: text.slice(-diagnosticLimits.fileBytes) };
}

/** Returns the files as text, each under its name. */
export function diagnosticsText(run: string, files: readonly Diagnostic[]): string {
  const parts = files.map(({ name, bytes, text }) => {
    const cut = text.length < bytes ? `, the end of ${bytes} bytes` : '';
    return `==> ${name} of run ${run}${cut} <==\n${text.endsWith('\n') ? text : `${text}\n`}`;
  });
  return parts.join('\n');
}
