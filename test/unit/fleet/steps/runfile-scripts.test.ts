import { join } from 'node:path';
import { expect, it } from 'vitest';

import { aptPrelude, consequenceFilters } from '../../../../src/fleet/packages/apt/prelude.ts';
import { driverStep } from '../../../../src/fleet/steps/driver/step.ts';
import { dnfParts } from './dnf-parts.ts';
import { exactScripts, fileOf, type Parts, type ScriptsCase } from './exact-scripts.ts';
import { runfileCases } from './runfile-cases.ts';

const fixtures = join(import.meta.dirname, '../../../fixtures/runfile/scripts');
const parts: Parts = [
  [aptPrelude, '# … what all scripts for apt begin with'],
  [consequenceFilters, '# … how what apt says is read'],
  ...dnfParts,
];
const [first, ...others] = runfileCases.map(([what, facts, desired]): ScriptsCase => ({
  what,
  facts,
  desired,
  steps: [driverStep],
}));
const all = first === undefined ? [] : [first, ...others.map((each) => ({ ...each, like: first }))];

// Each fixture holds the complete scripts of two runs; `vitest -u` writes them again.
it.each(all.map((each) => [each.what, each] as const))('%s', async (_, one) => {
  await expect(exactScripts(one, parts)).toMatchFileSnapshot(join(fixtures, fileOf(one)));
});
