import type { HostKey } from '../../../fleet/ssh/connect/host-keys.ts';
import { columns } from '../table.ts';

/** A host's key and what is on file about it. */
export interface ShownKey {
  readonly host: string;
  readonly key: HostKey;
  readonly known: 'known' | 'unknown' | 'changed' | 'revoked';
  readonly pinned: 'none' | 'same' | 'different';
}

const knownWords = { known: 'same', unknown: 'not there', changed: 'DIFFERENT', revoked: 'REVOKED' };
const pinnedWords = { none: 'not there', same: 'same', different: 'DIFFERENT' };

/** One line for each host, what wants a look in capitals. */
export function trustLines(keys: readonly ShownKey[], width: number): string[] {
  if (keys.length === 0) return ['no keys'];
  const rows = [
    ['HOST', 'TYPE', 'FINGERPRINT', 'KNOWN_HOSTS', 'INVENTORY'],
    ...keys.map(({ host, key, known, pinned }) => [
      host,
      key.type,
      key.fingerprint,
      knownWords[known],
      pinnedWords[pinned],
    ]),
  ];
  return columns(rows, width);
}
