/** What a host shows of the kernels that it may run, and of what it builds modules with. */
export interface BuildHost {
  /** The running kernel, then the newest newer one that is installed, if any. */
  readonly kernels: readonly {
    readonly release: string;
    readonly headers: boolean;
    readonly driver: boolean;
  }[];
  /** Programs that are not there. */
  readonly lacksToBuild: readonly string[];
  /** Installed ones by name. */
  readonly packages: Readonly<Record<string, string>>;
  readonly held: readonly string[];
}

/** What has to come, so that modules can be built for a host's kernels: also for those that upgrades bring. */
export interface Build {
  /** Names, for people. None: all is there. */
  readonly packages: readonly string[];
  /** Shell text for `before` of a transaction that brings them. It says what no source offers. */
  readonly script: string;
  /** The newer kernel, where a package brought it: it will be booted. */
  readonly next: BuildHost['kernels'][number] | undefined;
}
