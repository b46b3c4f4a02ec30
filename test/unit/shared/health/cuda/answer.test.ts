import { expect, it, test } from 'vitest';

import { explainCuda } from '../../../../../src/shared/health/cuda/answer.ts';

test.each([
  ['it begins', 'exit 0 0', undefined],
  ['the fabric manager is not ready', 'exit 0 802', 'fail cuda.not-ready'],
  ['another driver', 'exit 0 803', 'fail driver.mismatch'],
  ["the image's own libcuda", 'exit 0 804', 'fail cuda.failed'],
  ['no device', 'exit 0 100', 'fail cuda.failed'],
  ['it takes long', 'exit 124 ', 'warn cuda.failed'],
  ['it takes long and does not end', 'exit 137 Killed', 'warn cuda.failed'],
  [
    'no library',
    'exit 127 /tmp/azp-fleet-cuda: error while loading shared libraries: libcuda.so.1: cannot open shared object file: No such file or directory',
    'fail container.no-libcuda',
  ],
  [
    'a library without it',
    'exit 127 /tmp/azp-fleet-cuda: symbol lookup error: /tmp/azp-fleet-cuda: undefined symbol: cuInit',
    'fail container.no-libcuda',
  ],
  ['words that no such program says', 'exit 0 well', 'fail container.no-libcuda'],
])('%s', (_, said, expected) => {
  const finding = explainCuda(`GPU 0: NVIDIA H200 (UUID: GPU-1)\nazp-fleet: cuInit ${said}\n`);
  expect(finding && `${finding.severity} ${finding.code}`).toBe(expected);
});

it('says nothing where it was not asked', () => {
  expect(explainCuda('GPU 0: NVIDIA H200\n')).toBeUndefined();
});
