import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

import { withRulesTable } from '../../../scripts/health-rules-table.ts';
import { gpuRules } from '../../../src/health/rules/gpu-rules.ts';

const page = readFileSync('docs/health.md', 'utf8');

test('docs/health.md tells every rule for one GPU, as "npm run docs" writes it', () => {
  expect(page).toBe(withRulesTable(page, gpuRules));
});

test('docs/health.md tells every finding about GPUs', () => {
  const codes = globSync('src/{health,manager/gpus}/**/*.ts').flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\bcode: '([a-z-]+\.[a-z-]+)'/g)].map(([, code]) => code),
  );
  expect(codes).toContain('smi.hung');
  expect(codes.filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
});
