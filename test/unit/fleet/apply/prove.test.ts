import { describe, expect, it, afterEach, test } from 'vitest';

import { outcomeText } from '../../../../src/cli/render/outcome.ts';
import { exitCodeOf } from '../../../../src/fleet/apply/outcome.ts';
import { proveHost, probeVerdict, waitingLine } from '../../../../src/fleet/apply/prove.ts';
import type { ImageStatus } from '../../../../src/shared/contract/status.ts';
import type { Verdict } from '../../../../src/shared/health/verdict.ts';
import { merge } from '../../../support/host.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { FakeHost } from './fake-fleet.ts';
import { before, expectOneVerdict, iso, none, online, prove, slot } from './proofs.ts';

// The final verdict of `provision` on a host, compared with that of `status`.

const exitCode = (verdict: Verdict): number =>
  exitCodeOf([{ host: 'h200-1', state: 'changed', changes: 2, verdict }]);

/** A host without GPUs whose manager has an idle slot. */
async function idleHost(): Promise<FakeHost> {
  const host = new FakeHost([]);
  host.facts = merge(host.facts, {
    gpus: [],
    docker: { active: true },
    manager: { current: 'versions/1', unitActive: 'active' },
  });
  host.status = managerStatus({ slots: [slot('0')] });
  await host.serveManager(() => undefined);
  return host;
}

describe('the old agents are online', () => {
  const held = {
    code: 'agent.name-held',
    cause: 'the pool already has an agent h200-1-0 that belongs to another host or an earlier installation',
    next: 'choose another agentName, delete the agent in the pool, or take the name over: azp-fleet adopt',
  };

  it('and the reinstalled machine may not use their name: failed at once, with the manager’s cause', async () => {
    const proof = await prove({
      manager: (ms) => ({
        slots: [
          slot('0', {
            ...none,
            since: iso(ms),
            state: ms % 2000 === 0 ? 'backing-off' : 'starting',
            ...held,
          }),
        ],
      }),
      agents: [online('0', { userCapabilities: { 'azp-fleet.owner': 'the earlier installation' } })],
    });
    expect(proof.verdict).toEqual({ state: 'failed', cause: held.cause, next: held.next });
    expect(exitCode(proof.verdict)).toBe(1);
    expect(proof.tookMs).toBe(0);
    expectOneVerdict(proof);
  });

  it('and a new dataset is missing: failed when the new agents cannot start', async () => {
    const missing = {
      code: 'dataset.unusable',
      cause: 'dataset IMAGENET: /data/imagenet is no folder that can be read',
      next: 'correct the path in the inventory, or create it',
    };
    const all = ['0', '1'];
    const proof = await prove({
      manager: (ms) => ({
        slots: all.map((name) => {
          if (ms < 3000) return slot(name, { run: before, awaySince: iso(0), since: iso(-60_000) });
          if (ms < 9000)
            return slot(name, { state: 'stopping', run: before, awaySince: iso(0), since: iso(3000) });
          return slot(name, { ...none, state: 'waiting', awaySince: iso(0), since: iso(9000), ...missing });
        }),
      }),
      agents: all.map((name) => online(name)),
    });
    expect(proof.verdict).toEqual({
      state: 'failed',
      cause: `h200-1-0, h200-1-1: ${missing.cause}`,
      next: missing.next,
    });
    expect(exitCode(proof.verdict)).toBe(1);
    expect(proof.tookMs).toBe(9000);
    expect(proof.progress).toEqual([
      'waiting for h200-1-0, h200-1-1: its agent runs with the configuration before the last change',
      'waiting for h200-1-0, h200-1-1: is still being stopped',
    ]);
    expectOneVerdict(proof);
  });

  it('or only their sessions are: failed, although each attempt changes the state', async () => {
    const conflict = {
      code: 'agent.session-conflict',
      cause: 'the server still holds a session of this agent',
      next: 'wait 5 minutes for it to expire',
    };
    const tries = ['starting', 'stopping', 'waiting', 'starting', 'backing-off'] as const;
    const proof = await prove({
      manager: (ms) => ({
        slots: ['0', '1'].map((name) =>
          slot(name, {
            state: tries[(ms / 1000) % tries.length] ?? 'starting',
            since: iso(ms),
            awaySince: iso(-2000),
            ...conflict,
          }),
        ),
      }),
      agents: [online('0'), online('1')],
    });
    expect(proof.verdict).toEqual({
      state: 'failed',
      cause: `h200-1-0, h200-1-1: ${conflict.cause}`,
      next: conflict.next,
    });
    expect(exitCode(proof.verdict)).toBe(1);
    expect(proof.tookMs).toBeLessThanOrEqual(120_000);
    expect(proof.progress).toEqual([`waiting for h200-1-0, h200-1-1: ${conflict.cause}`]);
    expectOneVerdict(proof);
    // status shows it at any time, not only in the end.
    expect(proof.row.local).toMatchObject({ ready: 0, wanted: 2 });
  });
});

