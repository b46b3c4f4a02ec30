/** What `Match` and the tokens ask of the outside. */
export interface MatchWorld {
  readonly home: string;
  /** The invoking user. */
  readonly user: string;
  readonly uid: number;
  /** This machine's name, as `hostname` prints it. */
  readonly localHost: string;
  /** The exit code of a shell command (`Match exec`). */
  execute(command: string): number;
  isAddress(text: string): boolean;
}

/** What reading the configuration needs of the outside. */
export interface ConfigWorld extends MatchWorld {
  /** undefined: no such file. */
  readFile(path: string): string | undefined;
  /** Sorted matches of a shell glob. */
  glob(pattern: string): readonly string[];
}

export interface ConfigFiles {
  /** `~/.ssh/config`, or the file of `-F`. */
  readonly user: string;
  /** `/etc/ssh/ssh_config`; undefined when a file was named explicitly. */
  readonly system: string | undefined;
}

/** A value with its place, `/home/ann/.ssh/config:12`. */
export interface Sourced {
  readonly args: readonly string[];
  readonly from: string;
}

/** Options by name in lower case, unexpanded. */
export type RawOptions = Map<string, Sourced[]>;
