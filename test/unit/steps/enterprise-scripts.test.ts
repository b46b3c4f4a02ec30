import { join } from 'node:path';
import { expect, it } from 'vitest';

import { consequenceFilters } from '../../../src/packages/dnf/consequences.ts';
import { bringFunctions, performFunction } from '../../../src/packages/dnf/downloads.ts';
import { dnfPrelude } from '../../../src/packages/dnf/prelude.ts';
import { unforeseenNames } from '../../../src/packages/shell.ts';
import { scriptsCases } from './enterprise-scripts-cases.ts';
import { exactScripts, fileOf } from './exact-scripts.ts';

const fixtures = join(import.meta.dirname, '../../fixtures/dnf/scripts');
/** Each script has them, and they have tests of their own. */
const parts = [
  [dnfPrelude, '# … what all scripts for dnf begin with'],
  [consequenceFilters, '# … how what dnf says is read'],
  [bringFunctions, '# … bring, more_packages'],
  [performFunction, '# … perform'],
  [unforeseenNames, '# … unforeseen PATTERN…'],
] as const;

// Facts in, scripts out, to the letter: `vitest -u` writes them anew, for somebody to read.
it.each(scriptsCases.map((each) => [each.what, each] as const))('%s', async (_, one) => {
  await expect(exactScripts(one, parts)).toMatchFileSnapshot(join(fixtures, fileOf(one)));
});