describe('a proof', () => {
  it('ends at once if the new agents are online', async () => {
    const proof = await prove({ manager: () => ({ slots: [slot('0')] }), agents: [online('0')] });
    expect(proof).toMatchObject({ verdict: { state: 'healthy', cause: '', next: '' }, tookMs: 0 });
    expectOneVerdict(proof);
  });

  const failedImage = { state: 'failed', cause: 'the driver does not report its CUDA version' } as const;
  const withImage = (image: ImageStatus) => ({
    image,
    images: [{ ...image, slots: ['0'] }],
    slots: [slot('0')],
  });

  it('waits for another look for an image that had failed before it: its cause may be repaired', async () => {
    const proof = await prove({
      manager: (ms) => withImage(ms < 15_000 ? failedImage : { state: 'ready', digest: 'sha256:new' }),
      agents: [online('0')],
    });
    expect(proof).toMatchObject({ verdict: { state: 'healthy' }, tookMs: 15_000 });
    expect(proof.progress).toEqual([
      'waiting for the manager: its agent image had failed, and it looks for it again',
    ]);
    expectOneVerdict(proof);
  });

  it('fails if that look fails too', async () => {
    const proof = await prove({ manager: () => withImage(failedImage), agents: [online('0')] });
    expect(proof).toMatchObject({ verdict: { state: 'failed' }, tookMs: 30_000 });
    expectOneVerdict(proof);
  });

  it('waits until a manager that has just started has chosen its image, and fails with the image’s cause', async () => {
    const failed = { state: 'failed', digest: 'sha256:old', cause: 'no route to the registry' } as const;
    const proof = await prove({
      manager: (ms) => {
        const image = ms < 3000 ? ({ state: 'missing' } as const) : failed;
        return { image, images: [{ ...image, slots: ['0'] }], slots: [slot('0')] };
      },
      agents: [online('0')],
    });
    expect(proof.verdict).toEqual({
      state: 'failed',
      cause: 'the agent image failed: no route to the registry; agents continue with the previous one',
      next: 'check `azp-fleet image which h200-1` and `journalctl -u azp-fleet-manager` on the host',
    });
    expect(proof.tookMs).toBe(3000);
    expectOneVerdict(proof);
  });

  it('waits for the new agents and names them', async () => {
    const proof = await prove({
      manager: (ms) => ({
        slots: [
          slot('0'),
          ms < 5000 ? slot('1', { ...none, state: 'starting', awaySince: iso(-1000) }) : slot('1'),
        ],
      }),
      agents: [online('0'), online('1')],
    });
    expect(proof).toMatchObject({ verdict: { state: 'healthy' }, tookMs: 5000 });
    expect(proof.progress).toEqual(['waiting for h200-1-1: is still starting']);
    expectOneVerdict(proof);
  });

  it('does not wait for the end of a job that began before, and names it', async () => {
    const busy = slot('0', { state: 'busy', job: 'train', run: before, awaySince: iso(0) });
    const proof = await prove({
      manager: () => ({ slots: [busy, slot('1')] }),
      agents: [online('0'), online('1')],
    });
    const note = 'running a job from before the last change: h200-1-0 (train)';
    expect(proof).toMatchObject({ verdict: { state: 'healthy', note }, tookMs: 0, notes: [note] });
    expectOneVerdict(proof);
    const outcome = { host: 'h200-1', state: 'changed', changes: 2, verdict: proof.verdict } as const;
    expect(outcomeText([outcome], { color: false, width: 200 })).toContain(
      `h200-1  healthy      2 changes; ${note}`,
    );
  });

  it('over a user’s drain ends at once, and names the drain', async () => {
    const disabled = { 'azp-fleet.owner': 'us', 'azp-fleet.disabled': 'drained by ann: disk swap' };
    const proof = await prove({
      manager: () => ({
        drained: true,
        drains: [{ reason: 'disk swap', at: '2026-11-20T09:30:00Z', owner: 'ann' }],
        slots: [
          slot('0', { state: 'busy', since: iso(-3_600_000) }),
          slot('1', { ...none, state: 'drained', code: 'drained' }),
        ],
      }),
      agents: ['0', '1'].map((name) => online(name, { enabled: false, userCapabilities: disabled })),
    });
    const note = 'drained by ann: disk swap, since 2026-11-20 09:30 UTC';
    expect(proof).toMatchObject({ verdict: { state: 'healthy', note }, tookMs: 0, notes: [note] });
    expect(exitCode(proof.verdict)).toBe(0);
    expectOneVerdict(proof);
  });

  it('is not undone by an agent that is between two jobs when another is ready', async () => {
    const proof = await prove({
      manager: (ms) => ({
        slots: ['0', '1'].map((name, index) =>
          // Never both are ready at once.
          (ms / 1000) % 2 === index
            ? slot(name, { state: 'starting', awaySince: iso(ms - 500) })
            : slot(name),
        ),
      }),
      agents: [online('0'), online('1')],
    });
    expect(proof).toMatchObject({ verdict: { state: 'healthy' }, tookMs: 1000 });
  });

  it('fails while the manager runs with the configuration before', async () => {
    const proof = await prove({
      manager: () => ({ slots: [slot('0')] }),
      agents: [online('0')],
      written: 'the new one',
    });
    expect(proof.verdict).toMatchObject({
      state: 'failed',
      cause: 'the manager runs with the configuration before the last change',
    });
    expect(proof.tookMs).toBeLessThanOrEqual(120_000);
    expectOneVerdict(proof);
  });

  it('ends with degraded if the manager does not report its agents’ configuration', async () => {
    const proof = await prove({
      manager: () => ({ version: '0.2.0', slots: [slot('0', none)] }),
      agents: [online('0')],
    });
    expect(proof).toMatchObject({
      verdict: {
        state: 'degraded',
        cause: expect.stringMatching(/^h200-1-0: unknown whether .*\(0\.2\.0\)/u) as string,
      },
      tookMs: 0,
    });
    expectOneVerdict(proof);
  });

  it('without Azure DevOps says that it was not asked', async () => {
    const host = await idleHost();
    expect(await proveHost(host.survey(), undefined, host.tools())).toEqual({
      azureAsked: false,
      state: 'healthy',
      cause: '',
      next: '',
    });
    host.close();
  });

  it('judges by the facts as they are now, also where nothing was changed', async () => {
    const host = await idleHost();
    const survey = host.survey();
    host.facts = merge(host.facts, { docker: { active: false } });
    expect(await proveHost(survey, undefined, host.tools())).toMatchObject({
      state: 'failed',
      cause: 'the Docker Engine is not running',
    });
    host.close();
  });
});

