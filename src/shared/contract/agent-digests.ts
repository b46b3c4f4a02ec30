/** As the agent calls architectures. */
export type AgentArch = 'x64' | 'arm64';

/** An archive `vsts-agent-linux-ARCH-VERSION.tar.gz` whose content is known beforehand. */
interface KnownArchive {
  readonly version: string;
  readonly arch: AgentArch;
  /** Hex. */
  readonly sha256: string;
  /** Who says so. */
  readonly source: string;
}

/** The newest of each line of the agent. A new release is a row an architecture here. */
export const knownArchives: readonly KnownArchive[] = [
  {
    version: '5.279.0',
    arch: 'x64',
    sha256: '6e3352e1dc44c924cd85840df279f21c200e6365596a7c38f3087015262555dc',
    source: 'three public repositories in agreement, one of which calls it the published one',
  },
  {
    version: '5.279.0',
    arch: 'arm64',
    sha256: 'd97cb1286de41c97347a5da4f663daed70f65f9cdd4322f50f8cc7b4e2df9dd4',
    source: 'two public repositories in agreement',
  },
  {
    version: '4.275.0',
    arch: 'x64',
    sha256: '416eb9340385d599e3159b86d08c03754af24d1cb2b6624425142a47ca65f346',
    source: 'its release notes',
  },
  {
    version: '4.275.0',
    arch: 'arm64',
    sha256: '9373598bda894496f974eaad785a5c42bc55699af95d8678ffcfc42bcb1b0c0a',
    source: 'its release notes',
  },
];
