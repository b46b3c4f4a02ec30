import { glob } from '../../inventory/glob.ts';
import type { PartName } from '../../packages/package-record.ts';
import type { Platform } from '../../packages/distribution.ts';
import type { Vendor } from '../../packages/vendors.ts';
import { dockerPackages } from '../docker/packages.ts';
import { toolkitPackages } from '../toolkit/packages.ts';

/** Who offers a part where the system itself does not. */
export const vendorOf: Readonly<Record<PartName, Vendor>> = {
  toolkit: 'nvidia-container-toolkit',
  docker: 'docker',
  driver: 'nvidia',
};

/** Whether a package, by its name or a pattern of names, is of a part. The toolkit's are called like the driver's. */
export function isOfPart(part: PartName, { names }: Platform): (name: string) => boolean {
  if (part === 'toolkit') return (name) => toolkitPackages.includes(name);
  if (part === 'docker') return (name) => dockerPackages.includes(name);
  const family = names.driver.family.map(glob);
  return (name) =>
    family.some((covers) => covers(name)) &&
    !toolkitPackages.includes(name) &&
    !name.startsWith('nvidia-container-');
}
