import { expect, test } from 'vitest';

import { pinHostKeys } from '../../../../../src/fleet/inventory/document/edit.ts';

const source = `# our lab
organization: https://dev.azure.com/example # ours
hosts:
  a: { port: 2222 } # rack 7
  b:
  c:
    hostKeys: [ssh-rsa OLD]
    user: "\${LAB_USER}"
`;

test('keys are written to their hosts; comments, variables and the rest are unchanged', () => {
  const pinned = pinHostKeys(
    source,
    new Map([
      ['a', ['ssh-ed25519 AA']],
      ['b', ['ssh-ed25519 BB']],
      ['c', ['ssh-ed25519 CC']],
    ]),
  );
  expect(pinned).toContain('# our lab');
  expect(pinned).toContain('a: { port: 2222, hostKeys: [ ssh-ed25519 AA ] } # rack 7');
  expect(pinned).toMatch(/b:\n {4}hostKeys:\n {6}- ssh-ed25519 BB/);
  expect(pinned).toContain('ssh-ed25519 CC');
  expect(pinned).not.toContain('OLD');
  expect(pinned).toContain('"${LAB_USER}"');
});
