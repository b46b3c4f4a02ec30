// When drained agents take jobs again.
import { describe, expect, it } from 'vitest';

import { applyHost, finishHost } from '../../../../src/fleet/apply/apply-host.ts';
import type { Proof } from '../../../../src/fleet/apply/drain.ts';
import { merge } from '../../../support/host.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { change } from '../plan/changes.ts';
import { apply, at, broken, done, healthy, host, left, notes, reboot, restart } from './drained-host.ts';

describe('agents that were drained for a change', () => {
  it('take jobs again after the probe and before they are checked, all under the lock', async () => {
    const fake = await host([restart]);
    expect(await apply(fake, healthy)).toEqual({
      host: 'h200-1',
      state: 'changed',
      changes: 1,
      verdict: healthy,
    });
    expect(done(fake)).toEqual(['lock', 'drain', 'restart', 'probe', 'undrain', 'agents', 'unlock']);
  });

  it('stay drained after a reboot if the probe fails, with that reason in drain and verdict', async () => {
    const fake = await host([reboot]);
    const { verdict } = await apply(fake, broken);
    expect(verdict).toEqual({
      state: 'failed',
      cause: 'no GPU is seen; its agents stay drained',
      next: 'look at its kernel log; then run "azp-fleet provision h200-1": it proves the host and enables its agents again',
    });
    expect(done(fake)).not.toContain('undrain');
    expect(fake.log.findLast((line) => line.startsWith('POST'))).toBe(
      'POST /v1/drain {"owner":"ann@laptop","run":"run-1","command":"provision","reason":"do reboot; still drained: no GPU is seen"}',
    );
    expect(notes(fake)).toEqual(['its agents stay drained: no GPU is seen']);
  });

  it('are drained again where nothing is undone, if the host fails after they were enabled', async () => {
    const late: Proof = {
      probe: () => Promise.resolve(healthy),
      prove: async (enableAgents) => {
        await enableAgents();
        return { state: 'failed', cause: 'agent h200-1-0 is offline', next: 'look' };
      },
    };
    for (const [staysDrained, last] of [
      [{ staysDrained: true }, 'drain'],
      [{}, 'undrain'],
    ] as const) {
      const fake = await host([restart]);
      await applyHost(fake.survey(), fake.tools(), { exactFacts: false, proof: late, ...staysDrained });
      expect(done(fake).findLast((line) => line.endsWith('drain'))).toBe(last);
    }
  });

  it('stay drained after a failed change where nothing is undone, even if the GPUs work', async () => {
    const fake = await host([restart]);
    fake.onRun = () => ({ code: 1, tail: 'no space left' });
    const proof: Proof = {
      probe: () => Promise.resolve(healthy),
      prove: () => Promise.resolve(healthy),
    };
    const options = { exactFacts: false, proof, staysDrained: true } as const;
    expect(await applyHost(fake.survey(), fake.tools(), options)).toMatchObject({ state: 'failed' });
    expect(done(fake)).not.toContain('undrain');
    expect(notes(fake).at(-1)).toBe('its agents stay drained: a change failed and cannot be undone');
  });

  it('stay drained where it is unknown whether a change of the interrupted run still runs', async () => {
    const fake = await host([], [left]);
    fake.facts = merge(fake.facts, { unknown: [{ fact: 'changes', why: 'no answer in 5 s' }] });
    const outcome = await apply(fake, healthy);
    expect(done(fake)).toEqual(['lock', 'unlock']);
    expect(outcome).toMatchObject({
      state: 'failed',
      problem: { code: 'facts.incomplete', what: 'facts incomplete: changes (no answer in 5 s)' },
    });
  });

  it.each([
    ['succeeds', healthy, ['lock', 'drain', 'restart', 'probe', 'undrain', 'unlock']],
    ['fails', broken, ['lock', 'drain', 'restart', 'probe', 'drain', 'unlock']],
  ])('after a failed change depend on the probe, which %s', async (_, verdict, expected) => {
    const fake = await host([restart]);
    fake.onRun = () => ({ code: 1, tail: 'no space left' });
    const outcome = await apply(fake, verdict);
    expect(outcome).toMatchObject({ state: 'failed', changes: 0, problem: { code: 'change.failed' } });
    expect(outcome.verdict?.cause).toBe(
      verdict === broken ? 'no GPU is seen; its agents stay drained' : undefined,
    );
    expect(done(fake)).toEqual(expected);
  });

  it('take jobs again on the image from before when the new one cannot be built; the run fails with the cause', async () => {
    const start = {
      ...restart,
      actions: [{ kind: 'await-manager', configHash: 'new', timeoutS: 60 }],
    } as const;
    const fake = await host([start]);
    const image = { state: 'failed', digest: 'sha256:old', cause: 'no route to the registry' } as const;
    fake.status = managerStatus({ configHash: 'new', image, images: [{ ...image, slots: ['0'] }] });
    const outcome = await apply(fake, healthy);
    expect(outcome).toMatchObject({
      state: 'failed',
      problem: {
        code: 'image.failed',
        seen: 'no route to the registry',
        next: 'fix the cause and run again; agents continue with the existing image',
      },
    });
    expect(done(fake)).toEqual(['lock', 'drain', 'probe', 'undrain', 'unlock']);
  });

  it('take jobs again if no change was begun', async () => {
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

  it('stay drained after Ctrl-C during a change', async () => {
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

  it('stay drained after Ctrl-C during the proof', async () => {
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

describe('agents that an earlier run left drained', () => {
  it('are enabled when the host is proven, and not before', async () => {
    const fake = await host([], [left]);
    expect(await apply(fake, healthy)).toMatchObject({ state: 'ok', verdict: healthy });
    expect(done(fake)).toEqual(['lock', 'drain', 'probe', 'undrain', 'agents', 'unlock']);
    expect(notes(fake)[0]).toBe(
      'takes over from an interrupted run: whole host drained by run run-0 of bob@laptop: driver, since 2026-11-21 12:00 UTC',
    );
  });

  const byReboot = { ...left, command: 'reboot' };
  const restored = 'POST /v1/drain {"reason":"driver","owner":"bob@laptop","run":"run-0","command":"reboot"}';

  it('by another command are left so: nothing is drained, proven or enabled', async () => {
    const fake = await host([], [byReboot]);
    const proof = { probe: () => Promise.resolve(healthy), prove: () => Promise.resolve(healthy) };
    const outcome = await finishHost(fake.survey(), fake.tools(), { exactFacts: false, proof });
    expect(outcome).toMatchObject({ state: 'ok', changes: 0, verdict: healthy });
    expect(done(fake)).toEqual([]);
  });

  it('by another command stay so after a change: their drain is restored', async () => {
    const fake = await host([restart], [byReboot]);
    await apply(fake, healthy);
    expect(done(fake)).toEqual(['lock', 'drain', 'restart', 'probe', 'drain', 'agents', 'unlock']);
    expect(fake.log).toContain(restored);
    expect(notes(fake)).toEqual([
      'its agents stay drained: run "azp-fleet reboot h200-1": it checks the host and enables its agents again (or run "azp-fleet undrain h200-1")',
    ]);
  });

  it('by another command stay so if the drain of this run times out', async () => {
    const fake = await host([restart], [byReboot]);
    fake.status = managerStatus({
      drains: [byReboot],
      slots: [{ slot: '0', agent: 'a', state: 'busy', gpus: [], pool: 'p', since: at, jobsRun: 0 }],
    });
    expect(await apply(fake, healthy)).toMatchObject({ state: 'failed', untouched: true });
    expect(done(fake)).toEqual(['lock', 'drain', 'drain', 'unlock']);
    expect(fake.log).toContain(restored);
  });

  it('by the same command are resumed', async () => {
    const fake = await host([], [{ ...left, command: 'provision' }]);
    expect(await apply(fake, healthy)).toMatchObject({ state: 'ok', verdict: healthy });
    expect(done(fake)).toEqual(['lock', 'drain', 'probe', 'undrain', 'agents', 'unlock']);
  });

  it('stay drained if the proof fails', async () => {
    const fake = await host([], [left]);
    expect(await apply(fake, broken)).toMatchObject({ verdict: { state: 'failed' } });
    expect(done(fake)).toEqual(['lock', 'drain', 'probe', 'agents', 'drain', 'unlock']);
  });

  it('stay drained during the remaining changes', async () => {
    const fake = await host([change('config')], [left]);
    await apply(fake, healthy);
    expect(done(fake)).toEqual(['lock', 'drain', 'config', 'probe', 'undrain', 'agents', 'unlock']);
  });

  it('are taken over when the manager reports them only after its start', async () => {
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
