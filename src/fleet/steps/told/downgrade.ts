import { compareVersions } from '../../../shared/image/choose.ts';

/** `4.275.0` after `4.276.0`. False where one of them is no version of numbers. */
export function isDowngrade(from: string | undefined, to: string): boolean {
  const numbers = /^\d+(\.\d+)*$/;
  return from !== undefined && numbers.test(from) && numbers.test(to) && compareVersions(to, from) < 0;
}
