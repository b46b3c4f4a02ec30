import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';

import { readerBounds } from '../../shared/base/reader-bounds.ts';
import { Lines } from '../../shared/engine/frames.ts';
import { type Checkup, checkGpu, conclude, examine, uuidOf } from '../../shared/health/checkup.ts';
import { ambiguous, explainSmiFailure } from '../../shared/health/smi-failure.ts';
import { checkKernelEvents } from '../../shared/health/kernel-events.ts';
import type { SmiReport } from '../../shared/health/smi-report.ts';
import { finding } from '../../shared/health/findings.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import { checkXids, type XidEvent, xidKey } from '../../shared/health/xid.ts';
import { KernelLog, type KernelLogReading } from './kernel-log.ts';
import { hasSmiQuery, hasSmiTable, readSmiQuery, readSmiTable, type SmiText } from './smi-text.ts';

/** The diagnosis of one saved output, with what was recognized in it. */
export type Diagnosis =
  | {
      readonly kind: 'nvidia-smi' | 'kernel-log' | 'bug-report';
      /** The command that prints it: `nvidia-smi -q -x`, `dmesg -T`, `nvidia-bug-report.sh`. */
      readonly form: string;
      /** GPUs in the output of nvidia-smi; absent: none was in it, or it cannot be read. */
      readonly gpus?: number;
      /** GPUs of the host, where nvidia-smi wrote their number. */
      readonly attachedGpus?: number;
      /** Lines of the kernel log. */
      readonly kernelLines?: number;
      readonly checkup: Checkup;
    }
  | { readonly kind: 'unknown'; readonly reason: string };

/** Diagnoses a saved output. Reads it once, as a stream, unpacks gzip, and holds 16 MiB of it at most. */
export async function diagnose(source: AsyncIterable<Uint8Array | string>): Promise<Diagnosis> {
  const output = new SavedOutput();
  const lines = new Lines(readerBounds.savedLine.characters);
  const limit = readerBounds.savedOutput.bytes;
  let taken = 0;
  let missing: string | undefined;
  try {
    for await (const chunk of unpacked(source)) {
      taken += chunk.length;
      const kept = taken > limit ? chunk.subarray(0, chunk.length - (taken - limit)) : chunk;
      for (const line of lines.push(kept)) output.take(line);
      if (taken <= limit) continue;
      missing = `only its first ${limit / 1024 ** 2} MiB were read`;
      break;
    }
  } catch (error) {
    if (!isDamagedArchive(error)) throw error;
    missing = 'its archive is damaged or ends early';
  }
  for (const line of lines.end()) output.take(line);
  if (taken === 0 && missing === undefined) return { kind: 'unknown', reason: 'the file is empty' };
  return output.diagnosis(missing);
}

/** Yields the bytes of a source, unpacked where they begin as gzip does. */
async function* unpacked(source: AsyncIterable<Uint8Array | string>): AsyncIterable<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  let next = await chunks.next();
  for (; next.done !== true; next = await chunks.next()) {
    head = Buffer.concat([head, bytesOf(next.value)]);
    if (head.length >= 2) break;
  }
  const rest = async function* (): AsyncIterable<Uint8Array> {
    try {
      yield head;
      while (next.done !== true) {
        next = await chunks.next();
        if (next.done !== true) yield bytesOf(next.value);
      }
    } finally {
      await chunks.return?.();
    }
  };
  if (head[0] !== 0x1f || head[1] !== 0x8b) {
    yield* rest();
    return;
  }
  const stop = new AbortController();
  const out = new PassThrough();
  const done = pipeline(Readable.from(rest()), createGunzip(), out, { signal: stop.signal });
  done.catch((error: unknown) => out.destroy(error instanceof Error ? error : undefined));
  try {
    yield* out as AsyncIterable<Uint8Array>;
  } finally {
    stop.abort();
  }
}

/** A stream with an encoding has texts. */
function bytesOf(chunk: Uint8Array | string): Uint8Array {
  return typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}

function isDamagedArchive(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
}

