import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { gatherByDigest } from '../../../../../src/fleet/bundle/make/images.ts';
import { digestName, type Login } from '../../../../../src/fleet/bundle/make/registry.ts';
import { Spool } from '../../../../../src/fleet/bundle/make/spool.ts';
import type { Machine } from '../../../../../src/fleet/packages/vendors.ts';
import { createFetch } from '../../../../../src/shared/azure/http/proxy.ts';
import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { Secret } from '../../../../../src/shared/base/secret.ts';
import { untar } from '../../../../../src/shared/base/tar.ts';
import { StandinRegistry, user } from '../../../../support/standin-registry.ts';

// Images by digest from a registry with tokens and redirects: over real HTTP, into a real folder.

const kinds = {
  image: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  docker: 'application/vnd.docker.distribution.manifest.v2+json',
} as const;
const { signal } = new AbortController();

let registry: StandinRegistry;
let folder: string;
let spool: Spool;
beforeEach(async () => {
  registry = new StandinRegistry();
  await registry.start();
  folder = mkdtempSync(join(tmpdir(), 'by-digest-'));
  spool = await Spool.beside(join(folder, 'x.bundle'));
});
afterEach(() => {
  registry.stop();
  rmSync(folder, { recursive: true });
});

/** Adds an image with these layers to the registry; returns the digest of its manifest. */
function image(layers: readonly string[], configKind = 'application/vnd.oci.image.config.v1+json'): string {
  const manifest = {
    schemaVersion: 2,
    config: { mediaType: configKind, ...registry.add(`{"architecture":"amd64","of":${layers.length}}`) },
    layers: layers.map((layer) => ({ mediaType: 'layer', ...registry.add(layer) })),
  };
  const kind = configKind.includes('docker') ? kinds.docker : kinds.image;
  // With blanks, as Docker writes them: the digest is of the bytes, not of the value.
  return registry.add(JSON.stringify(manifest, null, 3), kind).digest;
}

/** Adds an index of images, each for a platform. */
function index(...of: readonly (readonly [digest: string, architecture: string, os?: string])[]): string {
  const manifests = of.map(([digest, architecture, os = 'linux']) => ({
    digest,
    size: 100,
    platform: { os, architecture },
  }));
  return registry.add(JSON.stringify({ schemaVersion: 2, manifests }), kinds.index).digest;
}

const gather = (digest: string, login?: Login, machine: Machine = 'x86_64') => {
  const reference = `${registry.address}/team/x:tag@${digest}`;
  const name = digestName(reference);
  if (name === undefined) throw new Error('no digest');
  return gatherByDigest(reference, name, machine, {
    spool,
    download: createFetch({ noProxy: [] }),
    signal,
    login: () => Promise.resolve(login),
    note: () => undefined,
  });
};

async function archive(digest: string): Promise<ReadonlyMap<string, string>> {
  const files = await untar(readFileSync(spool.fileOf(digest)));
  return new Map([...files].map(([name, content]) => [name, content.toString()]));
}

describe('an image by its digest', () => {
  it('is complete in the form of both kinds of engines, with the manifest that proves its digest', async () => {
    const digest = image(['base', 'top', 'base']);
    const { reference, manifests, sha256: file } = await gather(digest);
    expect(reference).toBe(`${registry.address}/team/x:tag@${digest}`);
    expect(manifests?.map((each) => `sha256:${each}`)).toEqual([digest]);
    const files = await archive(file);
    expect(JSON.parse(files.get('index.json') ?? '')).toMatchObject({
      manifests: [{ mediaType: kinds.image, digest, size: registry.contents.get(digest.slice(7))?.length }],
    });
    const path = (content: string): string => `blobs/sha256/${sha256(content)}`;
    expect(JSON.parse(files.get('manifest.json') ?? '')).toEqual([
      {
        Config: path('{"architecture":"amd64","of":3}'),
        RepoTags: [`${registry.address}/team/x:azp-fleet-${digest.slice(7, 19)}`],
        Layers: [path('base'), path('top'), path('base')],
      },
    ]);
    expect(files.get(path('top'))).toBe('top');
    for (const [name, content] of files)
      if (name.startsWith('blobs/')) expect(name).toBe(`blobs/sha256/${sha256(content)}`);
    expect(registry.given.filter((each) => each.includes(sha256('base')))).toHaveLength(1);
  });

  it('of an index is that of the machine, and the index is included', async () => {
    const [amd, arm] = [image(['amd']), image(['a', 'rm'])];
    const list = index([arm, 'arm64'], [image(['w', 'i', 'n']), 'amd64', 'windows'], [amd, 'amd64']);
    expect((await gather(list)).manifests?.map((each) => `sha256:${each}`)).toEqual([list, amd]);
    expect((await gather(list, undefined, 'aarch64')).manifests).toContain(arm.slice(7));
    await expect(gather(index([arm, 'arm64']))).rejects.toMatchObject({
      problem: { code: 'registry.not-found', expected: 'linux/amd64', seen: 'linux/arm64' },
    });
  });

  it('has the same bytes each time, and leaves no temporary files', async () => {
    const digest = image(['one'], 'application/vnd.docker.container.image.v1+json');
    const first = await gather(digest);
    expect(JSON.parse((await archive(first.sha256)).get('index.json') ?? '')).toMatchObject({
      manifests: [{ mediaType: kinds.docker }],
    });
    expect(await gather(digest)).toEqual(first);
    expect(spool.members.map((each) => each.sha256)).toEqual([first.sha256, digest.slice(7)].toSorted());
    expect(readdirSync(join(spool.fileOf(''), '.'))).toHaveLength(2);
  });

  it.each([
    ['a password', { kind: 'password', user: user.name, password: new Secret(user.password) }],
    ['a token instead', { kind: 'token', token: new Secret(user.refresh) }],
  ] as const)('is had with %s where strangers get nothing', async (_, login) => {
    registry.isPublic = false;
    const digest = image(['secret']);
    await expect(gather(digest)).rejects.toMatchObject({
      problem: {
        code: 'registry.password',
        next: `log in here (docker login ${registry.address}), then run it again`,
      },
    });
    expect((await gather(digest, login)).manifests).toHaveLength(1);
  });
});

describe('another content', () => {
  it('is rejected as manifest and as layer', async () => {
    const digest = image(['layer']);
    const other = Buffer.from('lAyer');
    registry.contents.set(sha256('layer'), other);
    const refused = { problem: { code: 'registry.other-content', seen: `sha256:${sha256(other)}` } };
    await expect(gather(digest)).rejects.toMatchObject(refused);
    registry.contents.set(digest.slice(7), other);
    await expect(gather(digest)).rejects.toMatchObject(refused);
  });

  it('is not read to its end if it is too long', async () => {
    const digest = image(['layer']);
    registry.contents.set(sha256('layer'), Buffer.alloc(1000));
    await expect(gather(digest)).rejects.toMatchObject({
      problem: { seen: expect.stringContaining('more than 5 bytes') as string },
    });
  });

  it.each(['{}', 'no JSON', '{"config":{"digest":"md5:1","size":1},"layers":[]}'])(
    'is refused where the digest is that of %s',
    async (text) => {
      await expect(gather(registry.add(text, kinds.image).digest)).rejects.toMatchObject({
        problem: { code: 'registry.other-content' },
      });
    },
  );

  it('is reported if the registry has no such image', async () => {
    const none = `sha256:${'0'.repeat(64)}`;
    await expect(gather(none)).rejects.toMatchObject({ problem: { code: 'registry.not-found' } });
  });
});
