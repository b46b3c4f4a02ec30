import { expect, test } from 'vitest';

import { jsonDocument } from '../../../../src/cli/render/envelope.ts';

const parts = { command: 'exec', exitCode: 0, problems: [], log: undefined } as const;

test('the envelope is first, then the members of the command', () => {
  const document = JSON.parse([...jsonDocument({ wall: () => 0 }, parts, { hosts: [] })].join('')) as object;
  expect(Object.keys(document)).toEqual([
    'schema',
    'command',
    'version',
    'at',
    'exitCode',
    'problems',
    'hosts',
  ]);
  expect(document).toMatchObject({ at: '1970-01-01T00:00:00.000Z' });
});
