import type { Logger } from '../../shared/base/log.ts';
import { Redactor } from '../../shared/base/redact.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { foreignLine, foreignLines, escapeHidden } from '../../shared/base/foreign-text.ts';

const priorities = { debug: 7, info: 6, warn: 4, error: 3 } as const;

/** One line per message with systemd's priority prefix, so that journalctl -p sorts it. Debug only when asked for. */
export function journalLogger(
  write: (line: string) => void,
  debug: boolean,
  redactor: Redactor = new Redactor(),
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
