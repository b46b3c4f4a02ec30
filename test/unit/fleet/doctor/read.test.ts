// What this machine has: its ssh, its free space, and the time of the server, each unknown where it cannot be read.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

import { askToken, readDisk, readSsh, ServerClock } from '../../../../src/fleet/doctor/read.ts';
import { FleetError, type Problem } from '../../../../src/shared/base/errors.ts';
import { StillClock } from '../../../support/clock.ts';

const folder = mkdtempSync(join(tmpdir(), 'azp-doctor-'));
afterAll(() => rmSync(folder, { recursive: true }));
const { signal } = new AbortController();

/** Puts a program named ssh before others. */
function ssh(script: string): NodeJS.ProcessEnv {
  const file = join(folder, 'ssh');
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return { PATH: `${folder}:/usr/bin:/bin` };
}

describe('ssh', () => {
  test('its version, without the rest and without escapes', async () => {
    const env = ssh(String.raw`printf 'OpenSSH_9.2p1\033[2J Debian-2, OpenSSL 3.0.14\n' >&2`);
    const seen = await readSsh(env, signal);
    expect(seen).toMatchObject({ kind: 'value', value: expect.stringMatching(/^OpenSSH_9\.2p1/) as string });
    expect(JSON.stringify(seen)).not.toMatch(/\\u001b/);
  });
  test('absent', async () => {
    expect(await readSsh({ PATH: join(folder, 'nothing') }, signal)).toEqual({ kind: 'absent' });
  });
  test('one that fails, or never stops printing, is unknown', async () => {
    expect(await readSsh(ssh('exit 3'), signal)).toMatchObject({ kind: 'unknown' });
    expect(await readSsh(ssh('exec yes >&2'), signal)).toMatchObject({ kind: 'unknown' });
  });
});

test('the free space is that of the nearest folder that exists', async () => {
  const [there, later] = [await readDisk(folder), await readDisk(join(folder, 'a/b/c'))];
  expect([there.kind, later.kind]).toEqual(['value', 'value']);
  expect(later).toMatchObject({ value: { path: join(folder, 'a/b/c') } });
  expect(await readDisk(join(folder, 'ssh', 'below'))).toMatchObject({ kind: 'unknown' });
});

describe('the clock of the server', () => {
  const answering = (date: string | null) => async () => ({
    status: 200,
    ok: true,
    headers: { get: () => date, has: () => date !== null },
    body: null,
  });
  const call = { method: 'GET', headers: {}, redirect: 'manual', signal } as const;

  test('is compared with that of this machine', async () => {
    const clock = new ServerClock(new StillClock());
    expect(clock.aheadMs).toMatchObject({ kind: 'unknown' });
    await clock.noting(answering('Sat, 21 Nov 2026 11:53:00 GMT'))('https://a', call);
    expect(clock.aheadMs).toEqual({ kind: 'value', value: 7 * 60_000 });
  });
  test.each([null, 'yesterday', ''])('stays unknown after a date of %j', async (date) => {
    const clock = new ServerClock(new StillClock());
    await clock.noting(answering(date))('https://a', call);
    expect(clock.aheadMs).toMatchObject({ kind: 'unknown' });
  });
});

describe('the token', () => {
  const problem: Problem = { code: 'azure.unreachable', what: 'no answer', next: 'check the network' };
  const fails = () => Promise.reject(new FleetError(problem));
  const finds = () => Promise.resolve(undefined);

  test('an answer, and whether it may write', async () => {
    expect(await askToken({ findPool: finds }, { mayWritePools: () => Promise.resolve(false) }, 'p')).toEqual(
      {
        answer: {},
        mayWrite: { kind: 'value', value: false },
      },
    );
  });
  test('no answer: nothing is known of what it may do', async () => {
    expect(await askToken({ findPool: fails }, { mayWritePools: fails }, 'p')).toEqual({
      answer: { problem },
    });
    expect(await askToken({ findPool: finds }, { mayWritePools: fails }, 'p')).toEqual({
      answer: {},
      mayWrite: { kind: 'unknown', why: 'no answer' },
    });
  });
  test('a bug is not a fault of the token', async () => {
    const bug = () => Promise.reject(new TypeError('oops'));
    await expect(askToken({ findPool: bug }, { mayWritePools: bug }, 'p')).rejects.toThrow('oops');
  });
});
