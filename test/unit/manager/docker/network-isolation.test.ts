import { afterEach, expect, test } from 'vitest';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import type { CommandResult } from '../../../../src/manager/machine/command.ts';
import {
  followRules,
  metadataAddresses,
  NetworkIsolation,
  routingRules,
  missingRules,
} from '../../../../src/manager/docker/network-isolation.ts';
import { ManagerRig, printed } from '../../../support/manager-rig.ts';
import { fault } from '../../../support/fault.ts';
import { StillClock } from '../../../support/clock.ts';

/** A stand-in for `ip` that keeps added rules, and prints them like the real one. */
class Ip {
  readonly rules: string[] = [];
  readonly calls: string[] = [];
  failing: string | undefined;
  readonly run = async (
    _: string,
    [family = '', , verb = '', ...args]: readonly string[],
  ): Promise<CommandResult> => {
    this.calls.push(`${family} ${verb} ${args.join(' ')}`);
    await Promise.resolve();
    if (this.failing !== undefined) return { ...printed(this.failing), code: 1 };
    if (verb === 'show')
      return printed(
        this.rules
          .filter((rule) => rule.startsWith(family))
          .join('\n')
          .replaceAll(`${family} `, ''),
      );
    const [, preference, ...rest] = args;
    const words = rest.map((word) => word.replace(family === '-4' ? /\/32$/ : /\/128$/, '')).join(' ');
    this.rules.push(`${family} ${preference}:\tfrom all ${words}`);
    return printed('');
  };
}

/** The engine of a machine without Docker. */
const engine = {
  networksNamed: () => Promise.reject(new Error('no engine')),
  createNetwork: () => Promise.reject(new Error('no engine')),
  removeNetwork: () => Promise.reject(new Error('no engine')),
};
const isolationOf = (ip: Ip, hasIpv6 = true): NetworkIsolation =>
  new NetworkIsolation({ command: ip.run, engine, log: silentLogger }, () => Promise.resolve(hasIpv6));

test('rules are added once for parallel calls, and again after a flush', async () => {
  const ip = new Ip();
  const ours = isolationOf(ip);
  await Promise.all([
    ours.ensureRules(),
    ours.ensureRules(),
    ours.isolateUsers([999]),
    ours.isolateUsers([999]),
  ]);
  const all = ip.rules.toSorted();
  expect(new Set(all).size).toBe(all.length);
  expect(all.filter((rule) => rule.includes('uidrange 999-999'))).toHaveLength(15);
  ip.rules.length = 0;
  await ours.ensureRules();
  expect(ip.rules.toSorted()).toEqual(all);
  expect(ours.problems).toEqual([]);
});

test('a jump is added after its target, and before the rules that it skips', async () => {
  const ip = new Ip();
  await isolationOf(ip).ensureRules();
  for (const family of ['-4', '-6']) {
    const kinds = ip.rules
      .filter((rule) => rule.startsWith(family))
      .map((rule) => / (nop|goto|prohibit)/.exec(rule)?.[1]);
    expect([...new Set(kinds)]).toEqual(['nop', 'goto', 'prohibit']);
  }
});

test('a host without IPv6 gets no IPv6 rules', async () => {
  const ip = new Ip();
  await isolationOf(ip, false).ensureRules();
  expect(ip.rules).toHaveLength(7);
  expect(ip.calls.some((call) => call.startsWith('-6'))).toBe(false);
});

test('a slot is isolated after the first check; only containers need Docker', async () => {
  const ip = new Ip();
  const ours = isolationOf(ip);
  expect(ours.problemFor('host')?.code).toBe('fence.unknown');
  ip.failing = 'RTNETLINK answers: Operation not permitted';
  await ours.ensureRules();
  expect(ours.problemFor('host')).toMatchObject({
    code: 'fence.open',
    what: expect.stringContaining('not permitted') as string,
  });
  ip.failing = undefined;
  await ours.ensureRules();
  expect(ours.problemFor('host')).toBeUndefined();
  await expect(ours.ensureNetwork()).rejects.toThrow('no engine');
  expect(ours.problemFor('container')?.code).toBe('fence.unknown');
});

