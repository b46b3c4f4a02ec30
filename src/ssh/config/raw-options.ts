/** A value with its place, `/home/ann/.ssh/config:12`. */
export interface Sourced {
  readonly args: readonly string[];
  readonly from: string;
}

/** Options by name in lower case, unexpanded. */
export type RawOptions = Map<string, Sourced[]>;
