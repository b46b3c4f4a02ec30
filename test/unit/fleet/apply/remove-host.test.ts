// Removing a host's manager waits for its jobs like any change; its agents are not checked afterwards.
import { describe, expect, it } from 'vitest';

import { applyHost } from '../../../../src/fleet/apply/apply-host.ts';
import { change as describedChange } from '../../../../src/fleet/steps/change.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { change } from '../plan/changes.ts';
import { at, done, host, notes } from './drained-host.ts';

const stop = change('stop', { disturbs: 'agents' });
const deregister = describedChange(
  'pool',
  'deregister',
  { title: 'take its agents out', why: '', disturbs: 'nothing' },
  [{ kind: 'deregister', owner: 'me', pools: ['gpu'] }],
);
const remove = (fake: Awaited<ReturnType<typeof host>>, more = {}) =>
  applyHost(fake.survey(), { ...fake.tools(), ...more }, { exactFacts: false, removes: true });

describe('removing', () => {
  it('drains before the first change, and enables no agents after the last', async () => {
    const fake = await host([stop]);
    expect(await remove(fake)).toMatchObject({ state: 'changed', changes: 1 });
    expect(done(fake)).toEqual(['lock', 'drain', 'stop', 'unlock']);
    expect(notes(fake)).toEqual([]);
  });

  it('changes nothing, and enables the agents, if a job does not end in time', async () => {
    const fake = await host([stop]);
    fake.status = managerStatus({
      drains: [],
      slots: [
        {
          slot: '0',
          agent: 'a',
          state: 'busy',
          gpus: [],
          pool: 'gpu-lab',
          since: at,
          jobsRun: 0,
        },
      ],
    });
    expect(await remove(fake)).toMatchObject({ state: 'failed', problem: { code: 'plan.drain-timeout' } });
    expect(done(fake)).toEqual(['lock', 'drain', 'undrain', 'unlock']);
  });

  it('waits for the end of a change of an earlier run before its first change', async () => {
    const fake = await host([stop]);
    fake.begin('driver');
    expect(await remove(fake)).toMatchObject({ state: 'changed', changes: 1 });
    expect(done(fake)).toEqual(['lock', 'follow driver', 'drain', 'stop', 'unlock']);
  });

  it('calls Azure DevOps between the changes of the host, and stops at its error', async () => {
    const asked: unknown[] = [];
    const fake = await host([stop, deregister, change('files')]);
    const outcome = await remove(fake, {
      deregister: (action: unknown) => {
        asked.push(action);
        return Promise.reject(new Error('a job runs'));
      },
    });
    expect(outcome).toMatchObject({ state: 'failed', changes: 1 });
    expect(asked).toEqual([{ kind: 'deregister', owner: 'me', pools: ['gpu'] }]);
    expect(done(fake)).toEqual(['lock', 'drain', 'stop', 'unlock']);
    expect(notes(fake)).toEqual([]);
  });
});
