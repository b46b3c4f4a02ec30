import { expect, test } from 'vitest';

import { mistakes } from '../fixture.ts';

test.each([
  [
    'a pool',
    'defaults: { pool: "gpu\\e[2Jlab" }\nhosts: { a: {} }\n',
    '3:19: defaults.pool',
    'gpu\\u001b[2Jlab',
  ],
  [
    'the pool of a slot',
    'defaults: { pool: p }\nhosts: { a: { agents: [{ gpus: [], pool: "a\\nb" }] } }\n',
    '4:42: hosts.a.agents.0.pool',
    'a\\u000ab',
  ],
  [
    'agents’ names',
    'defaults: { pool: p, agentName: "{host}\\x07{slot}" }\nhosts: { a: {} }\n',
    '3:33: defaults.agentName',
    '{host}\\u0007{slot}',
  ],
  [
    'a label',
    'defaults: { pool: p }\nhosts: { a: { labels: { site: "b\\e[1A" } } }\n',
    '4:31: hosts.a.labels.site',
    'b\\u001b[1A',
  ],
  [
    'a capability',
    'defaults: { pool: p, capabilities: { team: "a\x9bm" } }\nhosts: { a: {} }\n',
    '3:44: defaults.capabilities.team',
    'a\\u009bm',
  ],
])('a control character in %s is a mistake, and shown escaped', (_, text, place, seen) => {
  expect(mistakes(text)).toEqual([
    `inventory.yaml:${place} has an invalid value\nexpected: text without control characters\nseen: ${seen}\nnext: replace it with an expected value`,
  ]);
});
