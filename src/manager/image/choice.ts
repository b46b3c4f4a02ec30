import type { State } from '../state.ts';

type Record = State['image'];

/** An image on which no agent came to listen is given up after so many failures in a row on one slot. */
const patience = 3;

/** The image that new containers run: the newest, unless it was rejected and one that worked is known. */
export function wantedImage(newest: string | undefined, known: Record): string | undefined {
  return newest !== undefined && newest === known.rejected && known.proven !== undefined
    ? known.proven
    : newest;
}

/** An agent listens on this image: it works. A rejected one that works after all is taken back. */
export function proved(known: Record, image: string): Record {
  const { rejected, ...rest } = known;
  return rejected === undefined || rejected === image
    ? { ...rest, proven: image }
    : { ...known, proven: image };
}

/** A run on the image has failed before its agent listened. Undefined: nothing changes. */
export function failedOn(known: Record, image: string, failuresInARow: number): Record | undefined {
  const hopeless = failuresInARow >= patience && image !== known.proven && known.proven !== undefined;
  return hopeless && known.rejected !== image ? { ...known, rejected: image } : undefined;
}
