import type { State, StateStore } from '../state.ts';

type Names = State['names'];

/** Before an agent of ours comes to be under a name: a server that does not read marks is asked for it later. Never rejects. */
export async function rememberNames(
  state: Pick<StateStore, 'value' | 'note'>,
  poolId: number,
  agents: readonly string[],
): Promise<void> {
  const known = state.value.names[poolId] ?? [];
  const fresh = agents.map((name) => name.toLowerCase()).filter((name) => !known.includes(name));
  if (fresh.length > 0)
    await state.note(({ names }) => ({ names: withNames(names, poolId, [...known, ...fresh]) }));
}

/** With these names for a pool, and without the pool where there are none. Pure. */
export function withNames(names: Names, poolId: number, kept: readonly string[]): Names {
  const { [poolId]: _, ...others } = names;
  return kept.length === 0 ? others : { ...others, [poolId]: kept };
}
