import type { Problem } from '../../../shared/base/errors.ts';
import type { Finding } from './host.ts';
import type { InventoryDocument } from '../document/document.ts';
import type { Path } from '../document/path.ts';
import { asWell } from '../document/once.ts';
import { groupsOf } from '../resolve/merge.ts';
import type { InventoryFile } from '../schema/file.ts';

/**
 * Findings with the place in the file where their value really stands. What a group or the defaults say wrongly for
 * many hosts is one mistake; what only follows from a variable that is not set is none.
 */
export function placed(
  findings: readonly Finding[],
  document: InventoryDocument,
  file: InventoryFile,
): Problem[] {
  const found = findings.flatMap(({ path, ...finding }) => {
    const at = origin(path, document, file);
    return document.isUnset(at) ? [] : [{ ...finding, place: document.place(at) }];
  });
  // Wherever it stands: of hosts that have each written it, the first is shown.
  const same = Map.groupBy(found, ({ place, host: _host, ...said }) =>
    JSON.stringify([said, said.what.includes('{host}') ? '' : place]),
  );
  return [...same.values()].flatMap(([first, ...more]) => {
    if (first === undefined) return [];
    const { place, host = '', what, ...rest } = first;
    const others = what.includes('{host}') ? [...new Set(more.flatMap((finding) => finding.host ?? []))] : [];
    return [
      { step: 'inventory', ...rest, what: `${place}: ${what.replaceAll('{host}', host)}${asWell(others)}` },
    ];
  });
}

/** Where a host's value really stands: at the host, in one of its groups, or in the defaults. */
function origin(place: Path, document: InventoryDocument, file: InventoryFile): Path {
  const [top, host, key, ...rest] = place;
  if (top !== 'hosts' || typeof host !== 'string' || key === undefined) return place;
  const groups = groupsOf(host, file.groups ?? {}).toReversed();
  const layers = [['hosts', host], ...groups.map((name) => ['groups', name, 'vars']), ['defaults']];
  const wanted = [[key, ...rest], ...(key === 'datasets' ? [['volumes']] : []), [key]];
  const candidates = wanted.flatMap((tail) => layers.map((layer): Path => [...layer, ...tail]));
  return candidates.find((candidate) => document.has(candidate)) ?? place;
}
