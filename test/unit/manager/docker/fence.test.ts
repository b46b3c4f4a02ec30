import { afterEach, expect, test } from 'vitest';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import type { CommandResult } from '../../../../src/manager/machine/command.ts';
import { Fence } from '../../../../src/manager/docker/fence.ts';
import { ManagerRig, printed } from '../../../support/manager-rig.ts';

/** An `ip` that keeps what is added, and prints it as the real one does. */
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

/** Of a machine without Docker. */
const engine = {
  networksNamed: () => Promise.reject(new Error('no engine')),
  createNetwork: () => Promise.reject(new Error('no engine')),
  removeNetwork: () => Promise.reject(new Error('no engine')),
};
const fence = (ip: Ip, hasIpv6 = true): Fence =>
  new Fence({ command: ip.run, engine, log: silentLogger }, () => Promise.resolve(hasIpv6));

test('rules are put up once, however many ask, and again when they were flushed', async () => {
  const ip = new Ip();
  const ours = fence(ip);
  await Promise.all([ours.raise(), ours.raise(), ours.around([999]), ours.around([999])]);
  const all = ip.rules.toSorted();
  expect(new Set(all).size).toBe(all.length);
  expect(all.filter((rule) => rule.includes('uidrange 999-999'))).toHaveLength(15);
  ip.rules.length = 0;
  await ours.raise();
  expect(ip.rules.toSorted()).toEqual(all);
  expect(ours.problems).toEqual([]);
});

test('a jump is put up after its target, and before what it jumps over', async () => {
  const ip = new Ip();
  await fence(ip).raise();
  for (const family of ['-4', '-6']) {
    const kinds = ip.rules
      .filter((rule) => rule.startsWith(family))
      .map((rule) => / (nop|goto|prohibit)/.exec(rule)?.[1]);
    expect([...new Set(kinds)]).toEqual(['nop', 'goto', 'prohibit']);
  }
});

test('a host without IPv6 is not asked for it', async () => {
  const ip = new Ip();
  await fence(ip, false).raise();
  expect(ip.rules).toHaveLength(7);
  expect(ip.calls.some((call) => call.startsWith('-6'))).toBe(false);
});

test('it stands around a slot once it has been looked at; Docker matters to containers alone', async () => {
  const ip = new Ip();
  const ours = fence(ip);
  expect(ours.gap('host')?.code).toBe('fence.unknown');
  ip.failing = 'RTNETLINK answers: Operation not permitted';
  await ours.raise();
  expect(ours.gap('host')).toMatchObject({
    code: 'fence.open',
    what: expect.stringContaining('not permitted') as string,
  });
  ip.failing = undefined;
  await ours.raise();
  expect(ours.gap('host')).toBeUndefined();
  await expect(ours.enclose()).rejects.toThrow('no engine');
  expect(ours.gap('container')?.code).toBe('fence.unknown');
});

let rig: ManagerRig | undefined;
afterEach(() => rig?.close());

/** What `ip` says in a container without the right to ask. */
const refused = { ...printed('Cannot open netlink socket: Operation not permitted'), code: 1 };

test('a fence that cannot be put up is a problem in the status, until it can; jobs run all the same', async () => {
  rig = await ManagerRig.create();
  const started = rig;
  started.programs.set('ip', refused);
  await started.start();
  const problems = async () => (await started.status()).problems.map(({ code, what }) => `${code}: ${what}`);
  await expect
    .poll(problems)
    .toEqual([expect.stringMatching(/^fence\.open: jobs may reach the cloud's metadata.*not permitted$/)]);
  await started.until('idle');
  started.programs.set('ip', printed(''));
  await expect.poll(problems).toEqual([]);
});

test('network: required starts no job while it cannot be put up, and tells why on each slot', async () => {
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

test('network: required sends idle agents away when it falls, lets a job end, and comes back by itself', async () => {
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
});

test('network: required looks right before each launch, not only each minute', async () => {
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
