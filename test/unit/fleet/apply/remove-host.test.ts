// Removing a host's manager waits for its jobs like any change; its agents are not checked afterwards.
import { describe, expect, it } from 'vitest';

import { applyHost } from '../../../../src/fleet/apply/apply-host.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
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

  const train = {
    pool: 'gpu',
    agent: 'h200-1-0',
    request: { requestId: 7, jobName: 'train', lockedUntil: '2026-11-21T12:10:00Z' },
  };
  /** Counts the job `looks` times. */
  const counting = (looks: number, wait: boolean) => {
    let left = looks;
    return { counted: { wait, read: () => Promise.resolve((left -= 1) >= 0 ? [train] : []) } };
  };

  it('asks Azure DevOps before the first change: a counted job leaves the host as it was', async () => {
    const fake = await host([stop, deregister]);
    expect(await remove(fake, counting(Infinity, false))).toMatchObject({
      state: 'failed',
      changes: 0,
      problem: {
        code: 'remove.agent-busy',
        host: 'h200-1',
        what: expect.stringMatching(
          /job train .* agent h200-1-0; it gives it up at 2026-11-21T12:15:00Z; nothing was changed/,
        ) as string,
      },
    });
    expect(done(fake)).toEqual(['lock', 'drain', 'undrain', 'unlock']);
  });

  it('also if Azure DevOps cannot be asked', async () => {
    const fake = await host([stop, deregister]);
    const read = () => Promise.reject(new FleetError({ code: 'azure.unreachable', what: 'no answer' }));
    const outcome = await remove(fake, { counted: { wait: true, read } });
    expect(outcome).toMatchObject({ state: 'failed', changes: 0, problem: { what: 'no answer' } });
    expect(done(fake)).toEqual(['lock', 'drain', 'undrain', 'unlock']);
  });

  it.each([
    ['a job that has just ended', 3, false],
    ['with --wait, a job of an agent that has ended', 4, true],
  ])('waits until the server has no more %s', async (_, looks, wait) => {
    const fake = await host([stop, deregister]);
    const deregistered = () => {
      fake.pending = [stop];
      return Promise.resolve([]);
    };
    const outcome = await remove(fake, { ...counting(looks, wait), deregister: deregistered });
    expect(outcome).toMatchObject({ state: 'changed', changes: 2 });
    expect(done(fake).slice(0, 3)).toEqual(['lock', 'drain', 'stop']);
    expect(notes(fake)).toEqual([expect.stringContaining('the server still counts job train')]);
  });

  it('names what stays in the pool', async () => {
    const fake = await host([stop, deregister]);
    await remove(fake, { deregister: () => Promise.resolve(['agent h200-1-0 stays']) });
    expect(notes(fake)).toEqual(['agent h200-1-0 stays']);
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
