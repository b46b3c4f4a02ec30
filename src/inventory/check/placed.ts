import type { Problem } from '../../base/errors.ts';
import type { Finding } from './host.ts';
import type { InventoryDocument, Path } from '../document/document.ts';
import { namesInShort } from '../fold-names.ts';
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
  const same = Map.groupBy(found, (finding) => JSON.stringify({ ...finding, host: undefined }));
  return [...same.values()].flatMap(([first, ...more]) => {
    if (first === undefined) return [];
    const { place, host = '', what, ...rest } = first;
    const others = what.includes('{host}') ? [...new Set(more.flatMap((finding) => finding.host ?? []))] : [];
    return [
      { step: 'inventory', ...rest, what: `${place}: ${what.replaceAll('{host}', host)}${asWell(others)}` },
    ];
  });
}

function asWell(hosts: readonly string[]): string {
  return hosts.length === 0 ? '' : ` (as well: ${namesInShort(hosts)})`;
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
