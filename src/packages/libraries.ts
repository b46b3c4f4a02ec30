/** What a program needs of the system's libraries and does not find. */
export interface Libraries {
  /** In words: `ICU`. None: all are there. */
  readonly missing: readonly string[];
  /** Shell text for `before` of a transaction that brings them. It says what no source offers. */
  readonly script: string;
}
