import { sourceName, type ImageConfig } from '../../shared/contract/config.ts';
import { defined } from '../../shared/base/objects.ts';
import type { Slot } from '../model.ts';
import type { State } from '../state.ts';

type Record = State['image'];
type Records = Pick<State, 'image' | 'slotImages'>;

/** An image on which no agent came to listen is given up after so many failures in a row on one slot. */
const patience = 3;

/** The image that new containers run: the newest, unless it was rejected and one that worked is known. */
export function desiredImage(newest: string | undefined, known: Record): string | undefined {
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

/** Somebody has asked for the image: it is tried once more, whatever was wrong with it. */
export function withoutRejections({ image, slotImages }: Records): Records {
  const tried = ({ proven }: Record): Record => defined({ proven });
  return {
    image: tried(image),
    slotImages: Object.fromEntries(Object.entries(slotImages).map(([slot, known]) => [slot, tried(known)])),
  };
}

/** What is known of the images that a slot has run: the host's share one memory, a slot with its own has its own. */
export function recordOf(records: Records, slot: Slot, hosts: ImageConfig): Record {
  return isHosts(slot, hosts) ? records.image : (records.slotImages[slot.name] ?? {});
}

/** All slots of the host, and where the images of those come from that name none. */
export interface AllSlots {
  readonly slots: readonly Slot[];
  readonly hosts: ImageConfig;
}

/** The same record for the slot and all others of its source. What slots without an image of their own had goes. */
export function withRecord(
  { slotImages }: Records,
  slot: Slot,
  { slots, hosts }: AllSlots,
  record: Record,
): Partial<Records> {
  if (isHosts(slot, hosts)) return { image: record };
  const own = slots.filter((each) => !isHosts(each, hosts));
  const known = own.map(({ name, image }) => [
    name,
    isSame(image, slot.image) ? record : (slotImages[name] ?? {}),
  ]);
  return { slotImages: Object.fromEntries(known) as State['slotImages'] };
}

/** Whether it is still to be noted that the slot's agent listens on this image, for the slot or another of its source. */
export function isUnproven(records: Records, slot: Slot, { slots, hosts }: AllSlots, image: string): boolean {
  return slots.some(
    (each) => isSame(each.image, slot.image) && recordOf(records, each, hosts).proven !== image,
  );
}

/** Every image on which the slots' agents are known to work. */
export function provenImages(records: Records, { slots, hosts }: AllSlots): readonly string[] {
  const known = [records.image, ...slots.map((slot) => recordOf(records, slot, hosts))];
  return known.flatMap(({ proven }) => proven ?? []);
}

function isHosts({ image }: Slot, hosts: ImageConfig): boolean {
  return isSame(image, hosts);
}

function isSame(one: ImageConfig, other: ImageConfig): boolean {
  return sourceName(one) === sourceName(other);
}