describe('the probe', () => {
  let host: FakeHost;
  afterEach(() => host.close());

  it('succeeds on a host without GPUs, whatever its agents do', async () => {
    host = new FakeHost([]);
    host.facts = merge(host.facts, { gpus: [] });
    host.status = managerStatus({ problems: [{ code: 'azure.auth', what: 'refused', next: 'renew' }] });
    await host.serveManager(() => undefined);
    expect(await probeVerdict(host.survey(), host.tools())).toMatchObject({ state: 'healthy' });
  });

  it('has the error that prevents it as the verdict', async () => {
    host = new FakeHost([]);
    await host.serveManager(() => undefined);
    host.refuses = true;
    expect(await probeVerdict(host.survey(), host.tools())).toMatchObject({
      state: 'failed',
      cause: expect.stringContaining('the manager answered 500') as string,
      next: expect.stringContaining('journalctl') as string,
    });
  });
});

const wait = (who: string, why: string) => ({ who, why, reported: false });

test.each([
  [[wait('h1-0', 'is still starting')], 'waiting for h1-0: is still starting'],
  [
    [wait('h1-0', 'is still starting'), wait('h1-1', 'is still starting')],
    'waiting for h1-0, h1-1: is still starting',
  ],
  [
    [wait('h1-0', 'job 7 is still assigned to agent h1-0'), wait('h1-1', 'is still starting')],
    'waiting for h1-0: job 7 is still assigned to agent h1-0; h1-1: is still starting',
  ],
  [[wait('a', 'x'), wait('b', 'y'), wait('c', 'z'), wait('d', 'w')], 'waiting for a: x; b: y; and 2 more'],
  [
    ['0', '1', '2', '3'].map((name) => wait(`h1-${name}`, 'is still starting')),
    'waiting for h1-[0-3]: is still starting',
  ],
])('%o', (waiting, line) => {
  expect(waitingLine(waiting)).toBe(line);
});

test.each(['gpus', 'docker'])('agents are not enabled by a probe for which %s was not read', async (fact) => {
  const host = await idleHost();
  host.facts = merge(host.facts, { unknown: [{ fact, why: 'no answer in 5 s' }] });
  let isEnabled = false;
  const verdict = await proveHost(host.survey(), undefined, host.tools(), () => {
    isEnabled = true;
    return Promise.resolve();
  });
  host.close();
  expect(isEnabled).toBe(false);
  expect(verdict).toMatchObject({ state: 'failed', cause: `facts incomplete: ${fact} (no answer in 5 s)` });
});
