import { join } from 'node:path';
import { expect, it } from 'vitest';

import { aptPrelude, consequenceFilters } from '../../../../src/fleet/packages/apt/prelude.ts';
import { unforeseenNames } from '../../../../src/fleet/packages/shell.ts';
import { scriptsCases } from './debian-scripts-cases.ts';
import { exactScripts, fileOf } from './exact-scripts.ts';

const fixtures = join(import.meta.dirname, '../../../fixtures/apt/scripts');
/** Each script has them, and they have tests of their own. */
const parts = [
  [aptPrelude, '# … what all scripts for apt begin with'],
  [consequenceFilters, '# … how what apt says is read'],
  [unforeseenNames, '# … unforeseen PATTERN…'],
] as const;

// Facts in, scripts out, to the letter: `vitest -u` writes them anew, for somebody to read.
it.each(scriptsCases.map((each) => [each.what, each] as const))('%s', async (_, one) => {
  await expect(exactScripts(one, parts)).toMatchFileSnapshot(join(fixtures, fileOf(one)));
});
