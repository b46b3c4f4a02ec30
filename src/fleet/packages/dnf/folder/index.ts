import { sh } from '../../../../shared/base/shell.ts';
import type { ListedPackage } from '../../offline/listed-package.ts';
import { packagesFolder } from '../../offline/paths.ts';
import { indexPath } from './flat.ts';

/** What an index of `writeIndex` names. Fields that it lacks are empty. */
export function listedPackages(index: string): ListedPackage[] {
  return index
    .split('<package ')
    .slice(1)
    .map((text) => {
      const first = (pattern: RegExp): string => pattern.exec(text)?.[1] ?? '';
      const epoch = first(/<version epoch="(\d*)"/);
      const version = `${first(/<version [^>]*ver="([^"]*)"/)}-${first(/<version [^>]*rel="([^"]*)"/)}`;
      return {
        name: first(/<name>([^<]*)</),
        version: epoch === '0' ? version : `${epoch}:${version}`,
        architecture: first(/<arch>([^<]*)</),
        file: first(/<location href="pool\/([^"]*)"/),
        sha256: first(/<checksum [^>]*>([^<]*)</),
      };
    });
}

/** Takes out of the folder what its index does not name. */
export const tidyScript = sh`cd ${packagesFolder}/pool || exit
for file in *; do
  if ! grep -qF "<location href=\"pool/$file\"/>" ../${indexPath}; then rm -f "$file"; fi
done`;
