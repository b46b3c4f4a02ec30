import { expect, test } from 'vitest';
import { satisfies } from '../../../../practice/azure/world/queue.ts';

const capabilities = { git: '/usr/bin/git', 'gpu.model': 'A100', 'Agent.Version': '4.275.0' };

test.each<[readonly string[], boolean]>([
  [[], true],
  [['git'], true],
  [['GIT'], true],
  [['docker'], false],
  [['gpu.model -equals A100'], true],
  [['gpu.model -equals a100'], true],
  [['gpu.model -equals H200'], false],
  [['git', 'docker'], false],
  [['Agent.Version -gtVersion 4.275.0'], true],
  [['Agent.Version -gtVersion 4.99.9'], true],
  [['Agent.Version -gtVersion 5.1'], false],
  [['git -sounds like'], false],
])('%j: %s', (demands, met) => {
  expect(satisfies([capabilities], demands)).toBe(met);
  expect(satisfies([{}, capabilities], demands)).toBe(met);
  expect(
    satisfies([capabilities, { git: '', docker: '', 'GPU.model': 'H200' }], ['GPU.Model -equals A100']),
  ).toBe(true);
});
