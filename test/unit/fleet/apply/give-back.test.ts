// When agents that were drained for a change take jobs again.
import { describe, expect, it } from 'vitest';

import { applyHost } from '../../../../src/fleet/apply/apply-host.ts';
import { merge } from '../../../support/host.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { change } from '../plan/changes.ts';
import { apply, at, broken, done, healthy, host, left, notes, reboot, restart } from './drained-host.ts';

describe('agents that were drained for a change', () => {
  it('take jobs again after the probe and before they are looked for, all under the lock', async () => {
    const fake = await host([restart]);
    expect(await apply(fake, healthy)).toEqual({
      host: 'h200-1',
      state: 'changed',
      changes: 1,
      verdict: healthy,
    });
    expect(done(fake)).toEqual(['lock', 'drain', 'restart', 'probe', 'undrain', 'agents', 'unlock']);
  });

  it('stay drained after a reboot where the probe fails, and the mark and the verdict say so', async () => {
    const fake = await host([reboot]);
    const { verdict } = await apply(fake, broken);
    expect(verdict).toEqual({
      state: 'failed',
      cause: 'no GPU is seen; its agents stay drained',
      next: 'look at its kernel log; then run "azp-fleet provision h200-1": it proves the host and enables its agents again',
    });
    expect(done(fake)).not.toContain('undrain');
    expect(fake.log.findLast((line) => line.startsWith('POST'))).toBe(
      'POST /v1/drain {"owner":"ann@laptop","run":"run-1","reason":"do reboot; still drained: no GPU is seen"}',
    );
    expect(notes(fake)).toEqual(['its agents stay drained: no GPU is seen']);
  });

  it.each([
    ['works', healthy, ['lock', 'drain', 'restart', 'probe', 'undrain', 'unlock']],
    ['does not', broken, ['lock', 'drain', 'restart', 'probe', 'drain', 'unlock']],
  ])('after a change that failed: the probe decides, here it %s', async (_, verdict, expected) => {
    const fake = await host([restart]);
    fake.onRun = () => ({ code: 1, tail: 'no space left' });
    const outcome = await apply(fake, verdict);
    expect(outcome).toMatchObject({ state: 'failed', changes: 0, problem: { code: 'change.failed' } });
    expect(outcome.verdict?.cause).toBe(
      verdict === broken ? 'no GPU is seen; its agents stay drained' : undefined,
    );
    expect(done(fake)).toEqual(expected);
  });

  it('take jobs again where no change was begun', async () => {
    const fake = await host([restart]);
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
    expect(await apply(fake, broken)).toMatchObject({ state: 'failed', untouched: true });
    expect(done(fake)).toEqual(['lock', 'drain', 'undrain', 'unlock']);
  });

  it('stay drained where Ctrl-C came in the middle of a change', async () => {
    const fake = await host([restart]);
    fake.onRun = () => {
      fake.stop.abort();
      throw new Error('aborted');
    };
    expect(await apply(fake, healthy)).toMatchObject({ state: 'skipped', interrupted: { during: 'change' } });
    expect(done(fake)).toEqual(['lock', 'drain', 'restart', 'drain', 'unlock']);
    expect(notes(fake)).toEqual([
      'its agents stay drained: interrupted before its proof; run again to continue',
    ]);
  });

  it('stay drained where Ctrl-C came while the host was proven', async () => {
    const fake = await host([restart]);
    const prove = () => {
      fake.stop.abort();
      return Promise.reject(new Error('aborted'));
    };
    const how = { exactFacts: false, proof: { probe: prove, prove } };
    expect(await applyHost(fake.survey(), fake.tools(), how)).toMatchObject({ state: 'skipped', changes: 1 });
    expect(done(fake)).toEqual(['lock', 'drain', 'restart', 'drain', 'unlock']);
  });
});

describe('agents that an earlier run has left drained', () => {
  it('are given back when the host is proven, and not before', async () => {
    const fake = await host([], [left]);
    expect(await apply(fake, healthy)).toMatchObject({ state: 'ok', verdict: healthy });
    expect(done(fake)).toEqual(['lock', 'drain', 'probe', 'undrain', 'agents', 'unlock']);
    expect(notes(fake)[0]).toBe(
      'takes over from an interrupted run: whole host drained by run run-0 of bob@laptop: driver, since 2026-11-21 12:00 UTC',
    );
  });

  it('stay so where it cannot be', async () => {
    const fake = await host([], [left]);
    expect(await apply(fake, broken)).toMatchObject({ verdict: { state: 'failed' } });
    expect(done(fake)).toEqual(['lock', 'drain', 'probe', 'agents', 'drain', 'unlock']);
  });

  it('are kept from work while what is left to do is done', async () => {
    const fake = await host([change('config')], [left]);
    await apply(fake, healthy);
    expect(done(fake)).toEqual(['lock', 'drain', 'config', 'probe', 'undrain', 'agents', 'unlock']);
  });

  it('are taken over when the manager tells of them only once it runs', async () => {
    const fake = await host([restart]);
    fake.facts = merge(fake.facts, { manager: { unitActive: 'inactive' } });
    fake.onRun = () => {
      fake.status = managerStatus({ drained: true, drains: [left] });
      fake.facts = merge(fake.facts, { manager: { unitActive: 'active', status: fake.status } });
      return undefined;
    };
    expect(await apply(fake, healthy)).toMatchObject({ state: 'changed', verdict: healthy });
    expect(done(fake)).toEqual(['lock', 'restart', 'drain', 'probe', 'undrain', 'agents', 'unlock']);
  });
});
