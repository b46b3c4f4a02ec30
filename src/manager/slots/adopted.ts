/** In place of a slot's name: all of them, which are known only after the GPUs have been looked at. */
export const everySlot = '*';

/** The slots whose agent names may be taken over, with these added. Pure. */
export function withAdopted(before: readonly string[], added: readonly string[]): readonly string[] {
  return [...new Set([...before, ...added])];
}

/** "All of them" by their names, so that each mark ends when its name is taken over. Pure. */
export function namedAdopted(before: readonly string[], known: readonly string[]): readonly string[] {
  return before.includes(everySlot)
    ? withAdopted(
        before.filter((name) => name !== everySlot),
        known,
      )
    : before;
}
