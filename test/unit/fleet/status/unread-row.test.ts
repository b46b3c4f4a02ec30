// status of a host of which something was not read: unknown is said, in `--json` and in the table, and is neither "none" nor 0.
import { StillClock } from '../../../support/clock.ts';
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';

import { statusText } from '../../../../src/cli/render/status.ts';
import type { Facts, UnknownFact } from '../../../../src/fleet/facts/facts.ts';
import { probes } from '../../../../src/fleet/facts/parse.ts';
import { answerLimit } from '../../../../src/fleet/facts/probe.ts';
import { frameScript } from '../../../../src/fleet/ssh/session/frames.ts';
import type { Session } from '../../../../src/fleet/ssh/transport.ts';
import { observeHosts } from '../../../../src/fleet/status/collect.ts';
import { imageRow } from '../../../../src/fleet/status/image.ts';
import {
  type Observation,
  statusExitCode,
  statusRow,
  type StatusRow,
} from '../../../../src/fleet/status/row.ts';
import { maxAgeMs } from '../../../../src/fleet/verdict/sources.ts';
import { machineRoot } from '../../../../src/shared/base/host-root.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { merge } from '../../../support/host.ts';
import { facts, host, now, pool, status } from './observation.ts';

const why = 'no answer in 5 s';
const lost = (fact: string): UnknownFact => ({ fact, why });

/** Returns the host's row, and the members of the JSON document. */
function rowOf(seen: Facts): { readonly row: StatusRow; readonly json: Record<string, unknown> } {
  const row = statusRow({ host, facts: seen }, () => pool, now);
  return { row, json: JSON.parse(JSON.stringify(row)) as Record<string, unknown> };
}

/** Returns the cells of the host's line by their headings. */
function cellsOf(row: StatusRow): Readonly<Record<string, string>> {
  const [heads = '', line = ''] = statusText([row], { width: 160, paint: (_, text) => text }).split('\n');
  const starts = [...heads.matchAll(/\S+/gu)].map(({ 0: head, index }) => [head, index] as const);
  return Object.fromEntries(
    starts.map(([head, from], at) => [head, line.slice(from, starts[at + 1]?.[1]).trim()]),
  );
}

describe('the manager', () => {
  const gone = { status: undefined, release: undefined };

  test.each(['manager', 'manager-status'])('could not be read by %s', (fact) => {
    const { row, json } = rowOf(merge(facts(gone), { unknown: [lost(fact)] }));
    expect(json).toMatchObject({ drained: null, unknown: [{ fact, why }], verdict: { state: 'unknown' } });
    for (const member of ['drains', 'local', 'manager', 'idle', 'checkedAt'])
      expect(json).not.toHaveProperty(member);
    expect(cellsOf(row)).toMatchObject({ manager: '?', agents: '?', busy: '?' });
  });

  test('has not reported', () => {
    const { row, json } = rowOf(facts(gone));
    expect(json).toMatchObject({ drained: null, manager: { state: 'active' } });
    expect(json).not.toHaveProperty('local');
    expect(cellsOf(row)).toMatchObject({ agents: '?', busy: '?' });
  });

  test.each([
    ['too old', new Date(now - maxAgeMs.report - 1000).toISOString()],
    ['from the future', new Date(now + maxAgeMs.report + 1000).toISOString()],
    ['of an unknown time', 'noon'],
  ])('has a report that is %s', (_, at) => {
    const drains = [{ reason: 'fan', at: '2026-11-20T09:30:00Z', owner: 'ann' }];
    const { row, json } = rowOf(facts({ status: status({ at, drained: true, drains }) }));
    expect(json).toMatchObject({ drained: null, verdict: { state: 'unknown' } });
    for (const member of ['drains', 'local', 'idle']) expect(json).not.toHaveProperty(member);
    expect(cellsOf(row)).toMatchObject({
      agents: '?',
      busy: '?',
      manager: expect.not.stringMatching(/^[?-]$/u) as string,
    });
  });

  test('has a report at the limit of its age', () => {
    const at = new Date(now - maxAgeMs.report).toISOString();
    const { row, json } = rowOf(facts({ status: status({ at }) }));
    expect(json).toMatchObject({ drained: false, local: { wanted: 2, ready: 2, busy: 0 } });
    expect(cellsOf(row)).toMatchObject({ agents: '2/2', busy: '0' });
  });

  test('is not installed: nothing is drained, and no agent is ready', () => {
    const bare = { ...gone, current: undefined, unitActive: undefined };
    const { row, json } = rowOf(facts(bare));
    expect(json).toMatchObject({ drained: false, local: { wanted: 2, ready: 0, busy: 0 } });
    expect(cellsOf(row)).toMatchObject({ agents: '0/2', busy: '-' });
  });

  test('is on a host that does not answer', () => {
    const row = statusRow({ host, problem: { code: 'ssh.timeout', what: 'no answer' } }, () => pool, now);
    expect(row.drained).toBeNull();
  });
});

