import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

import { sha256 } from '../../../../src/base/digest.ts';
import { tar } from '../../../../src/base/tar.ts';
import { gatherPackages } from '../../../../src/bundle/make/packages.ts';
import { Spool } from '../../../../src/bundle/make/spool.ts';
import { platformOf } from '../../../../src/packages/distribution.ts';
import { factsOf } from '../../../support/host.ts';

const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-gather-'));
afterAll(() => rmSync(folder, { recursive: true }));
const { signal } = new AbortController();
const platform = platformOf(factsOf());
if (platform === undefined) throw new Error('no platform');

async function gather(script: string) {
  const bin = mkdtempSync(join(folder, 'bin-'));
  writeFileSync(join(bin, 'docker'), `#!/bin/sh\ncat >/dev/null\n${script}\n`, { mode: 0o755 });
  const spool = await Spool.beside(join(bin, 'x'));
  const site = { mirrors: {}, proxy: { noProxy: [] } };
  const tools = { env: { PATH: `${bin}:/usr/bin:/bin` }, signal };
  const notes: string[] = [];
  const note = (text: string): void => void notes.push(text);
  const set = await gatherPackages(
    { platform: platform!, transactions: [], hosts: ['a', 'b'] },
    { tools, spool, site, note },
  );
  return { set, spool, notes };
}

async function archive(index: string, files: Readonly<Record<string, string>>): Promise<string> {
  const file = join(mkdtempSync(join(folder, 'tar-')), 'out.tar');
  const all = { Packages: index, ...files };
  const entries = Object.entries(all).map(([path, content]) => ({
    path,
    content: Buffer.from(content),
    mode: 0o644,
  }));
  writeFileSync(file, await tar(entries));
  return file;
}

const stanza = `Package: gcc\nVersion: 4:12.2\nArchitecture: amd64\nFilename: ./pool/gcc_12.2_amd64.deb\nSize: 3\nSHA256: ${sha256('deb')}\n\n`;

it('takes what the container gives, with the index and the keys', async () => {
  const files = { 'pool/gcc_12.2_amd64.deb': 'deb', 'keys/docker': 'key' };
  const { set, spool, notes } = await gather(`cat ${await archive(stanza, files)}`);
  expect(set).toMatchObject({
    system: 'debian-12',
    machine: 'x86_64',
    keys: [{ vendor: 'docker', sha256: sha256('key') }],
    packages: [{ name: 'gcc', version: '4:12.2', file: 'gcc_12.2_amd64.deb', sha256: sha256('deb') }],
  });
  expect(readFileSync(spool.fileOf(set.index), 'utf8')).toBe(stanza);
  expect(notes).toEqual([
    'debian-12/x86_64: fetching packages in a container of debian:12',
    'debian-12/x86_64: 1 packages',
  ]);
});

it('takes no package that is not what the index says', async () => {
  const bad = gather(`cat ${await archive(stanza, { 'pool/gcc_12.2_amd64.deb': 'dev' })}`);
  await expect(bad).rejects.toMatchObject({ problem: { code: 'bundle.packages' } });
});

it('tells what cannot be had, and for whom', async () => {
  const words =
    "printf 'failed: no package source offers x\\nexpected: x\\nseen: none\\nnext: do this\\n' >&2; exit 1";
  await expect(gather(words)).rejects.toMatchObject({
    problem: {
      code: 'bundle.packages',
      what: 'no package source offers x (packages of debian-12/x86_64, for a, b)',
      next: 'do this',
    },
  });
});
