import { sh } from '../../../../shared/base/shell.ts';
import type { Vendor } from '../../vendors.ts';
import { epelFiles } from '../needs/epel.ts';
import { toolsetFiles } from '../needs/toolset.ts';
import { keyFile, sourceFile } from '../files.ts';

/** A repository and its key, and what came with the driver's: a mirror of EPEL, the compiler of Oracle's kernels. What rpm has imported of it stays: other repositories may be signed with the same one. */
export function withdrawal(vendor: Vendor): { readonly files: readonly string[]; readonly script: string } {
  const files = [
    sourceFile(vendor),
    keyFile(vendor),
    ...(vendor === 'nvidia' ? [...epelFiles, ...toolsetFiles] : []),
  ];
  return { files, script: sh`rm -f ${files} /run/azp-fleet/package-lists` };
}
