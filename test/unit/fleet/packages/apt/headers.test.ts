import { describe, expect, it } from 'vitest';

import { kernelBuild } from '../../../../../src/fleet/packages/apt/headers.ts';
import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { bare, headersSuite, headersTable } from './headers-cases.ts';

testSuite(headersSuite);

describe('missing packages that build modules', () => {
  it.each(headersTable)('%s', (_, host, expected) => {
    expect(kernelBuild({ ...bare, ...host }, 'all').packages).toEqual(expected);
  });
});
