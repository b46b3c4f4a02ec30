import { expect, test } from 'vitest';

import { refusal } from '../../../../practice/lab/refusal.ts';

test.each([
  ['root on Debian, all there', { isRoot: true, hasApt: true, missing: [] }, undefined],
  [
    'root on Debian, which brings what is missing',
    { isRoot: true, hasApt: true, missing: ['runc'] },
    undefined,
  ],
  ['root elsewhere with all there', { isRoot: true, hasApt: false, missing: [] }, undefined],
  ['no right to install', { isRoot: false, hasApt: true, missing: ['docker.io'] }, 'run it as root'],
  [
    'no Docker engine, and no Debian',
    { isRoot: true, hasApt: false, missing: ['docker.io', 'runc'] },
    'needs docker.io, runc',
  ],
])('%s', (_name, machine, expected) => {
  const line = refusal(machine);
  if (expected === undefined) expect(line).toBeUndefined();
  else {
    expect(line).toContain(expected);
    expect(line).toContain('Next: ');
    expect(line).not.toContain('\n');
  }
});
