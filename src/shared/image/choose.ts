import { releaseLines } from '../base/support-dates.ts';

/** One CUDA release with base images. */
interface CudaRelease {
  /** `13.2.1` */
  readonly version: string;
  /** Operating systems of its images, the preferred one first. */
  readonly os: readonly string[];
  /** Lowest compute capability that it still supports. */
  readonly minCc: string;
  /** Compute capabilities from here on need a newer CUDA. */
  readonly belowCc?: string;
}

/** The base images; their versions are those of `support-dates.ts`. */
export interface Bases {
  /** Names of `uname -m`; every image exists for each. */
  readonly arch: readonly string[];
  /** Below docker.io. */
  readonly repository: string;
  readonly flavour: string;
  readonly cuda: readonly CudaRelease[];
  readonly cpu: { readonly tag: string; readonly os: string };
  /** Driver branch → the highest CUDA that it runs without compatibility packages. */
  readonly cudaOfDriver: Readonly<Record<string, string>>;
}

export const bases: Bases = {
  arch: ['x86_64', 'aarch64'],
  repository: 'nvidia/cuda',
  flavour: 'base',
  cuda: releaseLines.flatMap(({ version, base }) =>
    version === undefined || base === undefined ? [] : [{ version, ...base }],
  ),
  cpu: { tag: 'ubuntu:24.04', os: 'ubuntu24.04' },
  cudaOfDriver: Object.fromEntries(
    releaseLines.flatMap(({ line, cuda }) => (cuda === undefined ? [] : [[line, cuda]])),
  ),
};

export interface HostGpus {
  /** `uname -m`. */
  readonly arch: string;
  /** The driver's highest CUDA, `13.2`; undefined on a host without GPUs. */
  readonly cudaMax: string | undefined;
  /** Compute capabilities of all GPUs; empty on a host without GPUs. */
  readonly capabilities: readonly string[];
  readonly cpuOnly: boolean;
}

export type Choice =
  | {
      readonly ok: true;
      readonly tag: string;
      readonly os: string;
      readonly cuda?: string;
      readonly why: string;
    }
  | { readonly ok: false; readonly what: string; readonly next: string };

/**
 * Returns the newest CUDA base that driver, architecture and every GPU support. Never newer than the driver's CUDA: such
 * images refuse to start, although minor versions are compatible.
 */
export function chooseBase(host: HostGpus, from: Bases = bases): Choice {
  const { arch, cudaMax, capabilities } = host;
  if (!from.arch.includes(arch)) {
    return {
      ok: false,
      what: `no agent exists for the architecture ${arch}`,
      next: 'use x86_64 or aarch64 hosts',
    };
  }
  if (host.cpuOnly) return { ok: true, tag: from.cpu.tag, os: from.cpu.os, why: 'no GPU' };
  if (cudaMax === undefined) {
    return {
      ok: false,
      what: 'the driver does not report its CUDA version',
      next: 'install the driver (`azp-fleet provision`), or name the base: `baseImage:` in the inventory',
    };
  }
  const [best] = from.cuda
    .filter(
      (release) => allows(release, capabilities) && compareVersions(minor(release.version), cudaMax) <= 0,
    )
    .sort((a, b) => compareVersions(b.version, a.version));
  const os = best?.os[0];
  if (best === undefined || os === undefined) {
    return {
      ok: false,
      what: `no CUDA base fits: ${reason(host, cudaMax)}`,
      next: 'install a newer driver branch, or name the base: `baseImage:` in the inventory',
    };
  }
  const tag = `${from.repository}:${best.version}-${from.flavour}-${os}`;
  return { ok: true, tag, os, cuda: minor(best.version), why: reason(host, cudaMax) };
}

/** Returns the highest CUDA of a driver version or branch (`580`, `580.95.05`), by the newest known branch that is not newer. */
export function cudaOfDriver(version: string, from: Bases = bases): string | undefined {
  const branch = Number.parseInt(version, 10);
  const known = Object.keys(from.cudaOfDriver)
    .map(Number)
    .filter((candidate) => candidate <= branch)
    .sort((a, b) => b - a);
  return known[0] === undefined ? undefined : from.cudaOfDriver[String(known[0])];
}

/** Compares dotted numbers; negative when `a` is the older one. */
export function compareVersions(a: string, b: string): number {
  const left = a.split('.').map(Number);
  const right = b.split('.').map(Number);
  for (let part = 0; part < Math.max(left.length, right.length); part += 1) {
    const difference = (left[part] ?? 0) - (right[part] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function minor(version: string): string {
  return version.split('.').slice(0, 2).join('.');
}

function allows({ minCc, belowCc }: CudaRelease, capabilities: readonly string[]): boolean {
  return capabilities.every(
    (cc) => compareVersions(cc, minCc) >= 0 && (belowCc === undefined || compareVersions(cc, belowCc) < 0),
  );
}

function reason({ capabilities }: HostGpus, cudaMax: string): string {
  const gpus = [...new Set(capabilities)].sort(compareVersions).join(', ');
  return `the driver supports CUDA up to ${cudaMax}${gpus === '' ? '' : `, the GPUs have compute capability ${gpus}`}`;
}
