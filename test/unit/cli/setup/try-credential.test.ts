import { expect, test } from 'vitest';

import { rightsLines } from '../../../../src/cli/setup/azure.ts';

const credential = { kind: 'pat', token: { env: 'AZP_TOKEN' } } as const;
const all = { pools: ['Default', 'gpu'], managed: ['Default', 'gpu'], mayWrite: true, projects: ['a', 'b'] };

test.each([
  [
    'everything',
    {},
    [
      'accepts the variable AZP_TOKEN; pools: 2',
      "✔ the token's user administers 2 pools",
      '✔ the token can read 2 projects',
    ],
  ],
  ['only reading', { mayWrite: false }, ['', '✗ the token may not register agents. Next: add the scope', '']],
  [
    'no pool',
    { managed: [] },
    ['', "! the token's user administers no pool. Next: Organization settings", ''],
  ],
  ['no projects', { projects: undefined }, ['', '', '! the token may not list projects']],
  [
    'one pool, one project',
    { managed: ['gpu'], projects: ['a'] },
    ['', "✔ the token's user administers the pool gpu", '✔ the token can read 1 project'],
  ],
])('a token that can read %s', (_, seen, printed) => {
  const lines = rightsLines('https://dev.azure.com/example', credential, { ...all, ...seen });
  expect(lines).toEqual(printed.map((text) => expect.stringContaining(text)));
});
