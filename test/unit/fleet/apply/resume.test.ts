import { expect, it } from 'vitest';

import {
  agentsAfter,
  noWorkLeft,
  type AgentsAfter,
  type WorkLeft,
} from '../../../../src/fleet/apply/resume.ts';
import { surveyHosts } from '../../../../src/fleet/apply/survey.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { desiredOf, merge } from '../../../support/host.ts';
import { change } from '../plan/changes.ts';
import { FakeHost } from './fake-fleet.ts';

// Changes of an earlier run that still run when a run reads the host.

const { host } = desiredOf();
const survey = (fake: FakeHost, follow: boolean) => surveyHosts([host], fake.tools(), { follow });
const notes = ({ events }: FakeHost) =>
  events.flatMap((event) => (event.kind === 'note' ? [event.text] : []));

it('waits for a running change under the lock, and plans with its result', async () => {
  const fake = new FakeHost([change('driver'), change('docker')]);
  fake.begin('driver');
  const { hosts } = await survey(fake, true);
  expect(fake.log).toEqual(['lock', 'follow driver', 'unlock']);
  expect(hosts.map(({ plan }) => plan.stages.flat().map(({ title }) => title))).toEqual([['do docker']]);
  expect(fake.events).toContainEqual(
    expect.objectContaining({ kind: 'change-end', ok: true, resumed: true }),
  );
});

it('waits for a change whose run had its lock broken', async () => {
  const fake = new FakeHost([change('driver'), change('docker')]);
  fake.begin('driver');
  await surveyHosts([host], fake.tools({ breakLock: true }), { follow: true });
  expect(fake.log).toEqual(['lock', 'follow driver', 'unlock']);
});

it('leaves a change alone whose run still holds the lock', async () => {
  const fake = new FakeHost([change('driver')]);
  fake.begin('driver');
  fake.lockedBy = new FleetError({ code: 'ssh.locked', what: 'bob@desk is working on this host' });
  const { hosts, failures } = await survey(fake, true);
  expect(hosts).toEqual([]);
  expect(failures).toMatchObject([{ state: 'failed', problem: { code: 'ssh.locked' } }]);
  expect(fake.log).toEqual([]);
});

it('only notes a running change without `follow`', async () => {
  const fake = new FakeHost([change('driver')]);
  fake.begin('driver');
  await survey(fake, false);
  expect(fake.log).toEqual([]);
  expect(notes(fake)).toEqual([
    '"do driver", started by ann@laptop, runs on the host: its result is not shown yet',
  ]);
});

it.each([true, false])(
  'reports that it is unknown whether a change still runs (follow: %s)',
  async (follow) => {
    const fake = new FakeHost([change('driver')]);
    fake.facts = merge(fake.facts, { unknown: [{ fact: 'changes', why: 'no answer in 5 s' }] });
    const { hosts } = await survey(fake, follow);
    expect(notes(fake)).toEqual([
      'whether a change of an earlier run still runs on the host is unknown: facts incomplete: changes (no answer in 5 s)',
    ]);
    expect(hosts).toMatchObject([{ plan: { stages: [], refusals: [{ step: 'facts' }] } }]);
  },
);

it('Ctrl-C while it waits leaves the change running and names it', async () => {
  const fake = new FakeHost([change('driver')]);
  fake.begin('driver');
  fake.onRun = () => {
    fake.stop.abort();
    throw new Error('aborted');
  };
  await expect(survey(fake, true)).rejects.toThrow('aborted');
  expect(fake.log).toEqual(['lock', 'follow driver', 'unlock']);
  expect(notes(fake).at(-1)).toBe(
    '"do driver" continues on the host as azp-fleet-change-driver.service; run again to follow it',
  );
});

const running: WorkLeft = {
  kind: 'change',
  change: { id: 'driver-1', title: 'install driver', owner: 'ann@laptop', state: 'running', code: undefined },
};
const unknown: WorkLeft = { kind: 'unknown' };
const others: WorkLeft = { kind: 'other-run' };

it.each<[string, WorkLeft, boolean, boolean, AgentsAfter['agents']]>([
  ['nothing was begun', noWorkLeft, false, false, 'enable'],
  ['nothing was begun, and Ctrl-C', noWorkLeft, false, true, 'enable'],
  ['a change has failed', noWorkLeft, true, false, 'enable-if-healthy'],
  ['Ctrl-C after a change', noWorkLeft, true, true, 'keep-drained'],
  ['a change still runs', running, true, false, 'keep-drained'],
  ['a change still runs after Ctrl-C', running, true, true, 'keep-drained'],
  ['a change of another run still runs', running, false, false, 'keep-drained'],
  ['what still runs is unknown', unknown, true, false, 'keep-drained'],
  ['what still runs is unknown, and Ctrl-C', unknown, true, true, 'keep-drained'],
  ['nothing was begun, and the host cannot be read', unknown, false, false, 'enable'],
  ['another run has the lock', others, true, false, 'leave'],
  ['another run has the lock, and Ctrl-C', others, false, true, 'leave'],
])('%s', (_, workLeft, begun, interrupted, agents) => {
  expect(agentsAfter({ workLeft, begun, interrupted }).agents).toBe(agents);
});

it('keeps the agents drained after a failed change that cannot be undone, if one was begun', () => {
  const end = { workLeft: noWorkLeft, interrupted: false, staysDrained: true } as const;
  expect([true, false].map((begun) => agentsAfter({ ...end, begun }).agents)).toEqual([
    'keep-drained',
    'enable',
  ]);
});
