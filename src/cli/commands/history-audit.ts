import pLimit from 'p-limit';

import { auditFile } from '../../fleet/audit/host-script.ts';
import { auditRecords, type AuditRecord, readAuditLines } from '../../fleet/audit/read.ts';
import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import type { Transport } from '../../fleet/ssh/transport.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, type Problem } from '../../shared/base/errors.ts';
import { hostProblem } from '../../shared/base/host-trouble.ts';
import { sh } from '../../shared/base/shell.ts';
import { minuteOf } from '../../shared/contract/drain.ts';
import type { CommandInput } from '../command.ts';
import { count, wrap } from '../render/lines.ts';
import { problemsAmong, type Result } from '../result.ts';
import { readOwnAudit } from '../run/audit.ts';
import { withHosts } from '../run/hosts.ts';

/** Bytes that are read of one host's audit files: the newest thousands of lines. */
const mostBytes = 1024 * 1024;

/** Prints the newest lines of the audit files. A line that the limit cuts is dropped by the reader. */
export const readAuditScript = sh`for file in ${auditFile}.1 ${auditFile}; do
  [ ! -f "$file" ] || cat "$file"
done | tail -c ${mostBytes}`;

interface HostAudit {
  readonly host: string;
  readonly records: readonly AuditRecord[];
  /** Why the host's file was not read. */
  readonly problem?: Problem;
  /** Lines of the host's file that are not of its form. */
  readonly invalid: number;
}

/** Hosts that are read at a time. */
const atOnce = 50;

/** Lists who changed hosts: from the hosts' audit files, and from that of this machine. */
export async function runAudit(context: Context, input: CommandInput): Promise<Result> {
  const since = input.options.moment('since', context.clock.wall());
  const own = readOwnAudit(context);
  const limit = pLimit(atOnce);
  const found = await withHosts(context, input, ({ hosts, transport, emit }) =>
    Promise.all(
      hosts.map((host) =>
        limit(async (): Promise<HostAudit> => {
          const { name } = host;
          const ours = own.filter((line) => line.host === name);
          emit({ kind: 'host-state', host: name, state: 'reading' });
          const read = await readHost(host, transport, context);
          emit({ kind: 'host-state', host: name, state: 'problem' in read ? 'unreachable' : 'ok' });
          if ('problem' in read)
            return { host: name, records: auditRecords(name, ours, undefined), invalid: 0, ...read };
          const { lines, invalid } = readAuditLines(read.text);
          return { host: name, records: auditRecords(name, ours, lines), invalid };
        }),
      ),
    ),
  );
  const entries = found
    .flatMap(({ records }) => records)
    .filter(({ at }) => since === undefined || Date.parse(at) >= since)
    .toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at));
  const problems = problemsAmong(found);
  const damaged = found
    .filter(({ invalid }) => invalid > 0)
    .map(({ host, invalid }) => damagedLines(host, invalid));
  return {
    exitCode: problems.length > 0 ? ExitCode.hostFailed : ExitCode.ok,
    json: { since: since === undefined ? null : new Date(since).toISOString(), hosts: null, entries },
    problems: [...problems, ...damaged],
    aside: [...problems, ...damaged],
    text: () => auditText(entries, context.stdout.columns ?? Number.POSITIVE_INFINITY, problems.length),
  };
}

async function readHost(
  { name, ssh }: HostSpec,
  transport: Transport,
  { signal, log }: Pick<Context, 'signal' | 'log'>,
): Promise<{ readonly text: string } | { readonly problem: Problem }> {
  try {
    const session = await transport.connect({ name, ssh }, { signal });
    try {
      const { stdout } = await session.script(readAuditScript, { signal, outputLimit: 2 * mostBytes });
      // The first line may be cut.
      const isCut = Buffer.byteLength(stdout) >= mostBytes;
      return { text: isCut ? stdout.slice(stdout.indexOf('\n') + 1) : stdout };
    } finally {
      await session.close();
    }
  } catch (error) {
    if (signal.aborted) throw error;
    return { problem: hostProblem(name, error, log) };
  }
}

function damagedLines(host: string, invalid: number): Problem {
  return {
    code: 'audit.damaged',
    host,
    what: `${count(invalid, 'line')} of its audit file cannot be read`,
    next: `compare with the system log on the host: journalctl -t azp-fleet-audit`,
  };
}

/** Returns the runs for people, oldest first. `unread`: number of hosts that were not read. Pure. */
export function auditText(entries: readonly AuditRecord[], width: number, unread = 0): string {
  if (entries.length === 0 && unread > 0)
    return `Unknown: ${count(unread, 'host')} not read. No changes are recorded elsewhere.\n`;
  if (entries.length === 0) return 'No changes are recorded.\n';
  return `${entries.flatMap((entry) => recordLines(entry, width)).join('\n')}\n`;
}

const places: Readonly<Record<AuditRecord['in'], string | undefined>> = {
  both: undefined,
  host: undefined,
  here: 'from this machine; the host was not read',
  lost: "! not in the host's audit file: compare with journalctl -t azp-fleet-audit there",
};

function recordLines(record: AuditRecord, width: number): readonly string[] {
  const { at, host, who, command, key, login, from, changes, outcome = 'no end recorded' } = record;
  const as = login === undefined ? '' : ` as ${login}`;
  const where = from === undefined || from === '' ? '' : ` from ${from}`;
  const details = [
    `${who}${where}${as}${key === undefined ? '' : `, ${key}`}`,
    ...(changes.length === 0 ? [] : [byStep(changes)]),
    ...[places[record.in] ?? []].flat(),
  ];
  return [
    ...wrap(`${minuteOf(at) ?? at}  ${host}  ${outcome}  ${command}`, width, 0, 4),
    ...details.flatMap((line) => wrap(line, width - 4, 0, 2).map((part) => `    ${part}`)),
  ];
}

/** Returns changes by step, without their digests, which --json has: `driver: source, install; docker: install`. Pure. */
function byStep(changes: readonly string[]): string {
  const steps = new Map<string, string[]>();
  for (const change of changes) {
    const [, step = '', name = ''] = /^([^-]+)-(.+?)(?:-[0-9a-f]{10})?$/.exec(change) ?? ['', change];
    steps.set(step, [...(steps.get(step) ?? []), ...(name === '' ? [] : [name])]);
  }
  return [...steps].map(([step, names]) => [step, names.join(', ')].filter(Boolean).join(': ')).join('; ');
}
