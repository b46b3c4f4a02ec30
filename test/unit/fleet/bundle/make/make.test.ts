// From hosts to a bundle and back to uploads. Docker is a stand-in with an engine's answers.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { tar } from '../../../../../src/shared/base/tar.ts';
import { version } from '../../../../../src/shared/base/version.ts';
import { openBundle } from '../../../../../src/fleet/bundle/archive.ts';
import { needingOf, needsOf, type Target } from '../../../../../src/fleet/bundle/make/needs.ts';
import { makeBundle } from '../../../../../src/fleet/bundle/make/make.ts';
import { fromBundle } from '../../../../../src/fleet/bundle/from-bundle.ts';
import { contextArchive } from '../../../../../src/fleet/artifacts/upload-sources.ts';
import type { Desired } from '../../../../../src/fleet/steps/step.ts';
import { desiredOf, factsOf } from '../../../../support/host.ts';

// Another test covers npm and 120 MB of Node.
vi.mock('../../../../../src/fleet/artifacts/fetch-runtime.ts', () => ({
  fetchRuntime: () => Promise.resolve(),
}));

const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-make-'));
afterAll(() => rmSync(folder, { recursive: true }));
const { signal } = new AbortController();
const text = (content: string) => ({ kind: 'text', text: content, sha256: sha256(content) }) as const;
const none = (): Promise<Buffer> => Promise.reject(new Error('no folder'));

const runtimeFile = join(folder, 'node.gz');
const smallerFile = join(folder, 'node.zst');
const managerFile = join(folder, 'manager.mjs');
const artifacts: Desired['artifacts'] = {
  ...desiredOf().artifacts,
  manager: { kind: 'file', file: managerFile, sha256: sha256('manager'), size: 7, gunzip: false },
  unit: '[Unit]\n',
  context: [
    { path: 'Dockerfile', artifact: text('FROM x\n') },
    { path: 'start.sh', artifact: text('#!/bin/sh\n') },
  ],
  runtime: (_machine, zstd) => ({
    kind: 'file',
    file: zstd ? smallerFile : runtimeFile,
    sha256: 'f'.repeat(64),
    size: 9,
    ...(zstd ? { gunzip: false, unzstd: true } : { gunzip: true }),
  }),
};
const index = `Package: gcc\nVersion: 12\nArchitecture: amd64\nFilename: ./pool/gcc_12_amd64.deb\nSize: 3\nSHA256: ${sha256('deb')}\n\n`;

beforeAll(async () => {
  writeFileSync(runtimeFile, 'node, compressed');
  writeFileSync(smallerFile, 'node, smaller');
  writeFileSync(managerFile, 'manager');
  mkdirSync(join(folder, 'bin'));
  const files = { Packages: index, 'pool/gcc_12_amd64.deb': 'deb', 'keys/docker': 'key' };
  const entries = Object.entries(files).map(([path, content]) => ({
    path,
    content: Buffer.from(content),
    mode: 0o644,
  }));
  writeFileSync(join(folder, 'gathered.tar'), await tar(entries));
  writeFileSync(
    join(folder, 'bin/docker'),
    `#!/bin/sh
echo "$*" >>${join(folder, 'calls')}
case $1 in
  version) echo amd64 ;;
  run) cat >/dev/null; cat ${join(folder, 'gathered.tar')} ;;
  build) cat >/dev/null; echo sha256:built ;;
  image) echo sha256:built ;;
  save) printf 'layers of %s' "$2" ;;
esac
`,
    { mode: 0o755 },
  );
});

const desired = desiredOf({}, { artifacts });
const host = (name: string, specified = desired): Target => ({
  name,
  needing: needingOf(factsOf()),
  desired: specified,
});

const agent = 'the agent, packed';
const onHost = {
  agent: { version: '5.300.0', sha256: { x64: sha256(agent), arm64: undefined } },
  agents: {
    kind: 'slots',
    slots: [{ gpus: [0], share: false, limits: {}, capabilities: [], mode: 'host' }],
  },
} as const;
/** Downloads by address; any other address fails. */
let served: Record<string, string> = {};

