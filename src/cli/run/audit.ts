import { appendFileSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

import type { HostTools } from '../../fleet/apply/apply-tools.ts';
import { auditFileBytes } from '../../fleet/audit/host-script.ts';
import { type AuditLine, readAuditLines } from '../../fleet/audit/read.ts';
import { timestamp } from '../../shared/base/clock.ts';
import type { Context } from '../../shared/base/context.ts';
import { escapeHidden } from '../../shared/base/foreign-text.ts';
import { defined } from '../../shared/base/objects.ts';
import { stateFolder } from '../own-folders.ts';

type Place = Pick<Context, 'env' | 'home'>;

/** Returns the audit file of this machine; undefined: other users may write to its folder. */
function auditFile({ env, home }: Place): string | undefined {
  const { path, refused } = stateFolder(env, home);
  return refused === undefined ? join(path, 'audit.jsonl') : undefined;
}

/** Returns what writes to the audit file of this machine. A file that cannot be written stops no change: the host has one, too. */
export function ownAudit({
  clock,
  log,
  ...place
}: Place & Pick<Context, 'clock' | 'log'>): HostTools['audit'] {
  const file = auditFile(place);
  if (file === undefined) return undefined;
  return (event, entry, outcome) => {
    const line = JSON.stringify({ at: timestamp(clock), event, ...entry, ...defined({ outcome }) });
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) >= auditFileBytes)
        renameSync(file, `${file}.1`);
      appendFileSync(file, `${escapeHidden(line)}\n`, { mode: 0o600 });
    } catch (error) {
      log.log('warn', 'audit file', { file, error: String(error) });
    }
  };
}

/** Reads the audit files of this machine, oldest first; none: no lines. */
export function readOwnAudit(place: Place): readonly AuditLine[] {
  const file = auditFile(place);
  if (file === undefined) return [];
  return [`${file}.1`, file].flatMap((each) => readAuditLines(textOf(each)).lines);
}

function textOf(file: string): string {
  try {
    const { size } = statSync(file);
    return size <= 2 * auditFileBytes ? readFileSync(file, 'utf8') : '';
  } catch {
    return '';
  }
}
