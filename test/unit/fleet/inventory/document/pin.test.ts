import { expect, test } from 'vitest';

import { pinHostKeys } from '../../../../../src/fleet/inventory/document/edit.ts';

const source = `# our lab
organization: https://dev.azure.com/example # ours
hosts:
  a: { port: 2222 } # by the window
  b:
  c:
    hostKeys: [ssh-rsa OLD]
    user: "\${LAB_USER}"
`;

test('keys go to their hosts; comments, variables and the rest stay', () => {
  const pinned = pinHostKeys(
    source,
    new Map([
      ['a', ['ssh-ed25519 AA']],
      ['b', ['ssh-ed25519 BB']],
      ['c', ['ssh-ed25519 CC']],
    ]),
  );
  expect(pinned).toContain('# our lab');
  expect(pinned).toContain('a: { port: 2222, hostKeys: [ ssh-ed25519 AA ] } # by the window');
  expect(pinned).toMatch(/b:\n {4}hostKeys:\n {6}- ssh-ed25519 BB/);
  expect(pinned).toContain('ssh-ed25519 CC');
  expect(pinned).not.toContain('OLD');
  expect(pinned).toContain('"${LAB_USER}"');
});
