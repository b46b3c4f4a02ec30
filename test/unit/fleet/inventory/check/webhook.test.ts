import { expect, test } from 'vitest';

import { fleet, mistakes } from '../fixture.ts';

test('webhook: where its URL is found and when it is called; a stronger layer replaces or removes it', () => {
  const { hosts } = fleet(`
defaults: { pool: p, webhook: { url: { file: hook }, queueWait: 2h } }
groups: { test: { vars: { webhook: { url: { env: TEST_HOOK }, offline: 90s } }, hosts: [b] } }
hosts: { a: {}, b: {}, c: { webhook: none } }
`);
  expect(hosts.map(({ webhook }) => webhook)).toEqual([
    { url: { file: '/lab/hook' }, offlineS: 600, queueWaitS: 7200 },
    { url: { env: 'TEST_HOOK' }, offlineS: 90, queueWaitS: 1800 },
    undefined,
  ]);
});

test.each<[string, string, ...string[]]>([
  [
    'a literal URL of a webhook, which is not repeated',
    'defaults: { pool: p, webhook: { url: "https://hooks.lab/s3cret" } }\nhosts: { a: { webhook: "https://hooks.lab/s3cret" } }\n',
    'inventory.yaml:3:38: defaults.webhook.url has an invalid value\nexpected: where the secret is found: { env: NAME }, { file: PATH }, { cmd: "COMMAND" } or { prompt: true }\nseen: a literal value (not shown)\nnext: replace it with an expected value',
    'inventory.yaml:4:24: hosts.a.webhook has an invalid value\nexpected: a webhook, e.g. { url: { env: FLEET_WEBHOOK } }, or none\nseen: a literal value (not shown)\nnext: replace it with an expected value',
  ],
  [
    'a webhook without its URL',
    'defaults: { pool: p, webhook: { offline: 5m } }\nhosts: { a: {} }\n',
    'inventory.yaml:3:22: defaults.webhook.url is missing\nexpected: where the secret is found: { env: NAME }, { file: PATH }, { cmd: "COMMAND" } or { prompt: true }\nnext: add `url:` under defaults.webhook',
  ],
  [
    'durations that are too short and too long',
    'defaults: { pool: p, webhook: { url: { env: W }, queueWait: 30s } }\nhosts: { a: { webhook: { url: { env: W }, offline: 8d } } }\n',
    'inventory.yaml:3:61: defaults.webhook.queueWait has an invalid value\nexpected: a duration from 1m to 7d, e.g. 10m or 2h\nseen: 30s\nnext: replace it with an expected value',
    'inventory.yaml:4:52: hosts.a.webhook.offline has an invalid value\nexpected: a duration from 1m to 7d, e.g. 10m or 2h\nseen: 8d\nnext: replace it with an expected value',
  ],
])('%s', (_, text, ...expected) => {
  expect(mistakes(text)).toEqual(expected);
});
