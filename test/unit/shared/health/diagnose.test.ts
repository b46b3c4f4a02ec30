import { readFileSync } from 'node:fs';

import { expect, test } from 'vitest';

import { diagnose } from '../../../../src/shared/health/diagnose.ts';

const smi = readFileSync(new URL('../../../fixtures/nvidia-smi/h200-pair-v13.xml', import.meta.url), 'utf8');

test.each([
  ['the XML of nvidia-smi', smi, 'nvidia-smi', []],
  ['a failed nvidia-smi', 'No devices were found', 'nvidia-smi', ['gpu.none-found']],
  ['a kernel log with an XID', 'NVRM: Xid (PCI:0000:9b:00): 79, lost', 'kernel-log', ['xid.79']],
  ['a quiet kernel log', 'Nov 20 host kernel: usb 1-1: new device', 'kernel-log', []],
])('%s', (_, text, kind, codes) => {
  const diagnosis = diagnose(text);
  expect(diagnosis.kind).toBe(kind);
  expect('checkup' in diagnosis ? diagnosis.checkup.findings.map(({ code }) => code) : undefined).toEqual(
    codes,
  );
});

test('anything else is not guessed at', () => {
  expect(diagnose('{"name": "azp-fleet"}')).toEqual({ kind: 'unknown' });
});
