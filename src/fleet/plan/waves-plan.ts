/** Hosts that are changed at the same time. */
export interface Wave {
  /** One host of each kind, before the others of its kind. */
  readonly canary: boolean;
  readonly hosts: readonly string[];
}

/** A host that cannot be begun, and why. */
export interface Held {
  readonly host: string;
  readonly what: string;
  readonly next: string;
}

/** In which order a run takes hosts' agents away, as it is shown and saved. */
export interface WavesPlan {
  /** `25%`, `3`: of the hosts of each pool. */
  readonly maxUnavailable: string;
  readonly maxFailures: string;
  /** Proven before the first wave begins. */
  readonly proveFirst: readonly string[];
  readonly waves: readonly Wave[];
  /** Pools that have no agents for a time: those of one host, unless all was allowed; for good where `removes`. */
  readonly emptied: readonly string[];
  /** Not begun even if all goes well. */
  readonly held: readonly Held[];
  /** The hosts leave the fleet: none is proven, and no agents come back. */
  readonly removes?: true;
}
