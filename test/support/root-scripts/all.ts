import { sha256 } from '../../../src/shared/base/digest.ts';
import { suites } from '../../mutants/suites.ts';
import { fixedScripts } from './fixed.ts';
import { bundleScripts, packageScripts, plannedScripts, removalScripts } from './planned.ts';

/**
 * Returns every shell text that azp-fleet generates for hosts and images, each once: file name → text. Those of the suites
 * add what hosts in rare states get.
 */
export function rootScripts(): ReadonlyMap<string, string> {
  return new Map(
    [
      ...fixedScripts(),
      ...plannedScripts(),
      ...packageScripts(),
      ...bundleScripts(),
      ...removalScripts(),
      ...suites.flatMap(({ name, cases }) => cases.map(({ script }) => [name, script] as const)),
    ].map(([name, text]) => [`${sha256(text).slice(0, 12)} ${name.replaceAll('/', ' ')}`, text]),
  );
}