let rig: ManagerRig | undefined;
afterEach(() => rig?.close());

/** The output of `ip` in a container without permission. */
const refused = { ...printed('Cannot open netlink socket: Operation not permitted'), code: 1 };

fault('rules-not-set', 'rules that cannot be added are a problem in the status, and jobs run', async () => {
  rig = await ManagerRig.create();
  const started = rig;
  started.programs.set('ip', refused);
  await started.start();
  const problems = async () => (await started.status()).problems.map(({ code, what }) => `${code}: ${what}`);
  await expect
    .poll(problems)
    .toEqual([
      expect.stringMatching(/^fence\.open: jobs may reach the cloud metadata service.*not permitted$/),
    ]);
  await started.until('idle');
  started.programs.set('ip', printed(''));
  await expect.poll(problems).toEqual([]);
});

test('network: required starts no job without isolation, and each slot shows why', async () => {
  rig = await ManagerRig.create();
  rig.programs.set('ip', refused);
  await rig.start({ fence: 'required' });
  await rig.until('waiting');
  const started = rig;
  await expect
    .poll(() => started.slot('0'))
    .toMatchObject({ code: 'fence.open', cause: expect.stringContaining('not permitted') as string });
  expect(rig.docker.containers.size).toBe(0);
  rig.programs.set('ip', printed(''));
  await rig.until('idle');
});

fault(
  'isolation-removed',
  'network: required stops idle agents when rules are missing, lets a job end, and recovers',
  async () => {
    rig = await ManagerRig.create();
    const { azure, poolId } = rig;
    const enabled = async () => (await azure.listAgents(poolId)).map((agent) => agent.enabled);
    await rig.start({ fence: 'required' });
    await rig.until('idle');
    rig.beginJob('box-1');
    await rig.until('busy', ['1']);
    rig.programs.set('ip', refused);
    await rig.until('waiting', ['0']);
    await expect.poll(enabled).toEqual([false, false]);
    expect((await rig.slot('1')).state).toBe('busy');
    rig.endJob('box-1');
    await rig.until('waiting');
    expect(rig.docker.containers.size).toBe(0);
    rig.programs.set('ip', printed(''));
    await rig.until('idle');
    await expect.poll(enabled).toEqual([true, true]);
  },
);

test('network: required checks right before each launch, not only each minute', async () => {
  rig = await ManagerRig.create();
  await rig.start({ fence: 'required', agents: { kind: 'count', count: 1 } });
  await rig.until('idle', ['0']);
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  rig.programs.set('ip', refused);
  rig.docker.calls.length = 0;
  rig.endJob('box-0');
  await rig.until('waiting', ['0']);
  expect(rig.docker.calls.some(({ path }) => path === '/containers/create')).toBe(false);
});

test('network: required adds the rules again as soon as another program deletes one', async () => {
  rig = await ManagerRig.create();
  const { hostPrograms } = rig;
  await rig.start({ fence: 'required', agents: { kind: 'count', count: 1 } });
  await rig.until('idle', ['0']);
  // The first check may be one by time; the next one by time is then a minute away.
  rig.clock.speed = 1;
  const checks = () => hostPrograms.calls.filter((call) => call === 'ip -4 rule show').length;
  for (const rule of ['from all to 169.254.0.0/16 iif azp-fleet0 prohibit', 'from all nop']) {
    const before = checks();
    rig.rulesSay(`Deleted 51:\t${rule}`);
    await expect.poll(checks, { timeout: 20_000 }).toBeGreaterThan(before);
  }
});

