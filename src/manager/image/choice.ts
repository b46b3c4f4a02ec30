import { imageOf, type ManagerConfig, sourceName, type ImageConfig } from '../../shared/contract/config.ts';
import { defined } from '../../shared/base/objects.ts';
import type { Slot } from '../model.ts';
import type { State } from '../state.ts';

type ImageRecord = State['image'];
/** What agents ran on, as saved. */
export type ImageRecords = Pick<State, 'image' | 'slotImages'>;

/** A new image on which no agent has listened is rejected after this many failures in a row on one slot. */
const failuresBeforeRejection = 3;

/** Returns the image for new containers: the newest, unless it was rejected and a proven one is known. */
export function desiredImage(newest: string | undefined, known: ImageRecord): string | undefined {
  return newest !== undefined && newest === known.rejected && known.proven !== undefined
    ? known.proven
    : newest;
}

/** Returns the record after an agent has listened on the image, which is then proven and no longer rejected. */
export function afterSuccess(known: ImageRecord, image: string): ImageRecord {
  const { rejected, ...rest } = known;
  return rejected === undefined || rejected === image
    ? { ...rest, proven: image }
    : { ...known, proven: image };
}

/** Returns the record after a run failed before its agent listened; undefined: it does not change. */
export function afterFailures(
  known: ImageRecord,
  image: string,
  failuresInARow: number,
): ImageRecord | undefined {
  const isBad =
    failuresInARow >= failuresBeforeRejection && image !== known.proven && known.proven !== undefined;
  return isBad && known.rejected !== image ? { ...known, rejected: image } : undefined;
}

/** Returns the records without rejections: after a user's request every image is tried again. */
export function withoutRejections({ image, slotImages }: ImageRecords): ImageRecords {
  const without = ({ proven }: ImageRecord): ImageRecord => defined({ proven });
  return {
    image: without(image),
    slotImages: Object.fromEntries(Object.entries(slotImages).map(([slot, known]) => [slot, without(known)])),
  };
}

/** Returns the image record of a slot. Slots without an own image share the host's. */
export function recordOf(records: ImageRecords, slot: Slot, hostImage: ImageConfig): ImageRecord {
  return usesHostImage(slot, hostImage) ? records.image : (records.slotImages[slot.name] ?? {});
}

export interface AllSlots {
  readonly slots: readonly Slot[];
  /** The image of slots without an own one. */
  readonly hostImage: ImageConfig;
}

/** Sets the record of the slot and of all slots with the same source. Drops records of slots that now use the host's image. */
export function withRecord(
  { slotImages }: ImageRecords,
  slot: Slot,
  { slots, hostImage }: AllSlots,
  record: ImageRecord,
): Partial<ImageRecords> {
  if (usesHostImage(slot, hostImage)) return { image: record };
  const own = slots.filter((each) => !usesHostImage(each, hostImage));
  const known = own.map(({ name, image }) => [
    name,
    isSame(image, slot.image) ? record : (slotImages[name] ?? {}),
  ]);
  return { slotImages: Object.fromEntries(known) as State['slotImages'] };
}

/** Returns whether a slot of this slot's source has no record yet that the image is proven. */
export function isUnproven(
  records: ImageRecords,
  slot: Slot,
  { slots, hostImage }: AllSlots,
  image: string,
): boolean {
  return slots.some(
    (each) => isSame(each.image, slot.image) && recordOf(records, each, hostImage).proven !== image,
  );
}

/** Returns the image that agents of this source ran on, whatever the source was then. Pure. */
export function provenOf(
  { image, slotImages }: ImageRecords,
  source: ImageConfig,
  config: Pick<ManagerConfig, 'image' | 'agents'>,
): string | undefined {
  if (isSame(source, config.image)) return image.proven;
  const slots = config.agents.kind === 'slots' ? config.agents.slots : [];
  return slots
    .flatMap((slot, index) => (isSame(imageOf(config, slot), source) ? (slot.name ?? String(index)) : []))
    .map((name) => slotImages[name]?.proven)
    .find((id) => id !== undefined);
}

/** Returns all proven images of the slots. */
export function provenImages(records: ImageRecords, { slots, hostImage }: AllSlots): readonly string[] {
  const known = [records.image, ...slots.map((slot) => recordOf(records, slot, hostImage))];
  return known.flatMap(({ proven }) => proven ?? []);
}

function usesHostImage({ image }: Slot, hostImage: ImageConfig): boolean {
  return isSame(image, hostImage);
}

function isSame(one: ImageConfig, other: ImageConfig): boolean {
  return sourceName(one) === sourceName(other);
}