async function make(
  file: string,
  targets: readonly Target[] = [host('a'), host('b')],
  from: Desired['artifacts'] = artifacts,
) {
  const { needs, unprovided } = needsOf(targets, await contextArchive(artifacts.context), none);
  expect(unprovided).toEqual([]);
  return makeBundle(needs, {
    file,
    tools: { env: { PATH: `${join(folder, 'bin')}:/usr/bin:/bin` }, signal },
    site: { mirrors: {}, proxy: { noProxy: [] } },
    artifacts: from,
    fetching: {
      env: {},
      signal,
      note: () => undefined,
      site: { proxy: { noProxy: [] }, caPem: undefined, registry: undefined },
    },
    download: (url) => {
      const content = served[url];
      return Promise.resolve(new Response(content ?? '', { status: content === undefined ? 404 : 200 }));
    },
    at: '2026-11-22T15:00:00Z',
    note: () => undefined,
  });
}

describe('a bundle', () => {
  it('has the needs of two similar hosts once, the same bytes each time, and leaves no temporary files', async () => {
    const [one, two] = [join(folder, 'one.bundle'), join(folder, 'two.bundle')];
    const manifest = await make(one);
    expect(manifest.packages).toHaveLength(1);
    expect(manifest.images).toHaveLength(1);
    expect(manifest.runtimes).toHaveLength(1);
    await make(two);
    expect(readFileSync(one).equals(readFileSync(two))).toBe(true);
    expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it.each([0o000, 0o022, 0o077])(
    'is the same bytes under the umask %o, and only the owner may read it',
    async (mask) => {
      const [one, two] = [join(folder, 'usual.bundle'), join(folder, `umask-${mask}.bundle`)];
      await make(one);
      const before = process.umask(mask);
      try {
        await make(two);
      } finally {
        process.umask(before);
      }
      expect(readFileSync(one).equals(readFileSync(two))).toBe(true);
      expect(statSync(two).mode & 0o777).toBe(0o600);
    },
  );

  it('has only gzip for hosts with zstd where it was made by a Node without zstd', async () => {
    const file = join(folder, 'gzip-only.bundle');
    const withoutZstd = { ...artifacts, runtime: (machine: string) => artifacts.runtime(machine, false) };
    await make(file, undefined, withoutZstd);
    const opened = await openBundle(file, { signal });
    expect(opened.manifest.runtimes[0]).not.toHaveProperty('zstd');
    const options = { again: 'again', cache: folder, folders: [], now: 0 };
    const { artifacts: brought } = await fromBundle(opened, options);
    expect(brought.runtime('x86_64', true)).toMatchObject({ gunzip: true });
  });

  it('returns its contents as uploads', async () => {
    const file = join(folder, 'back.bundle');
    const manifest = await make(file);
    const opened = await openBundle(file, { signal });
    const { artifacts: brought, included } = await fromBundle(opened, {
      again: 'again',
      cache: folder,
      folders: [],
      now: 0,
    });
    const bytes = (artifact: Desired['artifacts']['manager'] | undefined): Buffer => {
      if (artifact?.kind !== 'file' || artifact.part === undefined) throw new Error('no part of the file');
      const { start, bytes: size } = artifact.part;
      return readFileSync(artifact.file).subarray(start, start + size);
    };
    expect(bytes(brought.manager).toString()).toBe('manager');
    expect(brought.unit).toBe('[Unit]\n');
    expect(brought.context).toEqual(artifacts.context);
    expect(bytes(brought.runtime('x86_64', false)).toString()).toBe('node, compressed');
    expect(brought.runtime('x86_64', false)).toMatchObject({ gunzip: true });
    expect(bytes(brought.runtime('x86_64', true)).toString()).toBe('node, smaller');
    expect(brought.runtime('x86_64', true)).toMatchObject({ gunzip: false, unzstd: true, size: 9 });
    expect(brought.runtime('aarch64', true)).toBeUndefined();
    expect(included?.context).toEqual(await contextArchive(artifacts.context));
    const set = included?.packages({ id: 'debian', versionId: '12', machine: 'x86_64' });
    expect(set?.index).toBe(index);
    expect(bytes(set?.packages[0]?.artifact).toString()).toBe('deb');
    expect(included?.packages({ id: 'debian', versionId: '12', machine: 'aarch64' })).toBeUndefined();
    const reference = manifest.images[0]?.reference ?? '';
    expect(gunzipSync(bytes(included?.image(reference, 'x86_64')?.archive)).toString()).toBe(
      `layers of ${reference}`,
    );
    expect(included?.image(reference, 'x86_64')?.unpacked).toBe(`layers of ${reference}`.length);
  });

  it('has the agent for slots in host mode, from the mirror, once', async () => {
    const specified = desiredOf(onHost, { artifacts, mirrors: { agent: 'https://mirror.lab/azure/' } });
    const url = 'https://mirror.lab/azure/agent/5.300.0/vsts-agent-linux-x64-5.300.0.tar.gz';
    served = { [url]: agent };
    const file = join(folder, 'agent.bundle');
    const manifest = await make(file, [host('a', specified), host('b', specified)]);
    expect(manifest.agents).toEqual([{ version: '5.300.0', machine: 'x86_64', sha256: sha256(agent) }]);
    const opened = await openBundle(file, { signal });
    const { included } = await fromBundle(opened, { again: '', cache: folder, folders: [], now: 0 });
    expect(included?.agent(sha256(agent))).toMatchObject({ sha256: sha256(agent), size: agent.length });
    expect(included?.agent(sha256('another'))).toBeUndefined();
  });

  it.each([
    ['another archive', 'agent.other-archive'],
    [undefined, 'bundle.agent'],
  ])('is not made if the mirror of agents has %s', async (content, code) => {
    const specified = desiredOf(onHost, { artifacts, mirrors: { agent: 'https://mirror.lab' } });
    const url = 'https://mirror.lab/agent/5.300.0/vsts-agent-linux-x64-5.300.0.tar.gz';
    served = content === undefined ? {} : { [url]: content };
    await expect(make(join(folder, 'no.bundle'), [host('a', specified)])).rejects.toMatchObject({
      problem: { code },
    });
    expect(readdirSync(folder).filter((name) => /^\.|^no\./.test(name))).toEqual([]);
  });

  it('has an image by digest with its proof; without the proof it is rejected', async () => {
    const config = '{"os":"linux"}';
    const manifest = JSON.stringify({
      config: { digest: `sha256:${sha256(config)}`, size: config.length },
      layers: [],
    });
    const image = `registry.lab/team/x@sha256:${sha256(manifest)}`;
    const at = (kind: string, of: string): string =>
      `https://registry.lab/v2/team/x/${kind}/sha256:${sha256(of)}`;
    served = { [at('manifests', manifest)]: manifest, [at('blobs', config)]: config };
    const file = join(folder, 'digest.bundle');
    const made = await make(file, [host('a', desiredOf({ image }, { artifacts }))]);
    expect(made.images).toMatchObject([{ reference: image, manifests: [sha256(manifest)] }]);
    const opened = await openBundle(file, { signal });
    const use = { again: '', cache: folder, folders: [], now: 0 };
    const { included } = await fromBundle(opened, use);
    expect(included?.image(image, 'x86_64')?.proof).toMatchObject({
      manifests: [{ sha256: sha256(manifest), size: manifest.length }],
      ids: [`sha256:${sha256(manifest)}`, `sha256:${sha256(config)}`],
    });
    const images = made.images.map((each) => ({ ...each, manifests: undefined }));
    const unproven = { ...opened, manifest: { ...made, images } };
    await expect(fromBundle(unproven, use)).rejects.toMatchObject({
      problem: { code: 'bundle.damaged', what: expect.stringContaining(image) as string, seen: 'none' },
    });
  });

  it('is built on a base by digest, which the engine checks', async () => {
    const baseImage = `registry.lab/cuda@sha256:${sha256('base')}`;
    const made = await make(join(folder, 'base.bundle'), [
      host('a', desiredOf({ baseImage }, { artifacts })),
    ]);
    expect(made.images).toMatchObject([
      { reference: expect.stringMatching(/^azp-fleet\/agent:/) as string, base: baseImage },
    ]);
    expect(made.images[0]?.manifests).toBeUndefined();
    expect(readFileSync(join(folder, 'calls'), 'utf8')).toContain(`--build-arg BASE=${baseImage} `);
  });

  it('of another release is rejected', async () => {
    const opened = await openBundle(join(folder, 'one.bundle'), { signal });
    const other = { ...opened, manifest: { ...opened.manifest, version: '99.0.0' } };
    const use = fromBundle(other, { again: 'again', cache: folder, folders: [], now: 0 });
    await expect(use).rejects.toMatchObject({
      problem: { code: 'bundle.version', expected: version, seen: '99.0.0' },
    });
  });

  it('is not made for another machine type than Docker’s', async () => {
    const digests = { x64: 'a'.repeat(64), arm64: 'b'.repeat(64) };
    const known = desiredOf({ agent: { version: '4.260.0', sha256: digests } }, { artifacts });
    const arm = { ...host('arm', known), needing: { ...needingOf(factsOf()), arch: 'aarch64' } };
    await expect(make(join(folder, 'arm.bundle'), [arm])).rejects.toMatchObject({
      problem: { code: 'bundle.docker', what: expect.stringContaining('aarch64') as string },
    });
  });
});
