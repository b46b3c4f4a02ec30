/** What a run did on a host when it was interrupted. Absent: nothing yet, or it was between two changes. */
export type Interruption =
  | { readonly during: 'drain' }
  /** `goesOn`: on the host, by itself; `unit`: as this unit of systemd. A unit that does not go on has ended. */
  | { readonly during: 'change'; readonly title: string; readonly goesOn: boolean; readonly unit?: string }
  | { readonly during: 'proof' };

/** Thrown in place of what an aborted signal makes of a change. */
export class Interrupted extends Error {
  readonly at: Interruption;
  constructor(at: Interruption, cause: unknown) {
    super('interrupted', { cause });
    this.at = at;
  }
}

/** What was done, what was interrupted, and what to do: one line. Pure. */
export function interruptionLine(changes: number, at: Interruption | undefined): string {
  const made = changes === 0 ? 'nothing changed' : `${changes} ${changes === 1 ? 'change' : 'changes'} made`;
  return `${made}; ${rest(changes, at)}`;
}

function rest(changes: number, at: Interruption | undefined): string {
  switch (at?.during) {
    case 'proof':
      return 'interrupted while proving; run again to prove it';
    case 'drain':
      return 'interrupted while waiting for jobs to end, which go on; run again to go on';
    case 'change':
      return `interrupted during "${at.title}", ${restOf(at)}`;
    default:
      return `interrupted before the ${changes === 0 ? 'first' : 'next'} one; run again to go on`;
  }
}

function restOf({ goesOn, unit }: Extract<Interruption, { during: 'change' }>): string {
  if (goesOn)
    return `which goes on on the host${unit === undefined ? '' : ` as ${unit}`}; run again to follow it`;
  return unit === undefined
    ? 'which may be half done; run again to finish it'
    : 'which has come to its end on the host since; run again to go on';
}
