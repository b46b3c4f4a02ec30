import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../../shared/base/digest.ts';
import { codeOf, FleetError } from '../../shared/base/errors.ts';

/** The archive of a team's folder, exactly as it was sent. */
export async function readFolder(directory: string, digest: string): Promise<Buffer> {
  const path = join(directory, `${digest}.tar`);
  const archive = await readFile(path).catch((error: unknown) => {
    throw unusable(path, codeOf(error));
  });
  const seen = sha256(archive);
  if (seen !== digest) throw unusable(path, `sha256 ${seen}`);
  return archive;
}

/** Removes the archives of folders that nothing is built from any more. */
export async function forgetFolders(directory: string, kept: string | undefined): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  const old = names.filter((name) => name.endsWith('.tar') && name !== `${kept}.tar`);
  await Promise.all(old.map((name) => rm(join(directory, name), { force: true })));
}

function unusable(path: string, seen: string): FleetError {
  return new FleetError({
    code: 'image.folder',
    what: `the folder that the image is built from cannot be used: ${path}`,
    expected: 'the archive that azp-fleet provision has sent',
    seen,
    next: 'remove the file on the host, then: azp-fleet provision',
  });
}
