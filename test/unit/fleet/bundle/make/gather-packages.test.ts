import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

import { gatherPackages } from '../../../../../src/fleet/bundle/make/gather-packages.ts';
import { Spool } from '../../../../../src/fleet/bundle/make/spool.ts';
import { type Platform, platformOf } from '../../../../../src/fleet/packages/distribution.ts';
import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { tar } from '../../../../../src/shared/base/tar.ts';
import { index } from '../../../../support/dnf-index.ts';
import { factsOf } from '../../../../support/host.ts';

const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-gather-'));
afterAll(() => rmSync(folder, { recursive: true }));
const { signal } = new AbortController();
const platformNamed = (id: string, versionId: string): Platform => {
  const found = platformOf(factsOf({ os: { ...factsOf().os, id, versionId } }));
  if (found === undefined) throw new Error('no platform');
  return found;
};

async function gather(script: string, platform = platformNamed('debian', '12')) {
  const bin = mkdtempSync(join(folder, 'bin-'));
  writeFileSync(join(bin, 'docker'), `#!/bin/sh\necho "$*" >${bin}/called\ncat >/dev/null\n${script}\n`, {
    mode: 0o755,
  });
  const spool = await Spool.beside(join(bin, 'x'));
  const site = { mirrors: {}, proxy: { noProxy: [] } };
  const tools = { env: { PATH: `${bin}:/usr/bin:/bin` }, signal };
  const notes: string[] = [];
  const note = (text: string): void => void notes.push(text);
  const set = await gatherPackages(
    { platform, transactions: [], hosts: ['a', 'b'] },
    { tools, spool, site, note },
  );
  return { set, spool, notes, called: readFileSync(join(bin, 'called'), 'utf8') };
}

async function archive(
  index: string,
  files: Readonly<Record<string, string>>,
  name = 'Packages',
): Promise<string> {
  const file = join(mkdtempSync(join(folder, 'tar-')), 'out.tar');
  const all = { [name]: index, ...files };
  const entries = Object.entries(all).map(([path, content]) => ({
    path,
    content: Buffer.from(content),
    mode: 0o644,
  }));
  writeFileSync(file, await tar(entries));
  return file;
}

const stanza = `Package: gcc\nVersion: 4:12.2\nArchitecture: amd64\nFilename: ./pool/gcc_12.2_amd64.deb\nSize: 3\nSHA256: ${sha256('deb')}\n\n`;

it('adds the container’s packages, index and keys', async () => {
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

it('rejects a package that differs from the index', async () => {
  const bad = gather(`cat ${await archive(stanza, { 'pool/gcc_12.2_amd64.deb': 'dev' })}`);
  await expect(bad).rejects.toMatchObject({ problem: { code: 'bundle.packages' } });
});

it('reports packages that cannot be fetched, with their hosts', async () => {
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

it.each([
  ['rocky', '9.5', 'rockylinux/rockylinux:9'],
  ['almalinux', '10.0', 'almalinux:10'],
  ['ol', '8.10', 'oraclelinux:8'],
  ['rhel', '9.6', 'redhat/ubi9'],
  ['amzn', '2023', 'amazonlinux:2023'],
])('takes packages of %s %s out of %s', async (id, versionId, image) => {
  const files = {
    'pool/docker-ce-29.7.2-1.el9.x86_64.rpm': 'docker-ce',
    'pool/passt-0^20240806-2.el9.x86_64.rpm': 'passt',
  };
  const words = 'echo "(1/2): docker-ce" >&2';
  const platform = platformNamed(id, versionId);
  const { set, called } = await gather(
    `${words}\ncat ${await archive(index, files, 'primary.xml')}`,
    platform,
  );
  expect(set).toMatchObject({
    system: `${id}-${platform.versionId}`,
    packages: [
      { name: 'docker-ce', version: '3:29.7.2-1.el9', file: 'docker-ce-29.7.2-1.el9.x86_64.rpm' },
      { name: 'passt', version: '0^20240806-2.el9' },
    ],
  });
  expect(called).toContain(` ${image} sh -c `);
  const right = 'type=bind,readonly,source=/etc/pki/entitlement,target=/run/secrets/etc-pki-entitlement';
  expect(called.includes(right)).toBe(id === 'rhel');
});

it("reports that Red Hat's packages need a subscription if the machine with Docker has none", async () => {
  const words =
    'docker: Error response from daemon: invalid mount config: bind source path does not exist: /etc/pki/entitlement.';
  const made = gather(`echo '${words}' >&2; exit 125`, platformNamed('rhel', '9.6'));
  await expect(made).rejects.toMatchObject({
    problem: {
      code: 'bundle.packages',
      what: 'the packages of rhel-9/x86_64 need a subscription, and the machine with Docker has none',
    },
  });
});
