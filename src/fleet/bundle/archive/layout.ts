import { sha256 } from '../../../shared/base/digest.ts';
import type { Manifest, Member } from '../manifest.ts';
import { block, padded } from './header.ts';

export const manifestName = 'manifest.json';

/** The last file: the sha256 of the manifest, so that damage to that is seen, too. */
export const sumName = 'manifest.sha256';

/** Its content, for the manifest's text. */
export function sumOf(manifest: Buffer): Buffer {
  return Buffer.from(`${sha256(manifest)}\n`);
}

/** Name of a member in the archive. */
export function memberName({ sha256 }: Pick<Member, 'sha256'>): string {
  return `members/${sha256}`;
}

/** A member and where its content begins. */
export interface Place extends Member {
  readonly start: number;
}

const sumBytes = 65;

/** Where everything lies, and how long the whole is. */
export interface Layout {
  readonly places: readonly Place[];
  /** Where the header of the last file begins. */
  readonly sumAt: number;
  readonly size: number;
}

/** `manifestBytes`: of the manifest's text. */
export function layoutOf({ members }: Pick<Manifest, 'members'>, manifestBytes: number): Layout {
  let at = block + padded(manifestBytes);
  const places = members.map((member) => {
    const start = at + block;
    at = start + padded(member.size);
    return { ...member, start };
  });
  return { places, sumAt: at, size: at + block + padded(sumBytes) + 2 * block };
}
