import { join } from 'node:path';
import { expect, it } from 'vitest';

import { aptPrelude, consequenceFilters } from '../../../../src/fleet/packages/apt/prelude.ts';
import { unforeseenNames } from '../../../../src/fleet/packages/shell.ts';
import { scriptsCases } from './debian-scripts-cases.ts';
import { exactScripts, fileOf } from './exact-scripts.ts';

const fixtures = join(import.meta.dirname, '../../../fixtures/apt/scripts');
/** Parts of every script, with their own tests. */
const parts = [
  [aptPrelude, '# … what all scripts for apt begin with'],
  [consequenceFilters, '# … how what apt says is read'],
  [unforeseenNames, '# … unforeseen PATTERN…'],
] as const;

// Each fixture holds the complete scripts; `vitest -u` writes them again.
it.each(scriptsCases.map((each) => [each.what, each] as const))('%s', async (_, one) => {
  await expect(exactScripts(one, parts)).toMatchFileSnapshot(join(fixtures, fileOf(one)));
});
