import { expect, test } from 'vitest';

import { limitedLogger, silentLogger } from '../../../../src/shared/base/log.ts';

test('a limited log ends with a line that says so', () => {
  const logged: string[] = [];
  const log = limitedLogger({ ...silentLogger, log: (_level, message) => void logged.push(message) }, 2);
  for (const message of ['one', 'two', 'three', 'four']) log.log('debug', message);
  expect(logged).toEqual(['one', 'two', 'log ends']);
});
