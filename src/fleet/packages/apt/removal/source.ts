import { sh } from '../../../../shared/base/shell.ts';
import type { PackageManager } from '../../package-manager.ts';
import type { Vendor } from '../../vendors.ts';
import { componentFiles, keyFile, sourceFile } from '../files.ts';

/** A source, its key, and what of Debian's archive came with it. apt forgets it with its next update. */
export function withdrawal(vendor: Vendor): ReturnType<PackageManager['withdraw']> {
  const files = [
    sourceFile(vendor),
    keyFile(vendor),
    ...(vendor === 'nvidia' ? Object.values(componentFiles) : []),
  ];
  return { files, script: sh`rm -f ${files} /run/azp-fleet/package-lists` };
}