test.each([
  ['Deleted 52:\tfrom all nop', 1],
  ['Deleted 51:\tfrom all to fd00:ec2::/32 iif azp-fleet0 [detached] prohibit', 1],
  ['Deleted 50:\tfrom all uidrange 999-999 ipproto udp dport 53 goto 52', 1],
  ['51:\tfrom all to 169.254.0.0/16 iif azp-fleet0 prohibit', 0],
  ['Deleted 5100:\tfrom all lookup 5100', 0],
  ['Deleted 0:\tfrom all lookup local', 0],
])('ip monitor prints "%s"', async (line, noticed) => {
  const stop = new AbortController();
  let count = 0;
  await followRules(
    {
      follow: (program, args, onLine) => {
        expect([program, ...args]).toEqual(['ip', 'monitor', 'rule']);
        onLine(line);
        stop.abort();
        return Promise.resolve({ complaint: '' });
      },
      clock: new StillClock(),
      log: silentLogger,
      signal: stop.signal,
    },
    () => (count += 1),
  );
  expect(count).toBe(noticed);
});

const texts = (rules: ReturnType<typeof routingRules>): readonly string[] =>
  rules.map(({ family, args }) => `ip ${family} rule add ${args.join(' ')}`);

test('containers reach no metadata address, except for DNS (port 53)', () => {
  expect(texts(routingRules(['containers']))).toEqual([
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
    ...metadataAddresses['-6'].map((to) => `ip -6 rule add pref 51 iif azp-fleet0 to ${to} prohibit`),
  ]);
  expect(metadataAddresses['-6']).toContain('fd00:ec2::/32');
});

test('rules for mode: host match the users, with the same jump target', () => {
  const rules = texts(routingRules(['containers', { uid: 999 }, { uid: 58001 }])).filter((text) =>
    text.includes('-4'),
  );
  expect(rules).toHaveLength(1 + 3 * 6);
  expect(rules).toContain('ip -4 rule add pref 50 uidrange 58001-58001 ipproto udp dport 53 goto 52');
  expect(rules).toContain('ip -4 rule add pref 51 uidrange 999-999 to 169.254.0.0/16 prohibit');
});

test('neither containers nor mode: host reach what gives out the identity of an Azure VM', () => {
  const rules = texts(routingRules(['containers', { uid: 58000 }]));
  for (const who of ['iif azp-fleet0', 'uidrange 58000-58000'])
    for (const to of ['169.254.0.0/16', '168.63.129.16/32'])
      expect(rules).toContain(`ip -4 rule add pref 51 ${who} to ${to} prohibit`);
  // Port 80 is none of the exceptions.
  expect(rules.filter((text) => text.includes('dport') && !text.includes('dport 53 '))).toEqual([]);
});

const desired = routingRules(['containers', { uid: 999 }]).filter(
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
    'rules while the bridge and the target are missing',
    `${names.replace('azp-fleet0', 'azp-fleet0 [detached]')} [unresolved]\n${closed.replace('azp-fleet0', 'azp-fleet0 [detached]')}`,
    ['iif azp-fleet0 ipproto udp', 'iif azp-fleet0 to 169.254'],
  ],
  [
    "a user's, of one address",
    '51:\tfrom all to 192.0.0.192 uidrange 999-999 prohibit',
    ['uidrange 999-999 to 192.0.0.192'],
  ],
  ["another user's", '51:\tfrom all to 192.0.0.192 uidrange 99-99 prohibit', []],
  ['only one port', closed.replace(' prohibit', ' ipproto tcp dport 80 prohibit'), []],
  ['another range', closed.replace('/16', '/24'), []],
  ['only some sources', closed.replace('from all', 'from 10.0.0.0/8'), []],
  ['all other sources', closed.replace('from all', 'not from all'), []],
  ['a rule after the rules of other programs', closed.replace('51:', '32765:'), []],
  ['a rule that allows the traffic', closed.replace('prohibit', 'lookup main'), []],
])('ip shows %s', (_, shown, there) => {
  const missing = missingRules(desired, { '-4': shown, '-6': '' });
  const found = desired.filter((rule) => !missing.includes(rule)).map(({ args }) => args.join(' '));
  expect(found).toHaveLength(there.length);
  for (const part of there) expect(found.some((text) => text.includes(part))).toBe(true);
});
