import fc from 'fast-check';
import { expect, it } from 'vitest';

import { dnf } from '../../../../../src/fleet/packages/dnf/dnf.ts';
import { index } from '../../../../support/dnf-index.ts';
import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { gatherSuite } from './gather-cases.ts';
import { folderSuite } from './offline-cases.ts';
import { folderSimulationSuite } from './offline-simulation-cases.ts';

testSuite(gatherSuite);

testSuite(folderSuite);
testSuite(folderSimulationSuite);

it('names packages with their epoch, if any, and their files', () => {
  expect(dnf.offline.listed(index)).toEqual([
    {
      name: 'docker-ce',
      version: '3:29.7.2-1.el9',
      architecture: 'x86_64',
      file: 'docker-ce-29.7.2-1.el9.x86_64.rpm',
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    },
    {
      name: 'passt',
      version: '0^20240806-2.el9',
      architecture: 'x86_64',
      file: 'passt-0^20240806-2.el9.x86_64.rpm',
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    },
  ]);
});

it('parses any text as an index', () => {
  const part = fc.constantFrom('<package ', '<name>', '<', '"', ' epoch="', 'ver="', '<location href="pool/');
  const text = fc.array(fc.oneof(part, fc.string()), { maxLength: 30 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(text, (each) => {
      expect(dnf.offline.listed(each)).toHaveLength(each.split('<package ').length - 1);
    }),
  );
});
