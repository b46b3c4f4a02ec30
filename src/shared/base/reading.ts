/**
 * Something that was read from outside: its value, that it is not there, or that it could not be read.
 * Unknown is never the same as absent: what could not be read decides nothing, and is shown with its reason.
 */
export type Reading<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'absent' }
  | {
      readonly kind: 'unknown';
      /** Why it could not be read: `no answer in 10 s`. */
      readonly why: string;
      /** Since when it could not be read, where something remembers: ISO 8601. */
      readonly since?: string;
    };

/** The answer to a question: never absent. */
export type Answered<T> = Exclude<Reading<T>, { readonly kind: 'absent' }>;

/** Returns the value; undefined where it is absent or unknown, for what is the same in both cases. */
export function valueOf<T>(reading: Reading<T>): T | undefined {
  return reading.kind === 'value' ? reading.value : undefined;
}
