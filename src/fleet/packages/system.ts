/** `uname -m` of the machines that are supported. */
export type Machine = 'x86_64' | 'aarch64';

/** What the vendors' repositories call a system, below their bases. */
export interface System {
  readonly machine: Machine;
  readonly nvidia: {
    /** Folder in the CUDA repositories: `debian12`. */
    readonly folder: string;
    /** sha256 of the file in its x86_64 folder that carries the key; undefined: TLS alone vouches for it. */
    readonly keySha256?: string;
  };
  readonly docker: {
    /** Folder below `linux/`: `debian`. */
    readonly folder: string;
    /** The release in it: `bookworm`. */
    readonly release: string;
  };
}
