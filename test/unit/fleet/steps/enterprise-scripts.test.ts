import { join } from 'node:path';
import { expect, it } from 'vitest';

import { dnfParts } from './dnf-parts.ts';
import { scriptsCases } from './enterprise-scripts-cases.ts';
import { exactScripts, fileOf } from './exact-scripts.ts';

const fixtures = join(import.meta.dirname, '../../../fixtures/dnf/scripts');
// Each fixture holds the complete scripts; `vitest -u` writes them again.
it.each(scriptsCases.map((each) => [each.what, each] as const))('%s', async (_, one) => {
  await expect(exactScripts(one, dnfParts)).toMatchFileSnapshot(join(fixtures, fileOf(one)));
});
