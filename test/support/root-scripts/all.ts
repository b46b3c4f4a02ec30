import { sha256 } from '../../../src/shared/base/digest.ts';
import { fixedScripts } from './fixed.ts';
import { bundleScripts, packageScripts, plannedScripts, removalScripts } from './planned.ts';

/** Returns every shell text that azp-fleet generates for hosts and images, each once: file name → text. */
export function rootScripts(): ReadonlyMap<string, string> {
  return new Map(
    [
      ...fixedScripts(),
      ...plannedScripts(),
      ...packageScripts(),
      ...bundleScripts(),
      ...removalScripts(),
    ].map(([name, text]) => [`${sha256(text).slice(0, 12)} ${name.replaceAll('/', ' ')}`, text]),
  );
}
