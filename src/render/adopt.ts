import type { SlotStatus } from '../contract/status.ts';

/** What is about to be taken over, and what that does to others. */
export function heldLines(
  hosts: readonly { readonly host: string; readonly value: readonly SlotStatus[] }[],
): readonly string[] {
  const lines = hosts.flatMap(({ host, value }) =>
    value.map(({ slot, cause = '' }) => `${host} slot ${slot}: ${cause}`),
  );
  if (lines.length === 0) return [];
  return [
    ...lines,
    'Taking a name over gives it a new key: whoever runs under it elsewhere is cut off from the pool.',
    'An agent that has a job keeps its name until the job has ended.',
  ];
}

/** One line a host: what its manager was told. */
export function adoptText(host: string, slots: readonly SlotStatus[]): string {
  if (slots.length === 0) return `${host}: nobody else holds a name of its agents\n`;
  return `${host}: takes over ${slots.map(({ agent }) => agent).join(', ')}; "azp-fleet status" shows when they are online\n`;
}