/** The lines of a saved output: text of nvidia-smi is kept, a kernel log is read on the way. */
class SavedOutput {
  #text = '';
  #isCut = false;
  #isBinary = false;
  #lines = 0;
  #report: BugReport | undefined;
  readonly #log = new KernelLog();

  take(raw: string): void {
    // A crash leaves zeroes in a log.
    const line = raw.replace(/^\0+/, '').replaceAll(colors, '');
    if (line.includes('\0')) this.#isBinary = true;
    this.#lines += 1;
    if (this.#lines <= 50 && line.startsWith('Start of NVIDIA bug report log file')) {
      this.#report = new BugReport();
    }
    if (this.#report !== undefined) return this.#report.take(line);
    this.#log.take(line);
    if (this.#text.length + line.length < readerBounds.savedSmi.characters) this.#text += `${line}\n`;
    else this.#isCut = true;
  }

  diagnosis(missing: string | undefined): Diagnosis {
    if (this.#report !== undefined) return this.#report.diagnosis(missing);
    const text = this.#text;
    const run = { code: 0, output: text, timedOut: false, isCut: this.#isCut || missing !== undefined };
    if (text.includes('<nvidia_smi_log>')) {
      const checkup = examine(run, 'host', { pci: [] });
      const gpus = checkup.report?.gpus.length;
      const form = 'nvidia-smi -q -x';
      return { kind: 'nvidia-smi', form, ...(gpus === undefined ? {} : { gpus }), checkup };
    }
    if (hasSmiQuery(text)) return ofSmiText('nvidia-smi -q', readSmiQuery(text), missing);
    if (hasSmiTable(text)) return ofSmiText('nvidia-smi', readSmiTable(text), missing);
    const log = this.#log.reading();
    if (log !== undefined) return ofKernelLog(log, missing);
    const failure = explainSmiFailure(run, 'host');
    if (failure === undefined) {
      const reason = this.#isBinary ? 'a binary file' : 'neither output of nvidia-smi nor a kernel log';
      return { kind: 'unknown', reason };
    }
    return { kind: 'nvidia-smi', form: 'nvidia-smi, failed', checkup: conclude([failure], undefined) };
  }
}

/** Colors of `dmesg -L=always`. */
const colors = /\u001b\[[\d;]*m/g;

function ofSmiText(form: string, smi: SmiText, missing: string | undefined): Diagnosis {
  const findings = [...ofSmi(smi), ...incomplete(missing)];
  const { report, attached } = smi;
  return {
    kind: 'nvidia-smi',
    form,
    ...(report === undefined ? {} : { gpus: report.gpus.length }),
    ...(attached === undefined ? {} : { attachedGpus: attached }),
    checkup: conclude(findings, report),
  };
}

function ofSmi({ report, doubt, before }: SmiText): readonly Finding[] {
  const failure = explainSmiFailure({ code: 0, output: before, timedOut: false }, 'host');
  return [
    ...(failure === undefined ? [] : [failure]),
    ...(doubt === undefined ? [] : [ambiguous('fail', doubt)]),
    ...(report?.gpus.flatMap(checkGpu) ?? []),
    ...(report?.gpus.length === 0 && failure === undefined ? incomplete('it lists no GPU') : []),
  ];
}

function ofKernelLog(log: KernelLogReading, missing: string | undefined): Diagnosis {
  const findings = [
    ...ofXids(log.xids, undefined),
    ...checkKernelEvents(log.events, undefined),
    ...incomplete(unreadLines(log) ?? missing),
  ];
  return {
    kind: 'kernel-log',
    form: log.form,
    kernelLines: log.lines,
    checkup: conclude(findings, undefined),
  };
}

function ofXids(xids: readonly XidEvent[], report: SmiReport | undefined): readonly Finding[] {
  return checkXids(xids, (busId, part) => uuidOf(report, busId, part));
}

function unreadLines({ unread }: KernelLogReading): string | undefined {
  return unread === 0 ? undefined : `${unread} line(s) with an XID have another form, and were not read`;
}

function incomplete(what: string | undefined): readonly Finding[] {
  if (what === undefined) return [];
  return [finding('diagnose.incomplete', what)];
}

const separator = /^_{40,}$/;

/**
 * nvidia-bug-report.log: sections with a heading, between lines of underscores. Kernel messages are read below `dmesg:` and
 * `Scanning kernel log files`, where those of earlier boots do not count, and the GPUs from `nvidia-smi --query`.
 */
class BugReport {
  readonly #dmesg = new KernelLog();
  readonly #files = new KernelLog();
  #smi = '';
  #heading: string | undefined;
  #part: 'dmesg' | 'files' | 'smi' | undefined;
  #hasEnd = false;
  /** Lines of process lists that no section of nvidia-smi has around them: a process name left the section. */
  #strays = 0;

  take(line: string): void {
    if (separator.test(line)) {
      this.#heading = undefined;
      this.#part = undefined;
      return;
    }
    if (line.startsWith('End of NVIDIA bug report log file')) this.#hasEnd = true;
    if (this.#heading === undefined && line.trim() !== '') {
      this.#heading = line;
      if (line === 'dmesg:') this.#part = 'dmesg';
      else if (line.startsWith('Scanning kernel log files')) this.#part = 'files';
    }
    if (/nvidia-smi --?q(?:uery)?$/.test(line)) this.#part = 'smi';
    else if (/^\S*nvidia-smi \S/.test(line) && this.#part === 'smi') this.#part = undefined;
    const boot = /^ {2}journalctl -b -(\d+):$/.exec(line)?.[1];
    if (boot !== undefined && this.#heading?.startsWith('Scanning') === true)
      this.#part = boot === '0' ? 'files' : undefined;
    if (this.#part !== 'smi' && /^ +Used GPU Memory +: /.test(line)) this.#strays += 1;
    if (this.#part === 'dmesg') this.#dmesg.take(line);
    else if (this.#part === 'files') this.#files.take(line);
    else if (this.#part === 'smi' && this.#smi.length + line.length < readerBounds.savedSmi.characters)
      this.#smi += `${line}\n`;
  }

  diagnosis(missing: string | undefined): Diagnosis {
    const smi = this.#smi === '' ? undefined : readSmiQuery(this.#smi);
    const logs = [this.#dmesg.reading(), this.#files.reading()].filter((log) => log !== undefined);
    const reasons = [
      ...logs.map(unreadLines),
      missing ?? (this.#hasEnd ? undefined : 'it ends early'),
      smi === undefined ? 'it has no output of `nvidia-smi --query`' : undefined,
      logs.length === 0 ? 'it has no kernel log' : undefined,
    ];
    const findings = [
      ...(smi === undefined ? [] : ofSmi(smi)),
      ...(this.#strays === 0 ? [] : [ambiguous('fail', 'a process name looks like a part of the report')]),
      ...ofXids(
        most(
          logs.map(({ xids }) => xids),
          xidKey,
        ),
        smi?.report,
      ),
      ...checkKernelEvents(
        most(
          logs.map(({ events }) => events),
          ({ code, on }) => `${code} ${on}`,
        ),
        smi?.report,
      ),
      ...reasons.flatMap(incomplete),
    ];
    const gpus = smi?.report?.gpus.length;
    return {
      kind: 'bug-report',
      form: 'nvidia-bug-report.sh',
      ...(gpus === undefined ? {} : { gpus }),
      ...(smi?.attached === undefined ? {} : { attachedGpus: smi.attached }),
      kernelLines: logs.reduce((sum, { lines }) => sum + lines, 0),
      checkup: conclude(findings, smi?.report),
    };
  }
}

/** Both logs report the same events: of each key, those of the log that has more. */
function most<Event>(logs: readonly (readonly Event[])[], keyOf: (event: Event) => string): readonly Event[] {
  const groups = new Map<string, readonly Event[]>();
  for (const events of logs) {
    for (const [key, group] of Map.groupBy(events, keyOf)) {
      if (group.length > (groups.get(key)?.length ?? 0)) groups.set(key, group);
    }
  }
  return [...groups.values()].flat();
}
