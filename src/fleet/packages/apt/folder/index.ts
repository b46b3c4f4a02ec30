import { sh } from '../../../../shared/base/shell.ts';
import type { ListedPackage } from '../../offline/listed-package.ts';
import { packagesFolder } from '../../offline/paths.ts';
import { indexName } from '../flat.ts';

/** What an index of `gatherScript` names. Fields that it lacks are empty. */
export function listedPackages(index: string): ListedPackage[] {
  return index
    .trim()
    .split('\n\n')
    .map((stanza) => {
      const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(stanza)?.[1] ?? '';
      return {
        name: field('Package'),
        version: field('Version'),
        architecture: field('Architecture'),
        file: field('Filename').replace('./pool/', ''),
        sha256: field('SHA256'),
      };
    });
}

/** Takes out of the folder what its index does not name. */
export const tidyScript = sh`cd ${packagesFolder}/pool || exit
for file in *; do
  if ! grep -qxF "Filename: ./pool/$file" ../${indexName}; then rm -f "$file"; fi
done`;
