import type { Platform } from '../../packages/distribution.ts';
import type { Supplies } from './supplies.ts';

/** The platform whose packages lie in a folder of the host, where the supplies have some for it; otherwise as it is. */
export function suppliedPlatform(
  platform: Platform,
  { supplies }: { readonly supplies?: Supplies },
): Platform {
  const set = supplies?.packages(platform);
  if (supplies === undefined || set === undefined) return platform;
  const { offline } = platform.packages;
  return { ...platform, packages: offline.manager(set.index, supplies.again) };
}
