import type { FoundHost, LeftOut } from '../../fleet/inventory/import/found-host.ts';
import { count } from './inventory.ts';
import { wrap } from './lines/wrap.ts';

export interface ShownImport {
  /** As the user named it. */
  readonly file: string;
  readonly isNew: boolean;
  /** What is added to it; of a new one all. */
  readonly fragment: string;
  readonly added: readonly FoundHost[];
  readonly leftOut: readonly LeftOut[];
  readonly written: boolean;
  /** Where the file before went. */
  readonly kept?: string;
  readonly commandLine: string;
}

/** What an import would write or has written, and what it did not take. `width`: of a line. */
export function importText(
  { file, isNew, fragment, added, leftOut, written, kept, commandLine }: ShownImport,
  width: number,
): string {
  const hosts = count(added.length, 'host');
  const done = `${hosts} ${isNew ? 'written to' : 'added to'} ${file}${kept === undefined ? '' : `; the one before is ${kept}`}`;
  const would = `${hosts} would be ${isNew ? 'written to' : 'added to'} ${file}:`;
  const head =
    added.length === 0
      ? [`nothing to add to ${file}`]
      : written
        ? [done]
        : [would, '', ...fragment.trim().split('\n')];
  const left = leftOut.flatMap(({ what, why }) =>
    wrap(`${what}: ${why}`, width - 2, 2, 4).map((line) => `  ${line}`),
  );
  const next = written ? `azp-fleet inventory check ${file}` : `${commandLine} --write`;
  return [
    ...head,
    ...(left.length === 0 ? [] : ['', 'Not taken:', ...left]),
    ...(added.length === 0 ? [] : ['', `Next: ${next}`]),
    '',
  ].join('\n');
}
