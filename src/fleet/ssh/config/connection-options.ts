/** What a host hands on to the jump hosts before it. */
export interface HandedOn {
  /** A hop's own configuration of ssh stands before it. */
  readonly hostKeyPolicy: ConnectionOptions['hostKeyPolicy'];
  /** The inventory says so: no configuration of a hop makes it less. */
  readonly strict: boolean;
  /** The inventory's keys, offered to a hop for which nobody names one. */
  readonly identityFiles: readonly string[];
}

/** Everything that decides how a host is reached, expanded. */
export interface ConnectionOptions {
  /** The inventory's name; what messages call the host. */
  readonly name: string;
  /** False for a jump host that only ssh knows. */
  readonly inInventory: boolean;
  /** What a person would type after `ssh`. */
  readonly typed: string;
  /** The ssh_config to read instead of the usual ones; `none`: none. */
  readonly sshConfig: string | undefined;
  readonly hostname: string;
  readonly port: number;
  readonly user: string;
  readonly identityFiles: readonly string[];
  /** What the inventory names; ssh leaves it out of its list where there is no such file. */
  readonly identityOfInventory: string | undefined;
  /** The identity files were named by somebody, not guessed. */
  readonly identitiesNamed: boolean;
  readonly identitiesOnly: boolean;
  /** Socket path; undefined: no agent. */
  readonly agent: string | undefined;
  /** Hops in the order they are passed, as written: `user@host:port`. */
  readonly jump: readonly string[];
  readonly handsOn: HandedOn;
  readonly proxyCommand: string | undefined;
  /** Undefined: whichever address works. */
  readonly family: 4 | 6 | undefined;
  readonly bindAddress: string | undefined;
  readonly userKnownHosts: readonly string[];
  readonly globalKnownHosts: readonly string[];
  readonly hostKeyAlias: string | undefined;
  /** `ask`: a configuration file says so. */
  readonly hostKeyPolicy: 'accept-new' | 'strict' | 'ask';
  readonly pinned: readonly string[];
  readonly hashKnownHosts: boolean;
  /** 0: no limit of ours. */
  readonly connectTimeoutMs: number;
  /** 0: no keep-alive. */
  readonly aliveIntervalMs: number;
  readonly aliveCountMax: number;
  /** Undefined: the configuration leaves the list as ssh has it. */
  readonly algorithms: {
    readonly ciphers: readonly string[] | undefined;
    readonly kex: readonly string[] | undefined;
    readonly macs: readonly string[] | undefined;
    readonly hostKey: readonly string[] | undefined;
  };
  /** Options in effect that only the system's ssh can honour, in lower case. */
  readonly unsupported: readonly string[];
  /** The inventory's values as arguments of ssh, which win over what its files say. */
  readonly arguments: readonly string[];
  /** Options by their names in `ssh -G` that the inventory sets. */
  readonly ofInventory: ReadonlySet<string>;
  /** Those that a file of ssh sets to something else than ssh's default. */
  readonly ofSsh: ReadonlySet<string>;
}
