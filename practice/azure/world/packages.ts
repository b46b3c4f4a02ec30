/** A release of the agent's program for one platform. */
export interface AgentPackage {
  readonly platform: string;
  readonly version: string;
  readonly createdOn: string;
  /** sha256 of the archive; undefined: unknown. */
  readonly sha256?: string;
}

const platforms = [
  'linux-x64',
  'linux-arm64',
  'linux-arm',
  'linux-musl-x64',
  'linux-musl-arm64',
  'osx-x64',
  'osx-arm64',
  'win-x64',
  'win-x86',
];

/** Newest first. Unrelated public repositories agree in the digests. */
const releases: readonly { version: string; createdOn: string; sums: Readonly<Record<string, string>> }[] = [
  {
    version: '5.279.0',
    createdOn: '2026-09-01T12:00:00Z',
    sums: {
      'linux-x64': '6e3352e1dc44c924cd85840df279f21c200e6365596a7c38f3087015262555dc',
      'linux-arm64': 'd97cb1286de41c97347a5da4f663daed70f65f9cdd4322f50f8cc7b4e2df9dd4',
    },
  },
  {
    version: '5.278.0',
    createdOn: '2026-08-21T12:00:00Z',
    sums: { 'linux-x64': 'daaee663e6557a98bb18e0d8e1d148110cca61230a68c61887748432c21a63e1' },
  },
  { version: '4.275.0', createdOn: '2026-06-15T12:00:00Z', sums: {} },
];

/** Returns packages, newest first; of one platform, or of all. */
export function agentPackages(platform?: string): readonly AgentPackage[] {
  return releases.flatMap(({ version, createdOn, sums }) =>
    platforms
      .filter((each) => platform === undefined || each === platform.toLowerCase())
      .map((each) => {
        const sha256 = sums[each];
        return { platform: each, version, createdOn, ...(sha256 === undefined ? {} : { sha256 }) };
      }),
  );
}

/** The server's version for all agents. */
export const newestVersion = releases[0]?.version ?? '';

/** Returns `4.275.0` in the service's form. */
export function packageVersion(text: string): { major: number; minor: number; patch: number } {
  const [major = 0, minor = 0, patch = 0] = text.split('.').map((part) => Number.parseInt(part, 10) || 0);
  return { major, minor, patch };
}
