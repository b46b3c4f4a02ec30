import type { Problem } from '../../shared/base/errors.ts';
import type { ScriptResult } from '../../fleet/ssh/transport.ts';
import { foldNames } from '../../fleet/inventory/fold-names.ts';
import type { Paint } from './color.ts';
import { problemsLines } from './groups/problems.ts';
import { wrap } from './lines/wrap.ts';

/** What one host answered to `exec`. */
export type HostAnswer =
  | { readonly host: string; readonly result: ScriptResult }
  | { readonly host: string; readonly problem: Problem };

/**
 * Hosts with the same exit code and output together: largest group first, failures and the unreachable last. `clean`:
 * what becomes of their output.
 */
export function execText(
  answers: readonly HostAnswer[],
  {
    paint,
    width,
    clean,
  }: { readonly paint: Paint; readonly width: number; readonly clean: (text: string) => string },
): string {
  const groups = new Map<string, { readonly hosts: string[]; readonly result: ScriptResult }>();
  const problems: Problem[] = [];
  for (const answer of answers) {
    if ('problem' in answer) {
      problems.push(answer.problem);
      continue;
    }
    const { code, stdout, stderr } = answer.result;
    const key = JSON.stringify([code, stdout, stderr]);
    const group = groups.get(key) ?? { hosts: [], result: answer.result };
    group.hosts.push(answer.host);
    groups.set(key, group);
  }
  const ordered = [...groups.values()].sort(
    (a, b) => Number(a.result.code !== 0) - Number(b.result.code !== 0) || b.hosts.length - a.hosts.length,
  );
  const blocks = ordered.map(({ hosts, result }) =>
    [heading(hosts, result.code, { paint, width }), ...body(result).map(clean)].join('\n'),
  );
  return [...blocks, ...problemsLines(problems, width)].join('\n');
}

function heading(
  hosts: readonly string[],
  code: number,
  { paint, width }: { readonly paint: Paint; readonly width: number },
): string {
  const count = hosts.length === 1 ? '' : `${hosts.length} hosts: `;
  const end = code === 0 ? '' : paint('red', `  exit ${code}`);
  const [first = '', ...more] = wrap(`${count}${foldNames(hosts)}`, width, 3, 3);
  const names = [`── ${first}`, ...more].map((line) => paint('bold', line)).join('\n');
  return `${names}${end}`;
}

function body({ stdout, stderr }: ScriptResult): string[] {
  return [stdout, stderr].filter((text) => text !== '').map((text) => text.replace(/\n$/, ''));
}
