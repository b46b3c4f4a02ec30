import { describe, expect, it } from 'vitest';

import type { FleetPlan, HostPlan } from '../../../src/plan/fleet-plan.ts';
import { outcomeText } from '../../../src/render/outcome.ts';
import { planText } from '../../../src/render/plan.ts';
import { change, shape } from '../plan/changes.ts';

const host = (name: string, ...stage: HostPlan['stages'][number]): HostPlan => ({
  host: name,
  factsDigest: name,
  stages: stage.length === 0 ? [] : [stage],
  refusals: [],
});
const plan = (...hosts: HostPlan[]): FleetPlan => ({
  schema: 1,
  version: '0.1.0',
  at: '',
  inventory: '',
  inventoryDigest: '',
  fleet: [],
  hosts,
});
const text = (fleetPlan: FleetPlan, scripts = false) => planText(fleetPlan, { scripts, color: false });

describe('the plan as text', () => {
  it('says once what several steps refuse alike', () => {
    const what = 'Debian 11 on x86_64 is not supported';
    const refuse = (step: 'driver' | 'docker' | 'toolkit') => ({ step, what, next: 'use Debian 12' });
    const shown = text(
      plan({
        ...host('old'),
        refusals: [
          refuse('driver'),
          refuse('docker'),
          { step: 'docker', what: 'podman is there', next: 'remove it' },
          refuse('toolkit'),
        ],
      }),
    );
    expect(shown).toContain(`  ✗ driver, docker, toolkit ${what}
             next: use Debian 12
  ✗ docker   podman is there
             next: remove it
`);
    expect(shown.split(what)).toHaveLength(2);
  });

  it('shows equal hosts once, the others below, and what is to be said of each change', () => {
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
             disturbs running containers: our agents are drained first

odd: 2 changes
  + docker   do a
             a is missing
  ? toolkit  whatever toolkit needs
             not known before "driver" has run; at most this
             for a moment no container can start; running jobs go on

stuck: 0 changes
  ✗ driver   a runfile driver is installed
             next: remove it

Changes: 1 in Azure DevOps, 6 on 3 hosts, 1 host refused, 1 host as wanted.
`);
  });

  it('shows every line that would run as root when asked', () => {
    const durable = {
      ...change('a'),
      actions: [{ kind: 'run' as const, script: 'apt-get update\n', durable: true, timeoutS: 60 }],
    };
    expect(text(plan(host('one', durable)), true)).toContain(
      '│ run as a systemd unit, at most 60 s:\n             │   apt-get update',
    );
  });

  it('says in one line that there is nothing to do', () => {
    expect(text(plan(host('one'), host('two')))).toBe('No changes: 2 hosts as wanted.\n');
  });
});

describe('what could not be read', () => {
  const unread = (read: FleetPlan, hosts: number, ...pools: string[]) =>
    planText(read, { scripts: false, color: false, unread: { hosts, pools } });

  it('is counted beside what was', () => {
    expect(unread(plan(host('one')), 1)).toBe('No changes: 1 host as wanted, 1 host could not be read.\n');
    expect(unread(plan(host('one', change('a'))), 2, 'big')).toContain(
      'Changes: 1 on 1 host, 2 hosts could not be read, the pool big could not be read.\n',
    );
  });

  it('is no plan without changes where it is everything', () => {
    expect(unread(plan(), 3, 'big', 'small')).toBe(
      'Nothing is known: 3 hosts could not be read, the pools big, small could not be read.\n',
    );
  });
});

describe('the result as text', () => {
  it('names every host, what needs attention last', () => {
    const healthy = { state: 'healthy', cause: '', next: '' } as const;
    expect(
      outcomeText(
        [
          {
            host: 'down',
            state: 'unreachable',
            changes: 0,
            problem: { code: 'ssh.timeout', what: 'no answer within 10 s' },
          },
          {
            host: 'b',
            state: 'changed',
            changes: 1,
            verdict: { state: 'degraded', cause: 'persistence mode is off', next: 'switch it on' },
          },
          { host: 'a', state: 'ok', changes: 0, verdict: healthy },
          { host: 'c', state: 'failed', changes: 2, problem: { code: 'x', what: 'no room' } },
        ],
        false,
      ),
    ).toBe(`a     healthy      no changes
b     degraded     1 change; persistence mode is off; next: switch it on
down  unreachable  no answer within 10 s
c     failed       2 changes, then: no room

4 hosts: 1 unreachable, 1 degraded, 1 healthy, 1 failed
`);
  });

  it('says "no changes" for a fleet that was as wanted', () => {
    expect(outcomeText([{ host: 'a', state: 'ok', changes: 0 }], false)).toContain(
      '1 host: 1 ok · no changes',
    );
  });
});
