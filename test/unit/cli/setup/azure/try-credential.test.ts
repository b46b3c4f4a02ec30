import { expect, test } from 'vitest';

import { rightsLines } from '../../../../../src/cli/setup/azure.ts';

const credential = { kind: 'pat', token: { env: 'AZP_TOKEN' } } as const;
const all = { pools: ['Default', 'gpu'], managed: ['Default', 'gpu'], mayWrite: true, projects: ['a', 'b'] };

test.each([
  [
    'everything',
    {},
    [
      'accepts the variable AZP_TOKEN; pools there: 2',
      '✔ its user administers 2 pools',
      '✔ it sees 2 projects',
    ],
  ],
  [
    'only reading',
    { mayWrite: false },
    ['', '✗ it may not register agents. Next: give the token the scope', ''],
  ],
  ['no pool', { managed: [] }, ['', '! its user administers no pool. Next: Organization settings', '']],
  ['no projects', { projects: undefined }, ['', '', '! it may not list projects']],
  [
    'one pool, one project',
    { managed: ['gpu'], projects: ['a'] },
    ['', '✔ its user administers the pool gpu', '✔ it sees 1 project'],
  ],
])('a token that may see %s', (_, seen, said) => {
  const lines = rightsLines('https://dev.azure.com/example', credential, { ...all, ...seen });
  expect(lines).toEqual(said.map((text) => expect.stringContaining(text)));
});
