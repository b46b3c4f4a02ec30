// docs/choosing.md names existing commands and kinds.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { pipelineKinds } from '../../../../src/cli/render/pipeline.ts';

const page = readFileSync(join(import.meta.dirname, '../../../../docs/choosing.md'), 'utf8');

test('every kind of pipeline is documented, and no other', () => {
  const documented = [...page.matchAll(/--kind (\w+)/g)].map(([, kind]) => kind);
  expect(new Set(['gpu', ...documented])).toEqual(new Set(Object.keys(pipelineKinds)));
});
