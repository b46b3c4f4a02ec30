import { arch, platform, versions } from 'node:process';

import { nodeVersion } from '../../fleet/artifacts/node-runtime.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode } from '../../shared/base/errors.ts';
import { releaseLines, type Support, supportOf } from '../../shared/base/support-dates.ts';
import { ourRelease } from '../../shared/contract/release.ts';
import type { CommandInput } from '../command.ts';
import { painter } from '../render/color.ts';
import { type Column, tableLines } from '../render/table.ts';
import type { Result } from '../result.ts';

/** Prints the versions that a bug report needs; with `--check` also how long the vendors support what this release knows. */
export function run(context: Context, { options }: CommandInput): Promise<Result> {
  const { version, protocol } = ourRelease;
  const lines = options.flag('check') ? linesAt(context.clock.wall()) : undefined;
  const json = {
    protocol,
    node: versions.node,
    platform,
    arch,
    hostsNode: nodeVersion,
    lines: lines ?? null,
  };
  const { stdout, env } = context;
  const style = { width: stdout.columns ?? 120, paint: painter(stdout, env) };
  const text = () =>
    `azp-fleet ${version}, protocol ${protocol}\nNode ${json.node} on ${platform} ${arch}; hosts get Node ${nodeVersion}\n` +
    (lines === undefined ? '' : `\n${checkText(lines, style)}\n`);
  return Promise.resolve({ exitCode: ExitCode.ok, json, text });
}

/** One line of the table of releases, at a time. `version`: the line's number. */
interface CheckedLine extends Support {
  readonly isDefault: boolean;
  /** The release that is installed where the inventory names none, and a newer one that was seen. */
  readonly release?: string;
  readonly newer?: string;
  readonly source: string;
  readonly readOn: string;
  /** False: from one source that is not the vendor's. */
  readonly confirmed: boolean;
}

function linesAt(now: number): readonly CheckedLine[] {
  return releaseLines.map(({ part, line, isDefault, version, newer, source, readOn, unconfirmed }) => ({
    ...supportOf(part, line, now),
    isDefault: isDefault === true,
    ...(version === undefined ? {} : { release: version }),
    ...(newer === undefined ? {} : { newer }),
    source,
    readOn,
    confirmed: unconfirmed !== true,
  }));
}

const columns: readonly Column[] = [
  { heading: ['part'], yields: 3 },
  { heading: ['line'], yields: 3 },
  { heading: ['support'], yields: 2 },
  { heading: ['change to'], yields: 2 },
  { heading: ['newer release', 'newer'], yields: 1 },
];

/** Shows what is not plainly supported: ended, about to end, unknown, or with a newer release. */
function checkText(lines: readonly CheckedLine[], style: Parameters<typeof tableLines>[2]): string {
  const shown = lines.filter(({ state, newer }) => state !== 'supported' || newer !== undefined);
  const rows = shown.map((line) =>
    [
      line.part,
      line.isDefault ? `${line.version} (default)` : line.version,
      `${line.state}${line.ends === undefined ? '' : ` ${line.ends}`}`,
      line.state === 'supported' ? '' : (line.successor ?? ''),
      line.newer === undefined ? '' : `${line.newer}, not ${line.release ?? ''}`,
    ].map((text) => ({ texts: [text] as const })),
  );
  const read =
    lines
      .map(({ readOn }) => readOn)
      .toSorted()
      .at(-1) ?? '';
  return [
    ...tableLines(columns, rows, style),
    '',
    `${lines.length - shown.length} of ${lines.length} lines are supported. Read on ${read}; \`--json\` has all lines with their sources.`,
  ].join('\n');
}
