import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { ManagerConfig } from '../../shared/contract/config.ts';
import type { SmiReport } from '../../shared/health/smi-report.ts';
import { contextTar, type ImagePlan, planImageFor } from '../../shared/image/plan.ts';
import { cudaOfDriver } from '../../shared/image/choose.ts';

export interface HostForImage {
  /** `uname -m` */
  readonly arch: string;
  /** The host has NVIDIA GPUs. */
  readonly hasGpus: boolean;
  readonly report: SmiReport | undefined;
}

/** Throws a FleetError when no base fits. `readFolder`: the archive with this sha256. */
export function planImage(
  config: ManagerConfig,
  { arch, hasGpus, report }: HostForImage,
  context: Buffer,
  readFolder: (sha256: string) => Promise<Buffer>,
): ImagePlan {
  const gpus = {
    arch,
    cudaMax: report?.cudaVersion ?? (report === undefined ? undefined : cudaOfDriver(report.driverVersion)),
    capabilities: (report?.gpus ?? []).flatMap((gpu) => gpu.computeCapability ?? []),
    cpuOnly: !hasGpus,
  };
  return planImageFor(config, gpus, context, readFolder);
}

/** The build context as one reproducible archive. */
export async function readContext(directory: string): Promise<Buffer> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = await Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(async (entry) => {
        const path = join(entry.parentPath, entry.name);
        const { mode } = await stat(path);
        return {
          path: relative(directory, path),
          content: await readFile(path),
          mode: mode & 0o111 ? 0o755 : 0o644,
        };
      }),
  );
  return contextTar(files);
}
