import { writeFileSync } from 'node:fs';
import type { Clock } from '../../shared/base/clock.ts';
import type { Logger } from '../../shared/base/log.ts';
import { Redactor } from '../../shared/base/redact.ts';
import { FleetError, ExitCode } from '../../shared/base/errors.ts';
import { foreignJson, foreignLine, foreignLines, escapeHidden } from '../../shared/base/foreign-text.ts';
import { defined, isObject } from '../../shared/base/objects.ts';
import { readTextNow } from '../machine/files.ts';
import type { Metrics } from '../serve/metrics.ts';
import {
  type Crash,
  crashHistory,
  type CrashHistory,
  currentSubsystem,
  reasonOf,
  subsystemNames,
} from '../subsystems.ts';

const priorities = { debug: 7, info: 6, warn: 4, error: 3 } as const;

/** Characters of all forms of secrets that are hidden; those of one token of Microsoft Entra ID have about 25,000. */
const mostForms = 1024 ** 2;

/** Logs one line per message with systemd's priority prefix, for journalctl -p. `debug`: also debug messages. */
export function journalLogger(
  write: (line: string) => void,
  debug: boolean,
  redactor: Redactor = new Redactor(mostForms),
): Logger {
  return {
    log(level, message, fields = {}) {
      if (level === 'debug' && !debug) return;
      const details = Object.keys(fields).length === 0 ? '' : ` ${JSON.stringify(fields, readable)}`;
      const line = escapeHidden(redactor.text(`${foreignLine(message)}${details}`));
      write(`<${priorities[level]}>${line}\n`);
    },
    redact: (secret) => redactor.add(secret),
  };
}

function readable(_key: string, value: unknown): unknown {
  if (value instanceof FleetError) return value.problem;
  if (value instanceof Error) return { name: value.name, message: value.message, stack: value.stack };
  return typeof value === 'string' ? foreignLines(value) : value;
}

type Program = Pick<NodeJS.Process, 'on' | 'exit' | 'stdout' | 'stderr'>;

/**
 * Handles errors that nothing caught. A log that cannot be written (EPIPE while journald restarts) and a rejected promise
 * without a handler are counted, and the process continues: each caller has its own deadline. After an exception the state
 * of the process is unknown: it exits, and systemd restarts it; agents' containers keep running. `crashes`: the file that
 * counts such exits over restarts; `PATH.json` beside it has the reasons of the last ones. Returns those that count now.
 */
export function handleStrayErrors(
  program: Program,
  crashes: string,
  {
    log,
    metrics,
    clock,
  }: {
    readonly log: Logger;
    readonly metrics: Pick<Metrics, 'strayError'>;
    readonly clock: Pick<Clock, 'wall'>;
  },
): CrashHistory {
  const before = crashesIn(crashes);
  const known = reasonsIn(`${crashes}.json`);
  metrics.strayError('exception', before);
  for (const stream of [program.stdout, program.stderr])
    stream.on('error', () => metrics.strayError('output', 1));
  program.on('unhandledRejection', (error) => {
    metrics.strayError('rejection', 1);
    log.log('error', 'a promise was rejected without a handler; the manager continues', { error });
  });
  program.on('uncaughtException', (error) => {
    try {
      log.log('error', 'an uncaught error stops the manager; running jobs continue', { error });
      writeFileSync(crashes, `${before + 1}\n`, { mode: 0o600 });
      const crash = {
        at: clock.wall(),
        reason: reasonOf(error),
        ...defined({ subsystem: currentSubsystem() }),
      };
      const latest = [...known, crash].slice(-keptReasons);
      writeFileSync(`${crashes}.json`, `${JSON.stringify(latest)}\n`, { mode: 0o600 });
    } finally {
      program.exit(ExitCode.bug);
    }
  });
  return crashHistory(known, clock.wall());
}

const keptReasons = 10;

/** Returns the crashes in the file, oldest first; none where it is missing or damaged. */
function reasonsIn(path: string): readonly Crash[] {
  try {
    const list = foreignJson(readTextNow(path));
    return Array.isArray(list) ? list.slice(-keptReasons).flatMap(readCrash) : [];
  } catch {
    return [];
  }
}

function readCrash(value: unknown): readonly Crash[] {
  if (!isObject(value)) return [];
  const { at, reason, subsystem } = value;
  if (typeof at !== 'number' || typeof reason !== 'string') return [];
  const name = subsystemNames.find((each) => each === subsystem);
  return [{ at, reason: foreignLine(reason, 300), ...defined({ subsystem: name }) }];
}

/** Returns the number in the file; 0 where it is missing or has none. */
function crashesIn(path: string): number {
  try {
    const count = Number(readTextNow(path));
    return Number.isSafeInteger(count) && count > 0 ? count : 0;
  } catch {
    return 0;
  }
}

/** Returns the text and exit code for an error. An error that is not a FleetError is a bug, shown with its stack. Pure. */
export function failureOutput(error: unknown): { readonly text: string; readonly exitCode: ExitCode } {
  if (!(error instanceof FleetError)) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { text: `${text}\n`, exitCode: ExitCode.bug };
  }
  const { what, expected, seen, next } = error.problem;
  const parts = Object.entries({ expected, seen, next }).filter(([, text]) => text !== undefined);
  const lines = parts.map(([label, text = '']) => `  ${label.padEnd(10)}${indented(text)}`);
  return { text: `${[what, ...lines].join('\n')}\n`, exitCode: error.exitCode };
}

function indented(text: string): string {
  return text.replaceAll('\n', `\n${' '.repeat(12)}`);
}
