import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

import { withRulesTable } from '../../../../scripts/health-rules-table.ts';
import { gpuRules } from '../../../../src/shared/health/rules/gpu-rules.ts';

const page = readFileSync('docs/health.md', 'utf8');

test('docs/health.md tells every rule for one GPU, as "npm run docs" writes it', () => {
  expect(page).toBe(withRulesTable(page, gpuRules));
});
