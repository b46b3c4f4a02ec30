import { expect, test } from 'vitest';

import { fleet, mistakes } from '../fixture.ts';

test('idle: a stronger layer replaces or removes it', () => {
  const { hosts } = fleet(`
defaults: { pool: p, idle: { after: 30m, run: /usr/local/sbin/deallocate } }
groups: { test: { vars: { idle: { after: 2h } }, hosts: [b] } }
hosts: { a: {}, b: {}, c: { idle: none }, d: { idle: { after: 7d, run: poweroff } } }
`);
  expect(hosts.map(({ idle }) => idle)).toEqual([
    { afterS: 1800, run: '/usr/local/sbin/deallocate' },
    { afterS: 7200, run: 'poweroff' },
    undefined,
    { afterS: 604_800, run: 'poweroff' },
  ]);
});

const place = (host: string): string => `defaults: { pool: p }\nhosts: { a: { idle: ${host} } }\n`;
const run = 'expected: poweroff, or the absolute path of a program, e.g. /usr/local/sbin/deallocate\nseen:';
const after = 'inventory.yaml:4:';

test.each<[string, string, string]>([
  [
    'an unsupported command of systemd',
    '{ after: 30m, run: suspend }',
    `hosts.a.idle.run has an invalid value\n${run} suspend`,
  ],
  [
    'a command with arguments',
    '{ after: 30m, run: /sbin/halt -p }',
    `hosts.a.idle.run has an invalid value\n${run} /sbin/halt -p`,
  ],
  [
    'a program without its path',
    '{ after: 30m, run: halt }',
    `hosts.a.idle.run has an invalid value\n${run} halt`,
  ],
  [
    'a typing mistake',
    '{ after: 30m, run: powerof }',
    `hosts.a.idle.run has an invalid value\n${run} powerof\nnext: did you mean "poweroff"?`,
  ],
  [
    'a path with ..',
    '{ after: 30m, run: /opt/../x }',
    `hosts.a.idle.run has an invalid value\n${run} /opt/../x`,
  ],
  [
    'a duration that is too short',
    '{ after: 4m }',
    'hosts.a.idle.after has an invalid value\nexpected: a duration from 5m to 7d, e.g. 10m or 2h\nseen: 4m',
  ],
  [
    'a number without its unit',
    '{ after: 30 }',
    'hosts.a.idle.after has an invalid value\nexpected: a duration from 5m to 7d, e.g. 10m or 2h\nseen: the number 30\nnext: add the unit: 30m',
  ],
  [
    'no time',
    '{ run: poweroff }',
    'hosts.a.idle.after is missing\nexpected: a duration from 5m to 7d, e.g. 10m or 2h\nnext: add `after:` under hosts.a.idle',
  ],
  [
    'a flag',
    'true',
    'hosts.a.idle has an invalid value\nexpected: what stops an idle host, e.g. { after: 30m, run: poweroff }, or none\nseen: true',
  ],
])('%s', (_, written, expected) => {
  const [first = '', ...more] = mistakes(place(written));
  const fix = expected.includes('\nnext: ') ? '' : '\nnext: replace it with an expected value';
  expect(more).toEqual([]);
  expect(first).toMatch(new RegExp(`^${after}\\d+: `));
  expect(first.replace(/^[^ ]+ /, '')).toBe(`${expected}${fix}`);
});
