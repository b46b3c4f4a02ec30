import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { sha256 } from '../../../../src/shared/base/digest.ts';
import type { Engine } from '../../../../src/shared/engine/engine.ts';
import { withBundledImages } from '../../../../src/manager/image/engine.ts';
import { makeImage } from '../../../../src/manager/image/make.ts';

let folder: string;
/** The engine's images: id by reference or id. */
let images: Record<string, string>;
let pulled: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bundled-'));
  images = {};
  pulled = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const engine = (): Engine =>
  withBundledImages(
    {
      imageId: (reference: string) => Promise.resolve(images[reference]),
      pull: (reference: string) => {
        pulled.push(reference);
        images[reference] = 'sha256:pulled';
        return Promise.resolve();
      },
    } as unknown as Engine,
    folder,
  );

const config = sha256('config');
const manifest = JSON.stringify({ config: { digest: `sha256:${config}`, size: 1 }, layers: [] });
const index = JSON.stringify({ manifests: [{ digest: `sha256:${sha256(manifest)}`, size: 1 }] });
const keep = (text: string, name = sha256(text)): void => writeFileSync(join(folder, `${name}.json`), text);
const by = (digest: string): string => `registry.lab/team/x@sha256:${digest}`;

describe('finds an image from a bundle by the digest in its reference', () => {
  it.each([
    ['by the digest of its config, as with graph drivers', `sha256:${config}`],
    ['by the digest of its manifest, as with containerd', `sha256:${sha256(manifest)}`],
  ])('%s', async (_, id) => {
    keep(manifest);
    keep(index);
    images[id] = id;
    expect(await engine().imageId(by(sha256(manifest)))).toBe(id);
    expect(await engine().imageId(by(sha256(index)))).toBe(id);
  });

  it('uses the id that the engine has for the reference', async () => {
    images[by(config)] = 'sha256:own';
    expect(await engine().imageId(by(config))).toBe('sha256:own');
  });
});

describe('finds no other image', () => {
  it('by a tag of the same repository, or by the tag from loading', async () => {
    images = {
      'registry.lab/team/x:latest': 'sha256:other',
      'registry.lab/team/x:azp-fleet-1': 'sha256:other',
    };
    keep(manifest);
    expect(await engine().imageId(by(sha256(manifest)))).toBeUndefined();
  });

  it('by a manifest whose content does not match its file name', async () => {
    images[`sha256:${config}`] = 'sha256:other';
    keep(manifest, sha256('requested'));
    expect(await engine().imageId(by(sha256('requested')))).toBeUndefined();
  });

  it('for a tag, even with a manifest in the folder', async () => {
    keep(manifest);
    images[`sha256:${config}`] = 'sha256:other';
    expect(await engine().imageId('registry.lab/team/x:1')).toBeUndefined();
  });
});

it('pulls a bundled image only when a fresh one is requested', async () => {
  keep(manifest);
  images[`sha256:${config}`] = `sha256:${config}`;
  const plan = { kind: 'pull', reference: by(sha256(manifest)) } as const;
  const make = (fresh: boolean) => makeImage(engine(), plan, fresh, () => undefined);
  expect(await make(false)).toEqual({ id: `sha256:${config}` });
  expect(pulled).toEqual([]);
  await make(true);
  expect(pulled).toEqual([plan.reference]);
});
