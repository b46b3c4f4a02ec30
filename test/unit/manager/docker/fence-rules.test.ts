import { expect, test } from 'vitest';
import { closedAddresses, fenceRules, missingRules } from '../../../../src/manager/docker/fence-rules.ts';

const texts = (rules: ReturnType<typeof fenceRules>): readonly string[] =>
  rules.map(({ family, args }) => `ip ${family} rule add ${args.join(' ')}`);

test('every metadata address is closed for the containers, names (port 53) go past', () => {
  expect(texts(fenceRules(['containers']))).toEqual([
    'ip -4 rule add pref 52 nop',
    'ip -4 rule add pref 50 iif azp-fleet0 ipproto udp dport 53 goto 52',
    'ip -4 rule add pref 50 iif azp-fleet0 ipproto tcp dport 53 goto 52',
    'ip -4 rule add pref 51 iif azp-fleet0 to 169.254.0.0/16 prohibit',
    'ip -4 rule add pref 51 iif azp-fleet0 to 168.63.129.16/32 prohibit',
    'ip -4 rule add pref 51 iif azp-fleet0 to 100.100.100.200/32 prohibit',
    'ip -4 rule add pref 51 iif azp-fleet0 to 192.0.0.192/32 prohibit',
    'ip -6 rule add pref 52 nop',
    'ip -6 rule add pref 50 iif azp-fleet0 ipproto udp dport 53 goto 52',
    'ip -6 rule add pref 50 iif azp-fleet0 ipproto tcp dport 53 goto 52',
    ...closedAddresses['-6'].map((to) => `ip -6 rule add pref 51 iif azp-fleet0 to ${to} prohibit`),
  ]);
  expect(closedAddresses['-6']).toContain('fd00:ec2::/32');
});

test('jobs straight on the host are fenced by their users, past the same target', () => {
  const rules = texts(fenceRules(['containers', { uid: 999 }, { uid: 58001 }])).filter((text) =>
    text.includes('-4'),
  );
  expect(rules).toHaveLength(1 + 3 * 6);
  expect(rules).toContain('ip -4 rule add pref 50 uidrange 58001-58001 ipproto udp dport 53 goto 52');
  expect(rules).toContain('ip -4 rule add pref 51 uidrange 999-999 to 169.254.0.0/16 prohibit');
});

const wanted = fenceRules(['containers', { uid: 999 }]).filter(
  ({ family, args }) =>
    family === '-4' &&
    ['goto', 'nop', '169.254.0.0/16', '192.0.0.192/32'].some((word) => args.includes(word)),
);

// As iproute2 6.1 prints them.
const past = '52:\tfrom all nop';
const names = '50:\tfrom all iif azp-fleet0 ipproto udp dport 53 goto 52';
const closed = '51:\tfrom all to 169.254.0.0/16 iif azp-fleet0 prohibit';
test.each([
  ['nothing', '0:\tfrom all lookup local\n', []],
  [
    'all kinds',
    `${past}\n${names}\n${closed}`,
    ['pref 52 nop', 'iif azp-fleet0 ipproto udp', 'iif azp-fleet0 to 169.254'],
  ],
  [
    'them while the bridge and the target are away',
    `${names.replace('azp-fleet0', 'azp-fleet0 [detached]')} [unresolved]\n${closed.replace('azp-fleet0', 'azp-fleet0 [detached]')}`,
    ['iif azp-fleet0 ipproto udp', 'iif azp-fleet0 to 169.254'],
  ],
  [
    "a user's, of one address",
    '51:\tfrom all to 192.0.0.192 uidrange 999-999 prohibit',
    ['uidrange 999-999 to 192.0.0.192'],
  ],
  ["another user's", '51:\tfrom all to 192.0.0.192 uidrange 99-99 prohibit', []],
  ['one port alone', closed.replace(' prohibit', ' ipproto tcp dport 80 prohibit'), []],
  ['another range', closed.replace('/16', '/24'), []],
  ['some sources alone', closed.replace('from all', 'from 10.0.0.0/8'), []],
  ['all but those', closed.replace('from all', 'not from all'), []],
  ['it behind the rules of others', closed.replace('51:', '32765:'), []],
  ['one that lets through', closed.replace('prohibit', 'lookup main'), []],
])('ip shows %s', (_, shown, there) => {
  const missing = missingRules(wanted, { '-4': shown, '-6': '' });
  const found = wanted.filter((rule) => !missing.includes(rule)).map(({ args }) => args.join(' '));
  expect(found).toHaveLength(there.length);
  for (const part of there) expect(found.some((text) => text.includes(part))).toBe(true);
});