describe('the software', () => {
  test.each<[string, Facts, Readonly<Record<string, string>>]>([
    ['gpus', facts({ status: status() }, { gpus: [] }), { gpus: '?', driver: '580.95.05' }],
    ['driver', facts({}, { driver: { loaded: undefined } }), { driver: '?', gpus: '2× H200' }],
    ['docker-info', facts({}, { docker: { serverVersion: undefined } }), { docker: '?', toolkit: '1.20.0' }],
    ['packages-apt', facts({}, { toolkit: { version: undefined } }), { toolkit: '?', driver: '580.95.05' }],
  ])('could not be read by %s', (fact, seen, cells) => {
    const { row, json } = rowOf(merge(seen, { unknown: [lost(fact)] }));
    expect(cellsOf(row)).toMatchObject(cells);
    expect(json).toMatchObject({ drained: false, unknown: [{ fact, why }], verdict: { state: 'unknown' } });
  });

  test('is absent where it was read', () => {
    const { row } = rowOf(facts({}, { gpus: [], toolkit: { version: undefined } }));
    expect(cellsOf(row)).toMatchObject({ gpus: 'none', toolkit: '-' });
  });

  test('has GPUs whose names nothing was read of', () => {
    expect(rowOf(facts({ status: undefined })).json['gpus']).toEqual({ count: 2 });
  });
});

describe('--probe, of a host whose Docker', () => {
  const seen = async (output: string): Promise<StatusRow> => {
    const session = {
      script: () => Promise.resolve({ code: 0, stdout: output, stderr: '' }),
      close: () => Promise.resolve(),
    } as unknown as Session;
    const [observation] = await observeHosts([host], {
      transport: { connect: () => Promise.resolve(session), close: () => Promise.resolve() },
      root: machineRoot,
      clock: new StillClock(),
      emit: () => undefined,
      log: silentLogger,
      signal: new AbortController().signal,
      parallel: 1,
      probe: { deadlineMs: 180_000, deep: false },
    });
    return statusRow(observation as Observation, () => pool, now);
  };
  const frames = (unread: readonly string[], active = ''): string => {
    const found: Record<string, string> = { os: 'ID=debian\n', machine: 'arch x86_64\n', docker: active };
    const script = frameScript(
      probes.map(({ name }) => ({
        name,
        script: unread.includes(name) ? 'exit 1' : `printf '${found[name] ?? ''}\nend\n'`,
      })),
      answerLimit,
    );
    return execFileSync('/bin/sh', { input: script, encoding: 'utf8' });
  };

  test.each([
    [['docker'], 'docker was'],
    [['docker', 'docker-info'], 'docker, docker-info were'],
  ])('could not be read: %s', async (unread, names) => {
    const row = await seen(frames(unread));
    const what = `not probed: ${names} not read`;
    expect(row.findings).toContainEqual(
      expect.objectContaining({ code: 'probe.skipped', severity: 'info', what }),
    );
    expect(statusText([row], { width: 100, paint: (_, text) => text })).toContain(`· h200-1: ${what}\n`);
  });

  test('runs, and whose GPUs could not be read: a probe would expect none', async () => {
    const row = await seen(frames(['gpus'], 'active\n'));
    expect(row.findings).toContainEqual(
      expect.objectContaining({ code: 'probe.skipped', what: 'not probed: gpus was not read' }),
    );
  });

  test('is stopped: that is the problem already', async () => {
    const codes = (await seen(frames([]))).findings.map(({ code }) => code);
    expect(codes).not.toContain('probe.skipped');
  });
});

test('the drift of a host with unknown facts is unknown: exit 1, not "changes pending"', () => {
  const { row } = rowOf(merge(facts(), { unknown: [lost('site-ca')] }));
  const rows = [{ ...row, drift: ['cannot: facts incomplete: site-ca (no answer in 5 s)'] }];
  expect(statusExitCode(rows, { strict: false, drift: true, fleetDrift: false, problems: 0 })).toBe(1);
});

test('no image is chosen for a host whose GPUs are unknown', () => {
  const seen = merge(facts({}, { gpus: [] }), { unknown: [lost('gpus')] });
  const row = imageRow({ host, facts: seen });
  expect(row.wanted).toBeUndefined();
  expect(row.problem).toMatchObject({ code: 'facts.incomplete', what: `facts incomplete: gpus (${why})` });
  const named = imageRow({ host: { ...host, image: 'registry/agent:1' }, facts: seen });
  expect(named).toMatchObject({ wanted: { kind: 'image' } });
  expect(named.problem).toBeUndefined();
});

test.each(['nvidia/cuda:12', undefined])(
  'the image of a host whose manager’s report is unknown is unknown, too: base %s',
  (baseImage) => {
    const seen = merge(facts({ status: undefined }), { unknown: [lost('manager-status')] });
    const row = imageRow({ host: baseImage === undefined ? host : { ...host, baseImage }, facts: seen });
    expect(row.wanted?.kind).toBe(baseImage && 'base');
    expect(row.problem).toMatchObject({ what: `facts incomplete: manager-status (${why})` });
  },
);
