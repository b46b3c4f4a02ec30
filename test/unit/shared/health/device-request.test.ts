import { expect, test } from 'vitest';

import { deviceRequests, gpuPath } from '../../../../src/shared/health/device-request.ts';

test.each([
  ['20.10.24', ['/etc/cdi'], true, 'nvidia'],
  ['24.0.9', [], true, 'nvidia'],
  ['26.1.5', [], true, 'nvidia'],
  ['26.1.5', ['/etc/cdi', '/var/run/cdi'], true, 'cdi'],
  ['29.7.2', ['/etc/cdi'], false, 'nvidia'],
  ['29.7.2', ['/etc/cdi'], true, 'cdi'],
] as const)('Docker %s, CDI directories %j, specification %s: %s', (version, cdiSpecDirs, spec, kind) => {
  expect(gpuPath({ version, cdiSpecDirs }, spec).kind).toBe(kind);
});

test('requests have the form of the engine: never count and ids together, only ids for CDI', () => {
  expect(deviceRequests('nvidia', 'all', ['utility'])).toEqual([
    { Driver: 'nvidia', Count: -1, Capabilities: [['utility', 'gpu']] },
  ]);
  expect(deviceRequests('nvidia', ['GPU-a', 'MIG-b'], ['compute', 'gpu'])).toEqual([
    { Driver: 'nvidia', DeviceIDs: ['GPU-a', 'MIG-b'], Capabilities: [['compute', 'gpu']] },
  ]);
  expect(deviceRequests('cdi', ['GPU-a'], ['compute'])).toEqual([
    { Driver: 'cdi', DeviceIDs: ['nvidia.com/gpu=GPU-a'] },
  ]);
  expect(deviceRequests('cdi', 'all', [])).toEqual([{ Driver: 'cdi', DeviceIDs: ['nvidia.com/gpu=all'] }]);
  expect(deviceRequests('cdi', [], ['compute'])).toEqual([]);
});
