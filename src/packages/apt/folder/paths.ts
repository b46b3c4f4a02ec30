import { sh } from '../../../base/shell.ts';
import { indexName } from '../flat.ts';

export const packagesFolder = '/var/lib/azp-fleet/packages';
export const folderMark = `${packagesFolder}/mark`;

export const tidyScript = sh`cd ${packagesFolder}/pool || exit
for file in *; do
  if ! grep -qxF "Filename: ./pool/$file" ../${indexName}; then rm -f "$file"; fi
done`;
