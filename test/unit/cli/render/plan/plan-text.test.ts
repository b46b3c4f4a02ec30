import { describe, expect, it } from 'vitest';

import type { FleetPlan, HostPlan } from '../../../../../src/fleet/plan/fleet-plan.ts';
import type { Change } from '../../../../../src/fleet/steps/change.ts';
import { planText } from '../../../../../src/cli/render/plan.ts';
import { change, shape } from '../../../fleet/plan/changes.ts';

const host = (name: string, ...stage: HostPlan['stages'][number]): HostPlan => ({
  host: name,
  factsDigest: name,
  stages: stage.length === 0 ? [] : [stage],
  refusals: [],
});
const plan = (...hosts: HostPlan[]): FleetPlan => ({
  schema: 1,
  version: '0.2.0',
  at: '',
  inventory: '',
  inventoryDigest: '',
  fleet: [],
  hosts,
});
const text = (fleetPlan: FleetPlan, scripts = false) => planText(fleetPlan, { scripts, color: false });

describe('the plan as text', () => {
  it('shows equal refusals of several steps once', () => {
    const what = 'Debian 11 on x86_64 is not supported';
    const refuse = (step: 'driver' | 'docker' | 'toolkit') => ({ step, what, next: 'use Debian 12' });
    const shown = text(
      plan({
        ...host('old'),
        refusals: [
          refuse('driver'),
          refuse('docker'),
          { step: 'docker', what: 'podman is installed', next: 'remove it' },
          refuse('toolkit'),
        ],
      }),
    );
    expect(shown).toContain(`  ✗ driver, docker, toolkit ${what}
             next: use Debian 12
  ✗ docker   podman is installed
             next: remove it
`);
    expect(shown.split(what)).toHaveLength(2);
  });

  it('names planned versions whose support has ended, before the summary', () => {
    const support = [
      { part: 'driver', version: '535', state: 'ended', ends: '2026-06', successor: '580' },
    ] as const;
    const shown = planText(plan(host('a'), host('b')), {
      scripts: false,
      color: false,
      support: ['a', 'b'].map((name) => ({ host: name, support })),
    });
    expect(shown).toContain(`! a, b: driver branch 535: vendor support ended in 2026-06 [support.ended]
  next  change to driver branch 580

`);
  });

  it('shows equal hosts once, the others below, and each change with its details', () => {
    const restart = change('restart', { disturbs: 'containers' });
    const shown = text({
      ...plan(
        host('odd', change('a'), shape('toolkit', 'new-containers')),
        host('one', change('a'), restart),
        host('two', change('a'), restart),
        host('well'),
        {
          ...host('stuck'),
          refusals: [{ step: 'driver', what: 'a runfile driver is installed', next: 'remove it' }],
        },
      ),
      fleet: [
        {
          id: 'p',
          title: 'create agent pool gpu-lab',
          why: 'no pool of this name exists',
          action: { kind: 'create-pool', pool: 'gpu-lab' },
        },
      ],
    });
    expect(shown).toBe(`Azure DevOps
  + create agent pool gpu-lab
      no pool of this name exists

2 hosts: the same 2 changes (one, two)
  + docker   do a
             a is missing
  + docker   do restart
             restart is missing
             restarts running containers; drains agents first

odd: 2 changes
  + docker   do a
             a is missing
  ? toolkit  whatever toolkit needs
             known after "driver"; at most this
             no container can start for a moment; running jobs continue

stuck: 0 changes
  ✗ driver   a runfile driver is installed
             next: remove it

Changes: 1 in Azure DevOps, 6 on 3 hosts, 1 host refused, 1 host up to date.
`);
  });

  it('shows every line that would run as root with --show-scripts', () => {
    const durable = {
      ...change('a'),
      actions: [
        { kind: 'run' as const, script: 'apt-get update\n', durable: true, timeoutS: 60, writes: [] },
      ],
    };
    expect(text(plan(host('one', durable)), true)).toContain(
      '│ run as a systemd unit, at most 60 s:\n             │   apt-get update',
    );
  });

  it('shows three hundred hosts in few lines, for any names', () => {
    const shown = (name: (index: number) => string) =>
      text(plan(...Array.from({ length: 300 }, (_, index) => host(name(index), change('a')))));
    expect(shown((index) => `gpu-${String(index).padStart(3, '0')}`))
      .toBe(`300 hosts: the same 1 change (gpu-[000-299])
  + docker   do a
             a is missing

Changes: 300 on 300 hosts.
`);
    const names = shown((index) => `rack${index % 7}-gpu${index ** 2}`);
    expect(names).toMatch(/^300 hosts: the same 1 change\n {4}rack/);
    expect(Math.max(...names.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('shows hosts with the changes of a group and some more as that group', () => {
    const restart = change('restart', { disturbs: 'containers' });
    const shown = text(
      plan(
        ...Array.from({ length: 300 }, (_, index) => host(`gpu-${index}`, change('a'), restart)),
        host('odd-1', change('a'), change('x'), restart),
        host('odd-2', change('a'), change('x'), restart),
        host('alone', change('a'), restart, change('y')),
      ),
    );
    expect(shown).toBe(`300 hosts: the same 2 changes (gpu-[0-299])
  + docker   do a
             a is missing
  + docker   do restart
             restart is missing
             restarts running containers; drains agents first

2 hosts: as gpu-0, and 1 more change (odd-1, odd-2)
  + docker   do x
             x is missing

alone: as gpu-0, and 1 more change
  + docker   do y
             y is missing

Changes: 609 on 303 hosts.
`);
  });

  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((id) => change(id)) as [Change, Change, Change, Change];
  const refused = { refusals: [{ step: 'driver' as const, what: 'a runfile', next: 'remove it' }] };
  it.each<[string, HostPlan, string]>([
    ['in another order', host('odd', b, a, c), 'odd: 3 changes'],
    ['without one of the changes', host('odd', a, c), 'odd: 2 changes'],
    ['with a reboot in one of them', host('odd', a, { ...b, ...change('b', { reboot: true }) }, c), 'odd: 3'],
    ['refused, unlike the group', { ...host('odd', a, b, c), ...refused }, 'odd: 3 changes'],
    ['with more changes than the group has', host('odd', a, b, c, d, d), 'odd: 5 changes'],
    ['with one more', host('odd', a, b, c), 'odd: as one, and 1 more change'],
    ['with two more, before and between', host('odd', c, a, d, b), 'odd: as one, and 2 more changes'],
    ['with one of the changes twice', host('odd', a, b, b), 'odd: as one, and 1 more change'],
  ])('shows a host %s as the group only if nothing is left out', (_, odd, expected) => {
    expect(text(plan(host('one', a, b), host('two', a, b), odd))).toContain(expected);
  });

  it('compares with the group that lacks least, and to the letter if scripts are shown', () => {
    const hosts = [host('one', a, b), host('two', a, b), host('three', b, c, d), host('odd', a, b, c, d)];
    expect(text(plan(...hosts))).toContain('odd: as three, and 1 more change\n  + docker   do a\n');
    const own = (name: string) => ({ ...a, title: `write ${name}.conf` });
    const named = [host('one', own('one'), b), host('odd', own('odd'), b, c)];
    expect(text(plan(...named))).toContain('odd: as one, and 1 more change');
    expect(text(plan(...named), true)).toContain('odd: 3 changes');
  });

  it('reports no changes in one line', () => {
    expect(text(plan(host('one'), host('two')))).toBe('No changes: 2 hosts up to date.\n');
  });
});

describe('hosts and pools that could not be read', () => {
  const unread = (read: FleetPlan, hosts: number, ...pools: string[]) =>
    planText(read, { scripts: false, color: false, unread: { hosts, pools } });

  it('are counted separately', () => {
    expect(unread(plan(host('one')), 1)).toBe('No changes: 1 host up to date, 1 host unreachable.\n');
    expect(unread(plan(host('one', change('a'))), 2, 'big')).toContain(
      'Changes: 1 on 1 host, 2 hosts unreachable, the pool big cannot be used.\n',
    );
  });

  it('are reported as "No plan" if no host could be read', () => {
    expect(unread(plan(), 3, 'big', 'small')).toBe(
      'No plan: 3 hosts unreachable, the pools big, small cannot be used.\n',
    );
  });
});

describe('the details of a change', () => {
  const agents = (name: string) => ({
    ...change('agents', { step: 'manager' }),
    title: "write the manager's configuration",
    why: 'differs from the inventory',
    marker: 'change' as const,
    details: [
      { marker: 'change' as const, text: 'agents: 1 → 2', effect: `registers ${name}-1` },
      {
        marker: 'remove' as const,
        text: 'capabilities: a.long.name = a value that is long enough to reach the margin',
      },
    ],
  });

  it('are listed below it, wrapped, with the marker of their kind', () => {
    const reboot = { ...change('reboot', { reboot: true, disturbs: 'machine' }), marker: 'change' as const };
    expect(text(plan(host('h200', agents('h200'), reboot)))).toBe(`h200: 2 changes
  ~ manager  write the manager's configuration
             differs from the inventory
             ~ agents: 1 → 2
                 registers h200-1
             - capabilities: a.long.name = a value that is long enough to reach
               the margin
  ! docker   do reboot
             reboot is missing
             interrupts the whole machine; drains agents first

Changes: 2 on 1 host, 1 host to be rebooted.
`);
  });

  it('must be equal in a group of hosts; host names may differ', () => {
    const shown = text(
      plan(
        host('gpu-1', agents('gpu-1')),
        host('gpu-2', agents('gpu-2')),
        host('gpu-3', agents('another')),
        host('gpu-4', { ...change('x'), marker: 'remove' }),
        host('gpu-5', change('x')),
      ),
    );
    expect(shown).toContain('2 hosts: the same 1 change (gpu-1, gpu-2)');
    expect(shown).toContain('registers {host}-1\n');
    expect(shown).toContain('gpu-3: 1 change\n');
    expect(shown).toContain('registers another-1\n');
    expect(shown).toContain('gpu-4: 1 change\n  - docker');
    expect(shown).toContain('gpu-5: 1 change\n  + docker');
  });

  it('are compared exactly if scripts are shown', () => {
    const shown = text(plan(host('gpu-1', agents('gpu-1')), host('gpu-2', agents('gpu-2'))), true);
    expect(shown).toContain('gpu-2: 1 change');
    expect(shown).toContain('registers gpu-1-1\n');
  });

  it('have a colour by kind', () => {
    const colored = planText(plan(host('a', agents('a'), change('r', { reboot: true }), shape('toolkit'))), {
      scripts: false,
      color: true,
    });
    for (const sign of [
      '\u001B[33m~\u001B[39m',
      '\u001B[31m-\u001B[39m',
      '\u001B[36m?\u001B[39m',
      '\u001B[1m\u001B[35m!',
    ])
      expect(colored).toContain(sign);
  });

  it('are escaped if they come from a file', () => {
    const evil = { marker: 'add' as const, text: 'a\n  + docker   forged\u001B[2J', effect: 'b\nc' };
    const shown = text(plan(host('a', { ...change('x'), details: [evil] })));
    expect(shown).toContain('             + a   + docker   forged\n                 b c\n');
  });
});
