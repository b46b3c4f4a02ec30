/** For docs/errors.md: what has happened in general, and what ends it. Each problem says it for its own case. */
export type Entries = Readonly<Record<string, readonly [cause: string, next: string]>>;
