// Downloads are answered from a table of bytes; hashes and files are real.
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Fetch } from '../../../../src/shared/azure/http/proxy.ts';
import { Archives, type FirstDownloads } from '../../../../src/manager/machine/archives.ts';
import { StillClock } from '../../../support/clock.ts';

const name = 'vsts-agent-linux-x64-5.300.0.tar.gz';
const release = { version: '5.300.0', url: `https://mirror.example/agent/5.300.0/${name}`, sha256: '' };
const hex = (text: string): string => createHash('sha256').update(text).digest('hex');

let directory: string;
let served: string[];
let logged: unknown[];
let kept: FirstDownloads;
/** The content that the server returns. */
let content: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'archives-'));
  served = [];
  logged = [];
  kept = {};
  content = 'the archive';
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Returns the archives of a manager that has just started, with the state of the previous one. */
function archives(): Archives {
  const fetch: Fetch = (url) => {
    served.push(url);
    return Promise.resolve(new Response(content));
  };
  const state = {
    get value() {
      return { archives: kept };
    },
    update: (change: (old: { archives: FirstDownloads }) => { archives: FirstDownloads }) => {
      kept = change({ archives: kept }).archives;
      return Promise.resolve();
    },
  };
  const log = {
    log: (level: string, message: string, fields?: object) => void logged.push({ level, message, ...fields }),
    redact: () => undefined,
  };
  return new Archives({ fetch, clock: new StillClock(), log, uploads: directory, state });
}

test('a known digest needs no download', async () => {
  expect(await archives().digest({ ...release, sha256: hex('x') })).toBe(hex('x'));
  expect(served).toEqual([]);
});

test('an unknown digest is that of the first download: saved, logged, and not downloaded again', async () => {
  const first = archives();
  expect(await Promise.all([first.digest(release), first.digest(release)])).toEqual([
    hex(content),
    hex(content),
  ]);
  expect(kept).toEqual({ [name]: { sha256: hex(content), at: expect.any(String) as string } });
  expect(logged).toMatchObject([{ level: 'warn', archive: name, sha256: hex(content) }]);
  content = 'another archive';
  expect(await archives().digest(release)).toBe(hex('the archive'));
  expect(served).toEqual([release.url]);
});

test('an archive that differs from the first download is refused, from any mirror', async () => {
  const sha256 = await archives().digest(release);
  content = 'another archive';
  const path = join(directory, 'agent.tar.gz');
  const elsewhere = { ...release, url: `https://other.example/${name}`, sha256 };
  await expect(archives().fetch(elsewhere, path)).rejects.toMatchObject({
    problem: {
      code: 'agent.other-archive',
      what: expect.stringContaining(name) as string,
      expected: expect.stringContaining(`${hex('the archive')}, first seen `) as string,
      seen: hex('another archive'),
    },
  });
  content = 'the archive';
  await archives().fetch(elsewhere, path);
  expect(readFileSync(path, 'utf8')).toBe('the archive');
});

test('an archive without a known digest is not downloaded over plain http', async () => {
  const plain = { ...release, url: `http://mirror.example/${name}` };
  await expect(archives().digest(plain)).rejects.toMatchObject({ problem: { code: 'agent.no-digest' } });
  expect(served).toEqual([]);
});

test('an uploaded archive is used without a download', async () => {
  const uploaded = { ...release, sha256: hex('uploaded') };
  writeFileSync(join(directory, `${uploaded.sha256}.tar.gz`), 'uploaded');
  const path = join(directory, 'agent.tar.gz');
  await archives().fetch(uploaded, path);
  expect(readFileSync(path, 'utf8')).toBe('uploaded');
  expect(served).toEqual([]);
});

test('a damaged uploaded archive is reported and removed', async () => {
  const uploaded = { ...release, sha256: hex('uploaded') };
  const file = join(directory, `${uploaded.sha256}.tar.gz`);
  writeFileSync(file, 'damaged');
  await expect(archives().fetch(uploaded, join(directory, 'agent.tar.gz'))).rejects.toMatchObject({
    problem: { code: 'agent.other-archive', expected: uploaded.sha256, seen: hex('damaged') },
  });
  expect(served).toEqual([]);
  expect(existsSync(file)).toBe(false);
});

test('a failed download is repeated', async () => {
  const one = archives();
  const whole = content;
  const failing = new Archives({
    fetch: () => Promise.resolve(new Response('', { status: 404 })),
    clock: new StillClock(),
    log: { log: () => undefined, redact: () => undefined },
    uploads: directory,
    state: { value: { archives: {} }, update: () => Promise.resolve() },
  });
  await expect(failing.digest(release)).rejects.toMatchObject({ problem: { code: 'host-mode.no-agent' } });
  await expect(failing.digest(release)).rejects.toThrow('HTTP 404');
  expect(await one.digest(release)).toBe(hex(whole));
});
