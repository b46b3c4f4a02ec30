import { readdir, readFile, stat, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { ManagerConfig } from '../../shared/contract/config.ts';
import type { SmiReport } from '../../shared/health/smi-report.ts';
import { contextTar, type ImagePlan, planImageFor } from '../../shared/image/plan.ts';
import { cudaOfDriver } from '../../shared/image/choose.ts';
import { sha256 } from '../../shared/base/digest.ts';
import { codeOf, FleetError } from '../../shared/base/errors.ts';

export interface HostForImage {
  /** `uname -m` */
  readonly arch: string;
  /** The host has NVIDIA GPUs. */
  readonly hasGpus: boolean;
  readonly report: SmiReport | undefined;
}

/** Plans the image of this host. Throws a FleetError when no base fits. `readFolder`: reads the archive with this sha256. */
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

/** Returns the build context as one reproducible archive. */
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

/** Reads the archive of a team's folder, and verifies its sha256. */
export async function readFolder(directory: string, digest: string): Promise<Buffer> {
  const path = join(directory, `${digest}.tar`);
  const archive = await readFile(path).catch((error: unknown) => {
    throw unusable(path, codeOf(error));
  });
  const seen = sha256(archive);
  if (seen !== digest) throw unusable(path, `sha256 ${seen}`);
  return archive;
}

/** Removes the archives of folders that no image is built from. */
export async function forgetFolders(directory: string, kept: string | undefined): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  const old = names.filter((name) => name.endsWith('.tar') && name !== `${kept}.tar`);
  await Promise.all(old.map((name) => rm(join(directory, name), { force: true })));
}

function unusable(path: string, seen: string): FleetError {
  return new FleetError({
    code: 'image.folder',
    what: `the archive of the image's folder cannot be used: ${path}`,
    expected: 'the archive that `azp-fleet provision` has uploaded',
    seen,
    next: 'remove the file on the host, then run `azp-fleet provision`',
  });
}
