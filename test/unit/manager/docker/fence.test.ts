import { afterEach, expect, test } from 'vitest';
import { silentLogger } from '../../../../src/base/log.ts';
import type { CommandResult } from '../../../../src/manager/machine/command.ts';
import { Fence } from '../../../../src/manager/docker/fence.ts';
import { fenceRules, missingRules } from '../../../../src/manager/docker/fence-rules.ts';
import { ManagerRig, printed } from '../../../support/manager-rig.ts';

const texts = (rules: ReturnType<typeof fenceRules>): readonly string[] =>
  rules.map(({ family, args }) => `ip ${family} rule add ${args.join(' ')}`);

test('HTTP to every metadata address is closed for the containers, names (port 53) are not', () => {
  expect(texts(fenceRules(['containers']))).toEqual([
    'ip -4 rule add pref 50 iif azp-fleet0 to 169.254.169.254/32 ipproto tcp dport 80 prohibit',
    'ip -4 rule add pref 50 iif azp-fleet0 to 168.63.129.16/32 ipproto tcp dport 80 prohibit',
    'ip -4 rule add pref 50 iif azp-fleet0 to 168.63.129.16/32 ipproto tcp dport 32526 prohibit',
    'ip -4 rule add pref 50 iif azp-fleet0 to 100.100.100.200/32 ipproto tcp dport 80 prohibit',
    'ip -6 rule add pref 50 iif azp-fleet0 to fd00:ec2::254/128 ipproto tcp dport 80 prohibit',
    'ip -6 rule add pref 50 iif azp-fleet0 to fd20:ce::254/128 ipproto tcp dport 80 prohibit',
  ]);
});

test('a job straight on the host is fenced by its user', () => {
  expect(texts(fenceRules([{ uid: 999 }]))[0]).toBe(
    'ip -4 rule add pref 50 uidrange 999-999 to 169.254.169.254/32 ipproto tcp dport 80 prohibit',
  );
});

const [first, second] = fenceRules(['containers', { uid: 999 }]).filter((_, at) => at % 6 === 0);
test.each([
  ['nothing', '0:\tfrom all lookup local\n', 2],
  ['the first', '50:\tfrom all to 169.254.169.254 iif azp-fleet0 ipproto tcp dport 80 prohibit', 1],
  [
    'it while the bridge is away',
    '50:\tfrom all to 169.254.169.254 iif azp-fleet0 [detached] ipproto tcp dport 80 prohibit',
    1,
  ],
  ['the second', '50:\tfrom all to 169.254.169.254 uidrange 999-999 ipproto tcp dport 80 prohibit', 1],
  ["another user's", '50:\tfrom all to 169.254.169.254 uidrange 99-99 ipproto tcp dport 80 prohibit', 2],
  ['another port', '50:\tfrom all to 169.254.169.254 iif azp-fleet0 ipproto tcp dport 8080 prohibit', 2],
  ['another address', '50:\tfrom all to 169.254.169.25 iif azp-fleet0 ipproto tcp dport 80 prohibit', 2],
  [
    'it behind the rules of others',
    '32765:\tfrom all to 169.254.169.254 iif azp-fleet0 ipproto tcp dport 80 prohibit',
    2,
  ],
  [
    'one that lets through',
    '50:\tfrom all to 169.254.169.254 iif azp-fleet0 ipproto tcp dport 80 lookup main',
    2,
  ],
])('ip shows %s', (_, shown, missing) => {
  const rules = [first, second].filter((rule) => rule !== undefined);
  expect(missingRules(rules, { '-4': shown, '-6': '' })).toHaveLength(missing);
});

/** An `ip` that keeps what is added, and prints it as the real one does. */
class Ip {
  readonly rules: string[] = [];
  readonly calls: string[] = [];
  failing: string | undefined;
  readonly run = async (
    _: string,
    [family = '', , verb = '', ...args]: readonly string[],
  ): Promise<CommandResult> => {
    this.calls.push(`${family} ${verb}`);
    await Promise.resolve();
    if (this.failing !== undefined) return { ...printed(this.failing), code: 1 };
    if (verb === 'show') return printed(this.rules.join('\n'));
    const [, preference, ...rest] = args;
    this.rules.push(`${preference}:\tfrom all ${rest.map((word) => word.replace(/\/\d+$/, '')).join(' ')}`);
    return printed('');
  };
}

const fence = (ip: Ip, hasIpv6 = true): Fence =>
  new Fence(ip.run, silentLogger, () => Promise.resolve(hasIpv6));

test('rules are put up once, however many ask, and again when they were flushed', async () => {
  const ip = new Ip();
  const ours = fence(ip);
  await Promise.all([ours.raise(), ours.raise(), ours.around([999]), ours.around([999])]);
  expect(ip.rules).toHaveLength(12);
  ip.rules.length = 0;
  await ours.raise();
  expect(ip.rules).toHaveLength(12);
  expect(ours.problem).toBeUndefined();
});

test('a host without IPv6 is not asked for it', async () => {
  const ip = new Ip();
  await fence(ip, false).raise();
  expect(ip.rules).toHaveLength(4);
  expect(ip.calls.some((call) => call.startsWith('-6'))).toBe(false);
});

let rig: ManagerRig | undefined;
afterEach(() => rig?.close());

test('a fence that cannot be put up is a problem in the status, until it can', async () => {
  rig = await ManagerRig.create();
  const started = rig;
  started.programs.set('ip', { ...printed('ip: command not found'), code: 127 });
  await started.start();
  const problems = async () => (await started.status()).problems.map(({ code, what }) => `${code}: ${what}`);
  await expect
    .poll(problems)
    .toEqual([
      expect.stringMatching(/^fence\.open: jobs may reach the cloud's metadata.*command not found$/),
    ]);
  started.programs.set('ip', printed(''));
  await expect.poll(problems).toEqual([]);
});
